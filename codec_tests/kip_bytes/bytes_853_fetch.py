"""Hand-computed bytes of KIP-853: fetching from the log and from snapshots."""

from __future__ import annotations

from kraftwire_messages.kip_853 import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)

from codec_tests.kip_bytes.cases import ID_A, ID_B, A, B, Case

CASES = [
    Case(
        FetchRequest(
            cluster_id="c1",
            replica_id=4,
            max_wait_ms=500,
            min_bytes=1,
            session_epoch=0,
            topics=[
                FetchRequest.FetchTopic(
                    topic_id=ID_B,
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=0,
                            replica_uuid=ID_A,
                            current_leader_epoch=7,
                            fetch_offset=510,
                            last_fetched_epoch=6,
                            log_start_offset=0,
                            partition_max_bytes=4096,
                        )
                    ],
                )
            ],
            rack_id="r",
        ),
        14,
        "00000004"  # ReplicaId
        "000001f4"  # MaxWaitMs
        "00000001"  # MinBytes
        "7fffffff"  # MaxBytes
        "00"  # IsolationLevel
        "00000000"  # SessionId
        "00000000"  # SessionEpoch
        "02"  # Topics: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000000"  # Partition
        f"{A}"  # ReplicaUuid
        "00000007"  # CurrentLeaderEpoch
        "00000000000001fe"  # FetchOffset
        "00000006"  # LastFetchedEpoch
        "0000000000000000"  # LogStartOffset
        "00001000"  # PartitionMaxBytes
        "00 00"  # no tags of the partition, the topic
        "01"  # ForgottenTopicsData: none
        "02 72"  # RackId
        "01 00 03 03 6331",  # one tag of the message: ClusterId, 3 bytes
    ),
    Case(
        FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic_id=ID_B,
                    partitions=[
                        FetchResponse.PartitionData(
                            partition_index=0,
                            error_code=6,
                            high_watermark=500,
                            log_start_offset=1,
                            current_leader=FetchResponse.CurrentLeader(
                                leader_id=1,
                                leader_epoch=7,
                                end_point=FetchResponse.Endpoint(
                                    name="L", host="h1", port=9093, security_protocol=1
                                ),
                            ),
                            snapshot_id=FetchResponse.SnapshotId(end_offset=400, epoch=5),
                            aborted_transactions=None,
                            records=b"\xab",
                        )
                    ],
                )
            ],
        ),
        14,
        "00000000"  # ThrottleTimeMs
        "0000"  # ErrorCode
        "00000000"  # SessionId
        "02"  # Responses: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "0006"  # ErrorCode
        "00000000000001f4"  # HighWatermark
        "ffffffffffffffff"  # LastStableOffset
        "0000000000000001"  # LogStartOffset
        "00"  # AbortedTransactions: null
        "ffffffff"  # PreferredReadReplica
        "02 ab"  # Records
        "02"  # two tags of the partition
        "01 13"  # CurrentLeader, 19 bytes
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "02 4c 03 6831 2385 0001 00"  # EndPoint: Name, Host, Port, SecurityProtocol, no tags
        "00"  # no tags of the leader
        "02 0d"  # SnapshotId, 13 bytes
        "0000000000000190"  # EndOffset
        "00000005"  # Epoch
        "00"  # no tags of the snapshot id
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        FetchSnapshotRequest(
            replica_id=4,
            topics=[
                FetchSnapshotRequest.TopicSnapshot(
                    name="t",
                    partitions=[
                        FetchSnapshotRequest.PartitionSnapshot(
                            partition=0,
                            replica_uuid=ID_A,
                            current_leader_epoch=7,
                            snapshot_id=FetchSnapshotRequest.SnapshotId(end_offset=400, epoch=5),
                            position=1024,
                        )
                    ],
                )
            ],
        ),
        1,
        "00000004"  # ReplicaId
        "7fffffff"  # MaxBytes
        "02"  # Topics: one
        "02 74"  # Name
        "02"  # Partitions: one
        "00000000"  # Partition
        f"{A}"  # ReplicaUuid
        "00000007"  # CurrentLeaderEpoch
        "0000000000000190"  # SnapshotId.EndOffset
        "00000005"  # SnapshotId.Epoch
        "00"  # no tags of the snapshot id
        "0000000000000400"  # Position
        "00 00 00",  # no tags of the partition, the topic; of the message no ClusterId
    ),
    Case(
        FetchSnapshotResponse(
            throttle_time_ms=9,
            topics=[
                FetchSnapshotResponse.TopicSnapshot(
                    name="t",
                    partitions=[
                        FetchSnapshotResponse.PartitionSnapshot(
                            index=0,
                            snapshot_id=FetchSnapshotResponse.SnapshotId(end_offset=400, epoch=5),
                            current_leader=FetchSnapshotResponse.CurrentLeader(
                                leader_id=1,
                                leader_epoch=7,
                                end_point=FetchSnapshotResponse.Endpoint(
                                    name="L", host="h1", port=9093, security_protocol=1
                                ),
                            ),
                            size=2048,
                            position=1024,
                            unaligned_records=b"\xab\xcd",
                        )
                    ],
                )
            ],
        ),
        1,
        "00000009"  # ThrottleTimeMs
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # Name
        "02"  # Partitions: one
        "00000000"  # Index
        "0000"  # ErrorCode
        "0000000000000190"  # SnapshotId.EndOffset
        "00000005"  # SnapshotId.Epoch
        "00"  # no tags of the snapshot id
        "0000000000000800"  # Size
        "0000000000000400"  # Position
        "03 abcd"  # UnalignedRecords
        "01 00 13"  # one tag of the partition: CurrentLeader, 19 bytes
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "02 4c 03 6831 2385 0001 00"  # EndPoint: Name, Host, Port, SecurityProtocol, no tags
        "00"  # no tags of the leader
        "00 00",  # no tags of the topic, the message
    ),
]
