"""Hand-computed bytes of KIP-951."""

from __future__ import annotations

from kraftwire_messages.kip_951 import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)

from codec_tests.kip_bytes.cases import ID_B, B, Case

CASES = [
    Case(
        FetchResponse(
            throttle_time_ms=9,
            session_id=17,
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic_id=ID_B,
                    partitions=[
                        FetchResponse.PartitionData(
                            partition_index=3,
                            error_code=6,
                            high_watermark=500,
                            last_stable_offset=499,
                            log_start_offset=1,
                            diverging_epoch=FetchResponse.EpochEndOffset(epoch=4, end_offset=450),
                            current_leader=FetchResponse.LeaderIdAndEpoch(
                                leader_id=2, leader_epoch=7
                            ),
                            current_leader_broker=FetchResponse.BrokerInfo(
                                leader_host="h2", leader_port=9092, leader_rack="r"
                            ),
                            snapshot_id=FetchResponse.SnapshotId(end_offset=400, epoch=5),
                            aborted_transactions=[
                                FetchResponse.AbortedTransaction(producer_id=77, first_offset=490)
                            ],
                            records=None,
                        )
                    ],
                )
            ],
        ),
        15,
        "00000009"  # ThrottleTimeMs
        "0000"  # ErrorCode
        "00000011"  # SessionId
        "02"  # Responses: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000003"  # PartitionIndex
        "0006"  # ErrorCode
        "00000000000001f4"  # HighWatermark
        "00000000000001f3"  # LastStableOffset
        "0000000000000001"  # LogStartOffset
        "02"  # AbortedTransactions: one
        "000000000000004d 00000000000001ea 00"  # ProducerId, FirstOffset, no tags
        "ffffffff"  # PreferredReadReplica
        "00"  # Records: null
        "04"  # four tags of the partition
        "00 0d 00000004 00000000000001c2 00"  # DivergingEpoch: Epoch, EndOffset, no tags
        "01 09 00000002 00000007 00"  # CurrentLeader: LeaderId, LeaderEpoch, no tags
        "02 0d 0000000000000190 00000005 00"  # SnapshotId: EndOffset, Epoch, no tags
        "03 0a"  # CurrentLeaderBroker, 10 bytes
        "03 6832"  # LeaderHost
        "00002384"  # LeaderPort
        "02 72"  # LeaderRack
        "00"  # no tags of the broker
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        ProduceResponse(
            responses=[
                ProduceResponse.TopicProduceResponse(
                    name="t",
                    partition_responses=[
                        ProduceResponse.PartitionProduceResponse(
                            index=3,
                            error_code=6,
                            base_offset=-1,
                            log_start_offset=1,
                            record_errors=[
                                ProduceResponse.BatchIndexAndErrorMessage(
                                    batch_index=2, batch_index_error_message="no"
                                )
                            ],
                            error_message=None,
                            current_leader=ProduceResponse.LeaderIdAndEpoch(
                                leader_id=2, leader_epoch=7
                            ),
                            current_leader_broker=ProduceResponse.BrokerInfo(
                                leader_host="h2", leader_port=9092, leader_rack=None
                            ),
                        )
                    ],
                )
            ],
            throttle_time_ms=9,
        ),
        9,
        "02"  # Responses: one
        "02 74"  # Name
        "02"  # PartitionResponses: one
        "00000003"  # Index
        "0006"  # ErrorCode
        "ffffffffffffffff"  # BaseOffset
        "ffffffffffffffff"  # LogAppendTimeMs
        "0000000000000001"  # LogStartOffset
        "02"  # RecordErrors: one
        "00000002 03 6e6f 00"  # BatchIndex, BatchIndexErrorMessage, no tags
        "00"  # ErrorMessage: null
        "02"  # two tags of the partition
        "00 09 00000002 00000007 00"  # CurrentLeader: LeaderId, LeaderEpoch, no tags
        "01 09"  # CurrentLeaderBroker, 9 bytes
        "03 6832"  # LeaderHost
        "00002384"  # LeaderPort
        "00"  # LeaderRack: null
        "00"  # no tags of the broker
        "00"  # no tags of the topic
        "00000009"  # ThrottleTimeMs
        "00",  # no tags of the message
    ),
    Case(
        FetchRequest(
            replica_state=FetchRequest.ReplicaState(replica_id=4, replica_epoch=2),
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=65536,
            isolation_level=1,
            session_id=17,
            session_epoch=3,
            topics=[
                FetchRequest.FetchTopic(
                    topic_id=ID_B,
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=3, fetch_offset=510, partition_max_bytes=4096
                        )
                    ],
                )
            ],
            forgotten_topics_data=[FetchRequest.ForgottenTopic(topic_id=ID_B, partitions=[5])],
        ),
        15,
        "000001f4"  # MaxWaitMs
        "00000001"  # MinBytes
        "00010000"  # MaxBytes
        "01"  # IsolationLevel
        "00000011"  # SessionId
        "00000003"  # SessionEpoch
        "02"  # Topics: one
        f"{B}"  # TopicId
        "02"  # Partitions: one
        "00000003"  # Partition
        "ffffffff"  # CurrentLeaderEpoch
        "00000000000001fe"  # FetchOffset
        "ffffffff"  # LastFetchedEpoch
        "ffffffffffffffff"  # LogStartOffset
        "00001000"  # PartitionMaxBytes
        "00 00"  # no tags of the partition, the topic
        "02"  # ForgottenTopicsData: one
        f"{B}"  # TopicId
        "02 00000005"  # Partitions: one
        "00"  # no tags of the forgotten topic
        "01"  # RackId
        "01 01 0d"  # one tag of the message: ReplicaState, 13 bytes
        "00000004"  # ReplicaId
        "0000000000000002"  # ReplicaEpoch
        "00",  # no tags of the replica state
    ),
    Case(
        ProduceRequest(
            transactional_id="x",
            acks=-1,
            timeout_ms=1500,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name="t",
                    partition_data=[
                        ProduceRequest.PartitionProduceData(index=3, records=b"\xab\xcd")
                    ],
                )
            ],
        ),
        9,
        "02 78"  # TransactionalId
        "ffff"  # Acks
        "000005dc"  # TimeoutMs
        "02"  # TopicData: one
        "02 74"  # Name
        "02"  # PartitionData: one
        "00000003"  # Index
        "03 abcd"  # Records
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
]
