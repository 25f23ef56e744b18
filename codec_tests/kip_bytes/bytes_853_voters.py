"""Hand-computed bytes of KIP-853: voters in the log, and the requests that change them."""

from __future__ import annotations

from kraftwire_messages.kip_853 import (
    AddVoterRecord,
    AddVoterRequest,
    AddVoterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    KRaftVersionRecord,
    LeaderChangeMessage,
    RemoveVoterRecord,
    RemoveVoterRequest,
    RemoveVoterResponse,
    VotersRecord,
)

from codec_tests.kip_bytes.cases import ID_A, ID_B, A, B, Case

CASES = [
    Case(
        AddVoterRecord(
            voter_id=4,
            voter_uuid=ID_A,
            end_points=[
                AddVoterRecord.Endpoint(name="L", host="h4", port=9093, security_protocol=1)
            ],
        ),
        0,
        "0000"  # Version
        "00000004"  # VoterId
        f"{A}"  # VoterUuid
        "02"  # EndPoints: one
        "02 4c"  # Name
        "03 6834"  # Host
        "2385"  # Port
        "0001"  # SecurityProtocol
        "00 00",  # no tags of the end point, the message
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
        KRaftVersionRecord(version=0, kraft_version=1),
        0,
        "0000"  # Version
        "0001"  # KRaftVersion
        "00",  # no tags
    ),
    Case(
        VotersRecord(
            voters=[
                VotersRecord.Voter(
                    voter_id=1,
                    voter_uuid=ID_A,
                    end_points=[
                        VotersRecord.Endpoint(name="L", host="h1", port=65535, security_protocol=0)
                    ],
                    kraft_version_feature=VotersRecord.KRaftVersionFeature(
                        min_supported_version=0, max_supported_version=1
                    ),
                ),
                VotersRecord.Voter(voter_id=2, voter_uuid=ID_B),
            ]
        ),
        0,
        "0000"  # Version
        "03"  # Voters: two
        "00000001"  # VoterId
        f"{A}"  # VoterUuid
        "02"  # EndPoints: one
        "02 4c"  # Name
        "03 6831"  # Host
        "ffff"  # Port
        "0000"  # SecurityProtocol
        "00"  # no tags of the end point
        "0000"  # KRaftVersionFeature.MinSupportedVersion
        "0001"  # KRaftVersionFeature.MaxSupportedVersion
        "00 00"  # no tags of the feature, the voter
        "00000002"  # VoterId
        f"{B}"  # VoterUuid
        "01"  # EndPoints: none
        "0000 0000 00"  # KRaftVersionFeature: two versions, no tags
        "00 00",  # no tags of the voter, the message
    ),
    Case(
        LeaderChangeMessage(
            version=1,
            leader_id=1,
            voters=[
                LeaderChangeMessage.Voter(voter_id=1, voter_uuid=ID_A),
                LeaderChangeMessage.Voter(voter_id=2, voter_uuid=ID_B),
            ],
            granting_voters=[LeaderChangeMessage.Voter(voter_id=1, voter_uuid=ID_A)],
        ),
        1,
        "0001"  # Version
        "00000001"  # LeaderId
        "03"  # Voters: two
        f"00000001 {A} 00"  # VoterId, VoterUuid, no tags
        f"00000002 {B} 00"  # VoterId, VoterUuid, no tags
        "02"  # GrantingVoters: one
        f"00000001 {A} 00"  # VoterId, VoterUuid, no tags
        "00",  # no tags of the message
    ),
    Case(
        AddVoterRequest(
            cluster_id="c1",
            topics=[
                AddVoterRequest.TopicData(
                    topic_name="t",
                    partitions=[
                        AddVoterRequest.PartitionData(
                            index=0,
                            voter_id=4,
                            voter_uuid=ID_A,
                            end_point=[
                                AddVoterRequest.Endpoint(
                                    name="L", host="h4", port=9093, security_protocol=1
                                ),
                                AddVoterRequest.Endpoint(
                                    name="M", host="", port=0, security_protocol=-1
                                ),
                            ],
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
        "00000000"  # Index
        "00000004"  # VoterId
        f"{A}"  # VoterUuid
        "03"  # EndPoint: two
        "02 4c 03 6834 2385 0001 00"  # Name, Host, Port, SecurityProtocol, no tags
        "02 4d 01 0000 ffff 00"  # Name, Host, Port, SecurityProtocol, no tags
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
                                leader_id=1,
                                leader_epoch=7,
                                end_point=AddVoterResponse.Endpoint(
                                    name="L", host="h1", port=9093, security_protocol=1
                                ),
                            ),
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
        "00000000"  # Index
        "0006"  # ErrorCode
        "01 00 13"  # one tag of the partition: CurrentLeader, 19 bytes
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "02 4c 03 6831 2385 0001 00"  # EndPoint: Name, Host, Port, SecurityProtocol, no tags
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
            error_code=41,
            topics=[
                RemoveVoterResponse.TopicData(
                    topic_name="t",
                    partitions=[
                        RemoveVoterResponse.PartitionData(
                            index=0,
                            error_code=6,
                            current_leader=RemoveVoterResponse.LeaderIdAndEpoch(
                                leader_id=-1,
                                leader_epoch=7,
                                end_point=RemoveVoterResponse.Endpoint(
                                    name="", host="", port=0, security_protocol=0
                                ),
                            ),
                        )
                    ],
                )
            ],
        ),
        0,
        "0029"  # ErrorCode
        "02"  # Topics: one
        "02 74"  # TopicName
        "02"  # Partitions: one
        "00000000"  # Index
        "0006"  # ErrorCode
        "01 00 10"  # one tag of the partition: CurrentLeader, 16 bytes
        "ffffffff"  # LeaderId
        "00000007"  # LeaderEpoch
        "01 01 0000 0000 00"  # EndPoint: Name, Host, Port, SecurityProtocol, no tags
        "00"  # no tags of the leader
        "00 00",  # no tags of the topic, the message
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
        2,
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
                                    replica_id=1,
                                    replica_uuid=ID_A,
                                    log_end_offset=510,
                                    last_fetch_timestamp=256,
                                )
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
        "00000003"  # PartitionIndex
        "0000"  # ErrorCode
        "00000001"  # LeaderId
        "00000007"  # LeaderEpoch
        "00000000000001f4"  # HighWatermark
        "02"  # CurrentVoters: one
        "00000001"  # ReplicaId
        f"{A}"  # ReplicaUuid
        "00000000000001fe"  # LogEndOffset
        "0000000000000100"  # LastFetchTimestamp
        "ffffffffffffffff"  # LastCaughtUpTimestamp
        "00"  # no tags of the voter
        "01"  # Observers: none
        "00 00 00",  # no tags of the partition, the topic, the message
    ),
]
