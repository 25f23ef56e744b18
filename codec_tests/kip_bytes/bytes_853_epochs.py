"""Hand-computed bytes of KIP-853: votes and epochs."""

from __future__ import annotations

from kraftwire_messages.kip_853 import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

from codec_tests.kip_bytes.cases import ID_B, ZERO, B, Case

CASES = [
    Case(
        VoteRequest(
            cluster_id=None,
            candidate_id=2,
            voter_id=1,
            topics=[
                VoteRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        VoteRequest.PartitionData(
                            partition_index=0,
                            candidate_epoch=8,
                            candidate_uuid=ID_B,
                            last_offset_epoch=7,
                            last_offset=510,
                        )
                    ],
                )
            ],
        ),
        1,
        "00"  # ClusterId: null
        "00000002"  # CandidateId
        "00000001"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "00000008"  # CandidateEpoch
        f"{B}"  # CandidateUuid
        f"{ZERO}"  # VoterUuid: unknown
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
                            leader_id=1,
                            leader_epoch=8,
                            leader_end_point=VoteResponse.Endpoint(
                                name="L", host="h1", port=9093, security_protocol=1
                            ),
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
        "00000001"  # LeaderId
        "00000008"  # LeaderEpoch
        "00"  # VoteGranted
        "01 00 0a"  # one tag of the partition: LeaderEndPoint, 10 bytes
        "02 4c 03 6831 2385 0001 00"  # Name, Host, Port, SecurityProtocol, no tags
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        BeginQuorumEpochRequest(
            cluster_id="c1",
            leader_id=1,
            voter_id=2,
            topics=[
                BeginQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochRequest.PartitionData(
                            partition_index=0, voter_uuid=ID_B, leader_epoch=8
                        )
                    ],
                )
            ],
        ),
        1,
        "03 6331"  # ClusterId
        "00000001"  # LeaderId
        "00000002"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        f"{B}"  # VoterUuid
        "00000008"  # LeaderEpoch
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        BeginQuorumEpochResponse(
            topics=[
                BeginQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        BeginQuorumEpochResponse.PartitionData(
                            partition_index=0,
                            error_code=74,
                            leader_id=1,
                            leader_epoch=9,
                            leader_end_point=BeginQuorumEpochResponse.Endpoint(
                                name="L", host="h1", port=9093, security_protocol=1
                            ),
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
        "004a"  # ErrorCode
        "00000001"  # LeaderId
        "00000009"  # LeaderEpoch
        "01 00 0a"  # one tag of the partition: LeaderEndPoint, 10 bytes
        "02 4c 03 6831 2385 0001 00"  # Name, Host, Port, SecurityProtocol, no tags
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        EndQuorumEpochRequest(
            cluster_id="c1",
            leader_id=1,
            voter_id=2,
            topics=[
                EndQuorumEpochRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochRequest.PartitionData(
                            partition_index=0,
                            voter_uuid=ID_B,
                            leader_epoch=8,
                            preferred_successors=[
                                EndQuorumEpochRequest.ReplicaInfo(replica_id=2, replica_uuid=ID_B)
                            ],
                        )
                    ],
                )
            ],
        ),
        1,
        "03 6331"  # ClusterId
        "00000001"  # LeaderId
        "00000002"  # VoterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        f"{B}"  # VoterUuid
        "00000008"  # LeaderEpoch
        "02"  # PreferredSuccessors: one
        f"00000002 {B} 00"  # ReplicaId, ReplicaUuid, no tags
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        EndQuorumEpochResponse(
            topics=[
                EndQuorumEpochResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        EndQuorumEpochResponse.PartitionData(
                            partition_index=0,
                            leader_id=-1,
                            leader_epoch=9,
                            leader_end_point=EndQuorumEpochResponse.Endpoint(
                                name="L", host="h1", port=9093, security_protocol=1
                            ),
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
        "00000009"  # LeaderEpoch
        "01 00 0a"  # one tag of the partition: LeaderEndPoint, 10 bytes
        "02 4c 03 6831 2385 0001 00"  # Name, Host, Port, SecurityProtocol, no tags
        "00 00",  # no tags of the topic, the message
    ),
]
