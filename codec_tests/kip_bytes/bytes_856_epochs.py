"""Hand-computed bytes of KIP-856: votes and epochs."""

from __future__ import annotations

from kraftwire_messages.kip_856 import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

from codec_tests.kip_bytes.cases import ID_A, ID_B, A, B, Case

CASES = [
    Case(
        VoteRequest(
            cluster_id="c1",
            candidate_id=2,
            voter_id=3,
            topics=[
                VoteRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        VoteRequest.PartitionData(
                            partition_index=0,
                            candidate_epoch=8,
                            candidate_uuid=ID_B,
                            voter_uuid=ID_A,
                            last_offset_epoch=7,
                            last_offset=510,
                        )
                    ],
                )
            ],
        ),
        1,
        "03 6331"  # ClusterId
        "00000002"  # CandidateId
        "00000003"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "00000008"  # CandidateEpoch
        f"{B}"  # CandidateUuid
        f"{A}"  # VoterUuid
        "00000007"  # LastOffsetEpoch
        "00000000000001fe"  # LastOffset
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        VoteResponse(
            topics=[
                VoteResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        VoteResponse.PartitionData(
                            partition_index=0,
                            leader_id=-1,
                            leader_epoch=8,
                            vote_granted=True,
                            voter_uuid=ID_A,
                        )
                    ],
                )
            ]
        ),
        1,
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "0000"  # ErrorCode
        "ffffffff"  # LeaderId
        "00000008"  # LeaderEpoch
        "01"  # VoteGranted
        f"{A}"  # VoterUuid
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        BeginQuorumEpochRequest(
            cluster_id=None,
            leader_id=2,
            voter_id=3,
            topics=[
                BeginQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochRequest.PartitionData(
                            partition_index=0, voter_uuid=ID_A, leader_epoch=8
                        )
                    ],
                )
            ],
        ),
        1,
        "00"  # ClusterId: null
        "00000002"  # LeaderId
        "00000003"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        f"{A}"  # VoterUuid
        "00000008"  # LeaderEpoch
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        BeginQuorumEpochRequest(
            cluster_id=None,
            topics=[
                BeginQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochRequest.PartitionData(
                            partition_index=0, leader_id=2, leader_epoch=8
                        )
                    ],
                )
            ],
        ),
        0,
        "ffff"  # ClusterId: null
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000000"  # PartitionIndex
        "00000002"  # LeaderId
        "00000008",  # LeaderEpoch
    ),
    Case(
        BeginQuorumEpochResponse(
            topics=[
                BeginQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochResponse.PartitionData(
                            partition_index=0, error_code=74, leader_id=2, leader_epoch=9
                        )
                    ],
                )
            ]
        ),
        1,
        "0000"  # ErrorCode
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000000"  # PartitionIndex
        "004a"  # ErrorCode
        "00000002"  # LeaderId
        "00000009",  # LeaderEpoch
    ),
    Case(
        EndQuorumEpochRequest(
            cluster_id="c1",
            leader_id=2,
            voter_id=3,
            topics=[
                EndQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochRequest.PartitionData(
                            partition_index=0,
                            voter_uuid=ID_A,
                            leader_epoch=8,
                            preferred_successors=[
                                EndQuorumEpochRequest.ReplicaInfo(replica_id=3, replica_uuid=ID_A),
                                EndQuorumEpochRequest.ReplicaInfo(replica_id=1, replica_uuid=ID_B),
                            ],
                        )
                    ],
                )
            ],
        ),
        1,
        "03 6331"  # ClusterId
        "00000002"  # LeaderId
        "00000003"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        f"{A}"  # VoterUuid
        "00000008"  # LeaderEpoch
        "03"  # PreferredSuccessors: two
        f"00000003 {A} 00"  # ReplicaId, ReplicaUuid, no tags
        f"00000001 {B} 00"  # ReplicaId, ReplicaUuid, no tags
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        EndQuorumEpochResponse(
            error_code=3,
            topics=[
                EndQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochResponse.PartitionData(
                            partition_index=0, leader_id=2, leader_epoch=8
                        )
                    ],
                )
            ],
        ),
        1,
        "0003"  # ErrorCode
        "00000001"  # Topics: one
        "0001 74"  # TopicName
        "00000001"  # Partitions: one
        "00000000"  # PartitionIndex
        "0000"  # ErrorCode
        "00000002"  # LeaderId
        "00000008",  # LeaderEpoch
    ),
]
