"""Hand-computed bytes of KIP-595; none of its messages has more than version 0."""

from __future__ import annotations

from kraftwire_messages.kip_595 import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

from codec_tests.kip_bytes.cases import Case

CASES = [
    Case(
        VoteRequest(
            cluster_id="c1",
            topics=[
                VoteRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        VoteRequest.PartitionData(
                            partition_index=3,
                            candidate_epoch=5,
                            candidate_id=2,
                            last_offset_epoch=4,
                            last_offset=1000,
                        )
                    ],
                )
            ],
        ),
        0,
        "03 6331"  # ClusterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000003"  # PartitionIndex
        "00000005"  # CandidateEpoch
        "00000002"  # CandidateId
        "00000004"  # LastOffsetEpoch
        "00000000000003e8"  # LastOffset
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        VoteResponse(
            topics=[
                VoteResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        VoteResponse.PartitionData(
                            partition_index=3,
                            error_code=74,
                            leader_id=1,
                            leader_epoch=5,
                            vote_granted=True,
                        )
                    ],
                )
            ],
        ),
        0,
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000003"  # PartitionIndex
        "004a"  # ErrorCode
        "00000001"  # LeaderId
        "00000005"  # LeaderEpoch
        "01"  # VoteGranted
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        BeginQuorumEpochRequest(
            cluster_id="c1",
            topics=[
                BeginQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochRequest.PartitionData(
                            partition_index=3, leader_id=2, leader_epoch=6
                        )
                    ],
                )
            ],
        ),
        0,
        "0002 6331"  # ClusterId
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000003"  # PartitionIndex
        "00000002"  # LeaderId
        "00000006",  # LeaderEpoch
    ),
    Case(
        BeginQuorumEpochResponse(
            error_code=1,
            topics=[
                BeginQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochResponse.PartitionData(
                            partition_index=3, error_code=74, leader_id=-1, leader_epoch=7
                        )
                    ],
                )
            ],
        ),
        0,
        "0001"  # ErrorCode
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000003"  # PartitionIndex
        "004a"  # ErrorCode
        "ffffffff"  # LeaderId
        "00000007",  # LeaderEpoch
    ),
    Case(
        EndQuorumEpochRequest(
            cluster_id="c1",
            topics=[
                EndQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochRequest.PartitionData(
                            partition_index=3,
                            replica_id=1,
                            leader_id=-1,
                            leader_epoch=6,
                            preferred_successors=[2, 3],
                        )
                    ],
                )
            ],
        ),
        0,
        "0002 6331"  # ClusterId
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000003"  # PartitionIndex
        "00000001"  # ReplicaId
        "ffffffff"  # LeaderId
        "00000006"  # LeaderEpoch
        "00000002 00000002 00000003",  # PreferredSuccessors: two
    ),
    Case(
        EndQuorumEpochResponse(
            error_code=2,
            topics=[
                EndQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochResponse.PartitionData(
                            partition_index=3, error_code=5, leader_id=1, leader_epoch=8
                        )
                    ],
                )
            ],
        ),
        0,
        "0002"  # ErrorCode
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000003"  # PartitionIndex
        "0005"  # ErrorCode
        "00000001"  # LeaderId
        "00000008",  # LeaderEpoch
    ),
    Case(
        DescribeQuorumRequest(
            topics=[
                DescribeQuorumRequest.TopicData(
                    topic_name="t",
                    partitions=[DescribeQuorumRequest.PartitionData(partition_index=3)],
                )
            ]
        ),
        0,
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000003"  # PartitionIndex
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        DescribeQuorumResponse(
            topics=[
                DescribeQuorumResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        DescribeQuorumResponse.PartitionData(
                            partition_index=3,
                            leader_id=1,
                            leader_epoch=7,
                            high_watermark=500,
                            current_voters=[
                                DescribeQuorumResponse.ReplicaState(
                                    replica_id=1, log_end_offset=510
                                ),
                                DescribeQuorumResponse.ReplicaState(
                                    replica_id=2, log_end_offset=-1
                                ),
                            ],
                            observers=[
                                DescribeQuorumResponse.ReplicaState(
                                    replica_id=9, log_end_offset=300
                                )
                            ],
                        )
                    ],
                )
            ]
        ),
        0,
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000003"  # PartitionIndex
        "0000"  # ErrorCode
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "00000000000001f4"  # HighWatermark
        "03"  # CurrentVoters: two
        "00000001 00000000000001fe 00"  # ReplicaId, LogEndOffset, no tags
        "00000002 ffffffffffffffff 00"  # ReplicaId, LogEndOffset, no tags
        "01"  # TargetVoters: none
        "02"  # Observers: one
        "00000009 000000000000012c 00"  # ReplicaId, LogEndOffset, no tags
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
]
