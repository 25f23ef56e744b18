"""Hand-computed bytes of KIP-856: fetching from the log and from snapshots."""

from __future__ import annotations

from kraftwire_messages.kip_856 import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)

from codec_tests.kip_bytes.cases import ID_A, ID_B, A, B, Case

CASES = [
    Case(
        FetchRequest(
            replica_id=3,
            max_wait_ms=500,
            min_bytes=1,
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
                            log_start_offset=2,
                            partition_max_bytes=4096,
                        )
                    ],
                )
            ],
            forgotten_topics_data=[FetchRequest.ForgottenTopic(topic_id=ID_B, partitions=[1])],
        ),
        14,
        "00000003"  # ReplicaId
        "000001f4"  # MaxWaitMs
        "00000001"  # MinBytes
        "7fffffff"  # MaxBytes
        "00"  # IsolationLevel
        "00000000"  # SessionId
        "ffffffff"  # SessionEpoch
        "02"  # Topics: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000000"  # Partition
        f"{A}"  # ReplicaUuid
        "00000007"  # CurrentLeaderEpoch
        "00000000000001fe"  # FetchOffset
        "00000006"  # LastFetchedEpoch
        "0000000000000002"  # LogStartOffset
        "00001000"  # PartitionMaxBytes
        "00 00"  # no tags of the partition, the topic
        "02"  # ForgottenTopicsData: one
        f"{B}"  # TopicId
        "02 00000001"  # Partitions: one
        "00"  # no tags of the forgotten topic
        "01"  # RackId
        "00",  # of the message no ClusterId
    ),
    Case(
        FetchRequest(
            replica_id=3,
            max_wait_ms=500,
            min_bytes=1,
            topics=[
                FetchRequest.FetchTopic(
                    topic="t",
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=0, fetch_offset=510, partition_max_bytes=4096
                        )
                    ],
                )
            ],
        ),
        0,
        "00000003"  # ReplicaId
        "000001f4"  # MaxWaitMs
        "00000001"  # MinBytes
        "00000001"  # Topics: one
        "0001 74"  # Topic
        "00000001"  # Partitions: one
        "00000000"  # Partition
        "00000000000001fe"  # FetchOffset
        "00001000",  # PartitionMaxBytes
    ),
    Case(
        FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic_id=ID_B,
                    partitions=[
                        FetchResponse.PartitionData(
                            partition_index=0,
                            high_watermark=500,
                            diverging_epoch=FetchResponse.EpochEndOffset(epoch=4, end_offset=450),
                            records=b"",
                        )
                    ],
                )
            ]
        ),
        14,
        "00000000"  # ThrottleTimeMs
        "0000"  # ErrorCode
        "00000000"  # SessionId
        "02"  # Responses: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "0000"  # ErrorCode
        "00000000000001f4"  # HighWatermark
        "ffffffffffffffff"  # LastStableOffset
        "ffffffffffffffff"  # LogStartOffset
        "01"  # AbortedTransactions: none
        "ffffffff"  # PreferredReadReplica
        "01"  # Records: empty
        "01 00 0d"  # one tag of the partition: DivergingEpoch, 13 bytes
        "00000004"  # Epoch
        "00000000000001c2"  # EndOffset
        "00"  # no tags of the epoch
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        FetchSnapshotRequest(
            cluster_id="c1",
            replica_id=3,
            max_bytes=65536,
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
        "00000003"  # ReplicaId
        "00010000"  # MaxBytes
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
        "00 00"  # no tags of the partition, the topic
        "01 00 03 03 6331",  # one tag of the message: ClusterId, 3 bytes
    ),
    Case(
        FetchSnapshotResponse(
            topics=[
                FetchSnapshotResponse.TopicSnapshot(
                    name="t",
                    partitions=[
                        FetchSnapshotResponse.PartitionSnapshot(
                            index=0,
                            error_code=98,
                            current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(
                                leader_id=1, leader_epoch=7
                            ),
                            size=2048,
                        )
                    ],
                )
            ]
        ),
        1,
        "00000000"  # ThrottleTimeMs
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # Name
        "02"  # Partitions: one
        "00000000"  # Index
        "0062"  # ErrorCode
        "0000000000000000 00000000 00"  # SnapshotId: EndOffset, Epoch, no tags
        "0000000000000800"  # Size
        "0000000000000000"  # Position
        "01"  # UnalignedRecords: empty
        "01 00 09"  # one tag of the partition: CurrentLeader, 9 bytes
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "00"  # no tags of the leader
        "00 00",  # no tags of the topic, the message
    ),
]
