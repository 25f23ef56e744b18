"""Hand-computed bytes of KIP-856: voters in the log and on disk, and what changes them."""

from __future__ import annotations

from kraftwire_messages.kip_856 import (
    AddVoterRecord,
    AddVoterRequest,
    AddVoterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    LeaderChangeMessage,
    QuorumStateData,
    RemoveVoterRecord,
    RemoveVoterRequest,
    RemoveVoterResponse,
)

from codec_tests.kip_bytes.cases import ID_A, ID_B, ZERO, A, B, Case

CASES = [
    Case(
        LeaderChangeMessage(
            leader_id=1,
            voters=[LeaderChangeMessage.Voter(voter_id=1), LeaderChangeMessage.Voter(voter_id=2)],
            granting_voters=[LeaderChangeMessage.Voter(voter_id=2)],
        ),
        0,
        "0000"  # Version
        "00000001"  # LeaderId
        "03"  # Voters: two
        "00000001 00"  # VoterId, no tags
        "00000002 00"  # VoterId, no tags
        "02"  # GrantingVoters: one
        "00000002 00"  # VoterId, no tags
        "00",  # no tags of the message
    ),
    Case(
        LeaderChangeMessage(
            version=1,
            leader_id=3,
            voters=[
                LeaderChangeMessage.Voter(voter_id=3, voter_uuid=ID_A),
                LeaderChangeMessage.Voter(voter_id=3, voter_uuid=ID_B),
            ],
            granting_voters=[LeaderChangeMessage.Voter(voter_id=3, voter_uuid=ID_B)],
        ),
        1,
        "0001"  # Version
        "00000003"  # LeaderId
        "03"  # Voters: two
        f"00000003 {A} 00"  # VoterId, VoterUuid, no tags
        f"00000003 {B} 00"  # VoterId, VoterUuid, no tags
        "02"  # GrantingVoters: one
        f"00000003 {B} 00"  # VoterId, VoterUuid, no tags
        "00",  # no tags of the message
    ),
    Case(
        AddVoterRecord(voter_id=3, voter_uuid=ID_A),
        0,
        "0000"  # Version
        "00000003"  # VoterId
        f"{A}"  # VoterUuid
        "00",  # no tags
    ),
    Case(
        RemoveVoterRecord(voter_id=3, voter_uuid=ID_B),
        0,
        "0000"  # Version
        "00000003"  # VoterId
        f"{B}"  # VoterUuid
        "00",  # no tags
    ),
    Case(
        QuorumStateData(
            cluster_id="c1",
            leader_epoch=7,
            voted_id=2,
            applied_offset=512,
            current_voters=[QuorumStateData.Voter(voter_id=1), QuorumStateData.Voter(voter_id=2)],
        ),
        0,
        "03 6331"  # ClusterId
        "ffffffff"  # LeaderId
        "00000007"  # LeaderEpoch
        "00000002"  # VotedId
        "0000000000000200"  # AppliedOffset
        "03"  # CurrentVoters: two
        "00000001 00"  # VoterId, no tags
        "00000002 00"  # VoterId, no tags
        "00",  # no tags of the message
    ),
    Case(
        QuorumStateData(cluster_id="c1", leader_epoch=8, voted_id=2, voted_uuid=ID_B),
        1,
        "03 6331"  # ClusterId
        "ffffffff"  # LeaderId
        "00000008"  # LeaderEpoch
        "00000002"  # VotedId
        f"{B}"  # VotedUuid
        "0000000000000000"  # AppliedOffset
        "00",  # no tags
    ),
    Case(
        AddVoterRequest(
            cluster_id="c1",
            topics=[
                AddVoterRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        AddVoterRequest.PartitionData(index=0, voter_id=3, voter_uuid=ID_A)
                    ],
                )
            ],
        ),
        0,
        "03 6331"  # ClusterId
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # Index
        "00000003"  # VoterId
        f"{A}"  # VoterUuid
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        AddVoterResponse(
            topics=[
                AddVoterResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        AddVoterResponse.PartitionData(
                            index=0,
                            error_code=6,
                            current_leader=AddVoterResponse.LeaderIdAndEpoch(
                                leader_id=1, leader_epoch=7
                            ),
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
        "00000000"  # Index
        "0006"  # ErrorCode
        "01 00 09"  # one tag of the partition: CurrentLeader, 9 bytes
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "00"  # no tags of the leader
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        RemoveVoterRequest(
            topics=[
                RemoveVoterRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        RemoveVoterRequest.PartitionData(index=0, voter_id=3, voter_uuid=ID_B)
                    ],
                )
            ]
        ),
        0,
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # Index
        "00000003"  # VoterId
        f"{B}"  # VoterUuid
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        RemoveVoterResponse(
            error_code=42,
            topics=[
                RemoveVoterResponse.TopicData(
                    topic_name="t",
                    partitions=[RemoveVoterResponse.PartitionData(index=0, error_code=42)],
                )
            ],
        ),
        0,
        "002a"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # Index
        "002a"  # ErrorCode
        "00"  # of the partition no CurrentLeader
        "00 00",  # no tags of the topic, the message
    ),
    Case(
        DescribeQuorumRequest(
            topics=[
                DescribeQuorumRequest.TopicData(
                    topic_name="t",
                    partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)],
                )
            ]
        ),
        2,
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
    Case(
        DescribeQuorumResponse(
            topics=[
                DescribeQuorumResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        DescribeQuorumResponse.PartitionData(
                            partition_index=0,
                            leader_id=1,
                            leader_epoch=7,
                            high_watermark=500,
                            current_voters=[
                                DescribeQuorumResponse.ReplicaState(
                                    replica_id=3,
                                    replica_uuid=ID_A,
                                    log_end_offset=510,
                                    last_fetch_timestamp=256,
                                    last_caught_up_timestamp=255,
                                )
                            ],
                            observers=[
                                DescribeQuorumResponse.ReplicaState(replica_id=9, log_end_offset=-1)
                            ],
                        )
                    ],
                )
            ]
        ),
        2,
        "0000"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # PartitionIndex
        "0000"  # ErrorCode
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "00000000000001f4"  # HighWatermark
        "02"  # CurrentVoters: one
        "00000003"  # ReplicaId
        f"{A}"  # ReplicaUuid
        "00000000000001fe"  # LogEndOffset
        "0000000000000100"  # LastFetchTimestamp
        "00000000000000ff"  # LastCaughtUpTimestamp
        "00"  # no tags of the voter
        "02"  # Observers: one
        "00000009"  # ReplicaId
        f"{ZERO}"  # ReplicaUuid
        "ffffffffffffffff"  # LogEndOffset
        "ffffffffffffffff"  # LastFetchTimestamp
        "ffffffffffffffff"  # LastCaughtUpTimestamp
        "00"  # no tags of the observer
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
]
