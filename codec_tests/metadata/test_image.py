"""What records do to all but topics."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from kraftwire.metadata.errors import CannotApply
from kraftwire.metadata.state.image import MetadataImage
from kraftwire.metadata.state.nodes import NodeEndpoint, SupportedRange, VoterRegistration
from kraftwire_messages import kafka
from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message

from codec_tests.metadata.metadata_logs import DIRECTORY, broker, broker_change, image_of, setting

RULE = UUID(int=5)


def all_records() -> Iterator[type[Message]]:
    for number in registry.record_ids["cluster-metadata"]:
        yield registry.record("cluster-metadata", number).value


def test_every_record_type_has_an_effect_or_is_known_to_have_none() -> None:
    image = MetadataImage()
    for found in all_records():
        try:
            image.apply(found())
        except CannotApply as error:
            assert "is no record" not in str(error)


def test_what_is_no_metadata_record_is_refused() -> None:
    with pytest.raises(CannotApply, match="VoteRequest is not a record of cluster metadata"):
        MetadataImage().apply(kafka.VoteRequest())


def test_features_have_levels_and_0_removes() -> None:
    def level(name: str, number: int) -> Message:
        return kafka.FeatureLevelRecord(name=name, feature_level=number)

    image = image_of(level("metadata.version", 33), level("group.version", 1))
    assert image.features == {"metadata.version": 33, "group.version": 1}
    image.apply(level("group.version", 0))
    image.apply(level("share.version", 0))
    assert image.features == {"metadata.version": 33}


def test_kraft_version_is_in_control_records_alone() -> None:
    image = image_of(kafka.FeatureLevelRecord(name="kraft.version", feature_level=7))
    assert image.features == {}
    image.apply(kafka.KRaftVersionRecord(kraft_version=1))
    assert image.features == {"kraft.version": 1}


def test_voters_are_replaced_as_a_whole() -> None:
    def voters(*ids: int) -> Message:
        point = kafka.VotersRecord.Endpoint(name="C", host="h", port=1)
        supported = kafka.VotersRecord.KRaftVersionFeature(max_supported_version=1)
        return kafka.VotersRecord(
            voters=[
                kafka.VotersRecord.Voter(
                    voter_id=voter,
                    voter_directory_id=DIRECTORY,
                    endpoints=[point],
                    kraft_version_feature=supported,
                )
                for voter in ids
            ]
        )

    image = image_of(voters(1, 2), voters(2, 3))
    points = (NodeEndpoint("C", "h", 1),)
    assert image.voters == {
        node: VoterRegistration(node, DIRECTORY, points, SupportedRange(0, 1)) for node in (2, 3)
    }


def test_the_leader_is_not_compared() -> None:
    image = image_of(kafka.LeaderChangeMessage(leader_id=4))
    assert image.leader == 4
    assert image == MetadataImage()


def test_a_broker_registers_again() -> None:
    image = image_of(broker(), broker_change(fenced=-1), broker(epoch=20))
    (found,) = image.brokers.by_id.values()
    assert (found.epoch, found.fenced, found.rack) == (20, True, None)
    assert found.endpoints == (NodeEndpoint("PLAINTEXT", "tea.example", 9092, 0),)
    assert found.log_dirs == (DIRECTORY,)


def test_a_broker_is_fenced_and_unfenced_in_two_ways() -> None:
    image = image_of(broker())
    found = image.brokers.by_id[1]
    states = []
    for record in (
        kafka.UnfenceBrokerRecord(id=1, epoch=10),
        kafka.FenceBrokerRecord(id=1, epoch=10),
        broker_change(fenced=-1),
        broker_change(),
        broker_change(fenced=1),
    ):
        image.apply(record)
        states.append(found.fenced)
    assert states == [False, True, False, False, True]


def test_a_broker_stops_until_it_registers_again() -> None:
    image = image_of(broker(), broker_change(stopping=1), broker_change(fenced=-1))
    assert image.brokers.by_id[1].in_controlled_shutdown
    image.apply(broker(epoch=11))
    assert not image.brokers.by_id[1].in_controlled_shutdown


def test_a_broker_changes_its_directories() -> None:
    image = image_of(broker())
    found = image.brokers.by_id[1]
    new = [UUID(int=2), UUID(int=1)]
    image.apply(
        kafka.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=10, log_dirs=new, cordoned_log_dirs=[new[0]]
        )
    )
    assert found.log_dirs == (new[1], new[0])
    assert found.cordoned_log_dirs == (new[0],)
    image.apply(broker_change())
    assert len(found.log_dirs) == 2
    assert found.cordoned_log_dirs
    record = broker_change()
    record.cordoned_log_dirs = []
    image.apply(record)
    assert not found.cordoned_log_dirs


@pytest.mark.parametrize(
    "record",
    [
        broker_change(epoch=9),
        broker_change(node=2),
        broker_change(fenced=2),
        broker_change(stopping=-1),
        kafka.FenceBrokerRecord(id=1, epoch=9),
        kafka.UnfenceBrokerRecord(id=2, epoch=10),
    ],
)
def test_changes_of_another_registration_do_not_fit(record: Message) -> None:
    image = image_of(broker())
    with pytest.raises(CannotApply):
        image.apply(record)
    assert image == image_of(broker())


def test_brokers_and_controllers_leave() -> None:
    point = kafka.RegisterControllerRecord.ControllerEndpoint(name="C", host="h", port=1)
    feature = kafka.RegisterControllerRecord.ControllerFeature(
        name="kraft.version", max_supported_version=1
    )
    controller = kafka.RegisterControllerRecord(
        controller_id=3, incarnation_id=RULE, end_points=[point], features=[feature]
    )
    image = image_of(broker(), broker(2), controller)
    assert image.controllers[3].endpoints == (NodeEndpoint("C", "h", 1, 0),)
    assert image.controllers[3].features == {"kraft.version": SupportedRange(0, 1)}
    image.apply(kafka.UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    image.apply(kafka.UnregisterControllerRecord(controller_id=3))
    assert list(image.brokers.by_id) == [2]
    assert image.controllers == {}


def test_settings_are_set_and_removed() -> None:
    image = image_of(setting("a", "1"), setting("b", ""), setting("c", "3", "", 4))
    image.apply(setting("a", None))
    assert image.configs == {(2, "tea"): {"b": ""}, (4, ""): {"c": "3"}}
    image.apply(setting("b", None))
    image.apply(setting("nobody", None, "knows"))
    assert image.configs == {(4, ""): {"c": "3"}}


def quota(key: str, value: float, *entity: tuple[str, str | None], remove: bool = False) -> Message:
    return kafka.ClientQuotaRecord(
        entity=[
            kafka.ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ],
        key=key,
        value=value,
        remove=remove,
    )


def test_quotas_are_set_and_removed() -> None:
    both = ("user", "ann"), ("client-id", None)
    image = image_of(quota("rate", 1.5, *both), quota("rate", 2.5, *reversed(both)))
    assert image.quotas == {(("client-id", None), ("user", "ann")): {"rate": 2.5}}
    image.apply(quota("rate", 0, *both, remove=True))
    assert image.quotas == {}


def test_rules_are_added_and_removed() -> None:
    rule = kafka.AccessControlEntryRecord(id=RULE, resource_name="tea", operation=3)
    image = image_of(rule)
    assert image.acls[RULE].operation == 3
    image.apply(kafka.RemoveAccessControlEntryRecord(id=RULE))
    assert image.acls == {}
    with pytest.raises(CannotApply):
        image.apply(kafka.RemoveAccessControlEntryRecord(id=RULE))


def test_credentials_belong_to_a_user_and_a_mechanism() -> None:
    def credential(mechanism: int, iterations: int) -> Message:
        return kafka.UserScramCredentialRecord(
            name="ann", mechanism=mechanism, salt=b"\xff", iterations=iterations
        )

    image = image_of(credential(1, 4096), credential(2, 4096), credential(1, 8192))
    assert {key: found.iterations for key, found in image.scram.items()} == {
        (1, "ann"): 8192,
        (2, "ann"): 4096,
    }
    assert "xff" not in repr(image)
    image.apply(kafka.RemoveUserScramCredentialRecord(name="ann", mechanism=2))
    image.apply(kafka.RemoveUserScramCredentialRecord(name="bob", mechanism=2))
    assert list(image.scram) == [(1, "ann")]


def test_tokens_are_renewed_and_removed() -> None:
    def token(expires: int) -> Message:
        return kafka.DelegationTokenRecord(
            token_id="t", owner="User:ann", renewers=["User:bob"], expiration_timestamp=expires
        )

    image = image_of(token(1), token(2))
    assert image.tokens["t"].expiration_timestamp == 2
    assert image.tokens["t"].renewers == ["User:bob"]
    image.apply(kafka.RemoveDelegationTokenRecord(token_id="t"))
    assert image.tokens == {}


def test_producer_ids_go_on() -> None:
    image = image_of(kafka.ProducerIdsRecord(next_producer_id=1000))
    assert image.next_producer_id == 1000


def test_other_records_change_nothing() -> None:
    image = image_of(
        kafka.NoOpRecord(),
        kafka.ZkMigrationStateRecord(zk_migration_state=1),
        kafka.BeginTransactionRecord(name="t"),
        kafka.EndTransactionRecord(),
        kafka.AbortTransactionRecord(),
    )
    assert image == MetadataImage()
