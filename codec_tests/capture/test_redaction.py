"""The table of secret fields against the schemas, and what becomes of messages and frames."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.frame import Frame
from kraftwire.capture.frame_redaction import EVERYTHING, redact_frame
from kraftwire.log.batches.batch import decode_batch
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.record import Record
from kraftwire.redaction import REDACTED, REDACTED_BYTES, SECRETS, redact, redact_fields
from kraftwire_messages.kafka import (
    AlterUserScramCredentialsRequest,
    ApiVersionsRequest,
    ConfigRecord,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeConfigsResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    NoOpRecord,
    RenewDelegationTokenRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    UserScramCredentialRecord,
    registry,
)
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message
from kraftwire_wire.records import decode_metadata_record, encode_metadata_record

from codec_tests.strategies import random_message, same

SECRET = b"hunter2-and-more"
TEXT = SECRET.decode()

LOOKS_SECRET = re.compile(
    r"auth|token|hmac|salt|passw|secret|credential|stored_key|server_key|sasl|"
    r"(config|setting)s?\.value|private"
)
HARMLESS = {
    "token_requester_principal_type": "whose token it is, not the token",
    "token_requester_principal_name": "whose token it is, not the token",
    "tokens.principal_type": "whose token it is",
    "tokens.principal_name": "whose token it is",
    "tokens.renewers.principal_type": "who may renew it",
    "tokens.renewers.principal_name": "who may renew it",
}
"""Ends of paths that look secret and are not, and why."""


def fields_of(
    cls: type[Message], holder: Any = None, path: str = ""
) -> Iterator[tuple[str, Field]]:
    """All fields of a message with their paths."""
    for field in (holder or cls).LAYOUT.fields:
        step = path + field.name
        yield step, field
        if field.is_struct:
            yield from fields_of(cls, field.struct_class(cls), f"{step}.")


@pytest.mark.parametrize("name", SECRETS)
def test_every_field_of_the_table_exists_and_can_be_replaced(name: str) -> None:
    fields = dict(fields_of(registry.message(name)))
    for secret in SECRETS[name]:
        assert fields[secret.path].type in ("string", "bytes")
        for step, field in fields.items():  # the JSON form is looked into by its own names
            if secret.path.startswith(step):
                first, *rest = field.name.split("_")
                assert field.json_name == first + "".join(map(str.capitalize, rest))


def test_every_field_that_looks_secret_is_in_the_table_or_harmless() -> None:
    looking_so = {
        (name, path)
        for name in registry
        for path, field in fields_of(registry.message(name))
        if LOOKS_SECRET.search(path) and field.element_type in ("string", "bytes", "records")
    }
    table = {(name, secret.path) for name in SECRETS for secret in SECRETS[name]}
    harmless = {one for one in looking_so if one[1].endswith(tuple(HARMLESS))}
    assert looking_so - table - harmless == set()
    assert all(any(path.endswith(end) for _, path in harmless) for end in HARMLESS)


@pytest.mark.parametrize("name", SECRETS)
def test_a_redacted_message_differs_only_in_its_secrets(name: str) -> None:
    cls, rng = registry.message(name), random.Random(name)
    for version in cls.VALID_VERSIONS:
        for _ in range(20):
            message = random_message(cls, version, rng)
            before = cls.decode(message.encode(version), version)
            paths = redact_fields(message)
            after = cls.decode(message.encode(version), version)
            assert bool(paths) == (not same(after, before))
            assert redact_fields(after) == [], "what is redacted is not redacted again"
            for path in paths:
                put(after, path, get(before, path))
            assert same(after, before)


def get(message: Any, path: str) -> Any:
    for step in re.findall(r"\w+", path):
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    return message


def put(message: Any, path: str, value: Any) -> None:
    holder, _, last = path.rpartition(".")
    setattr(get(message, holder), last, value)


def test_the_json_form_loses_the_same_secrets() -> None:
    cls = AlterUserScramCredentialsRequest
    upsertion = cls.ScramCredentialUpsertion(name="u", salt=SECRET, salted_password=SECRET)
    form = cls(upsertions=[upsertion]).to_json(0)
    redacted = redact(cls.__name__, form)["upsertions"][0]
    assert (redacted["salt"], redacted["saltedPassword"]) == (REDACTED, REDACTED)
    assert redacted["name"] == "u"
    assert form["upsertions"][0]["salt"] != REDACTED, "the form that was given stays"


def test_settings_are_secret_by_name_or_by_the_brokers_flag() -> None:
    cls = DescribeConfigsResponse
    configs = [
        cls.DescribeConfigsResourceResult(name="ssl.key.password", value=TEXT),
        cls.DescribeConfigsResourceResult(name="retention.ms", value="5"),
        cls.DescribeConfigsResourceResult(
            name="plain",
            value=TEXT,
            is_sensitive=True,
            synonyms=[cls.DescribeConfigsSynonym(name="plain", value=TEXT)],
        ),
        cls.DescribeConfigsResourceResult(name="sasl.jaas.config", value=None, is_sensitive=True),
    ]
    message = cls(results=[cls.DescribeConfigsResult(configs=configs)])
    assert redact_fields(message) == [
        "results[0].configs[0].value",
        "results[0].configs[2].value",
        "results[0].configs[2].synonyms[0].value",
    ]
    assert [config.value for config in configs] == [REDACTED, "5", REDACTED, None]


# -- frames --------------------------------------------------------------------------------


def request(message: Message, version: int, number: int = 1) -> bytes:
    header = registry.request_header(message, version, correlation_id=number, client_id="c")
    return registry.encode_request(header, message)


def response(message: Message, version: int, number: int = 1) -> bytes:
    assert message.API_KEY is not None
    asked = registry.request(message.API_KEY)()
    header = registry.request_header(asked, version, correlation_id=number)
    return registry.encode_response(header, message)


def frames(*data: tuple[str, bytes]) -> list[DecodedFrame]:
    sent: list[Frame] = [Frame(1, kind, 0.0, each) for kind, each in data]  # type: ignore[arg-type]
    return list(decode_frames(sent, registry))


def redacted(*data: tuple[str, bytes]) -> list[tuple[bytes, list[str]]]:
    return [(one.data, paths) for one, paths in (redact_frame(d, registry) for d in frames(*data))]


def test_a_redacted_frame_decodes_with_the_same_header() -> None:
    data = request(SaslAuthenticateRequest(auth_bytes=SECRET), 2, number=77)
    ((kept, paths),) = redacted(("request", data))
    assert paths == ["auth_bytes"]
    header, message = registry.decode_request(kept)
    assert (header.correlation_id, header.client_id) == (77, "c")
    assert message == SaslAuthenticateRequest(auth_bytes=REDACTED_BYTES)


def test_a_redacted_frame_names_the_removed_fields() -> None:
    data = request(SaslAuthenticateRequest(auth_bytes=SECRET), 2)
    sent = Frame(4, "request", 1.5, data, broker="b:1")
    (decoded,) = decode_frames([sent], registry)
    kept = redact_frame(decoded, registry).frame
    assert (kept.connection, kept.time, kept.broker) == (4, 1.5, "b:1")
    assert kept.redacted == ("auth_bytes",)
    (again,) = decode_frames([kept], registry)
    assert redact_frame(again, registry) == (kept, []), "once is enough"


def test_frames_without_secrets_are_unchanged() -> None:
    data = request(ApiVersionsRequest(client_software_name="a"), 3)
    assert redacted(("request", data)) == [(data, [])]


def test_tokens_without_a_header_are_replaced() -> None:
    handshake = request(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    answer = response(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0)
    token = b"\0user\0" + SECRET
    sent = (("request", handshake), ("response", answer), ("request", token), ("response", token))
    *_, asked, answered = redacted(*sent)
    assert asked == answered == (REDACTED_BYTES, [EVERYTHING])
    again = frames(*sent[:2], ("request", asked[0]), ("response", answered[0]))
    assert redact_frame(again[2], registry) == (again[2].frame, [])
    assert [one.is_token for one in again] == [False, False, True, True]


@pytest.mark.parametrize(
    ("data", "is_kept"),
    [
        (request(ApiVersionsRequest(), 3) + b"trailing", True),
        (request(SaslAuthenticateRequest(auth_bytes=SECRET), 2)[:-1], False),
        (request(EnvelopeRequest(request_data=SECRET), 0)[:-1], False),
        (b"\x60\x82" + SECRET, False),
        (SECRET, False),
    ],
)
def test_an_unreadable_frame_is_kept_if_its_api_has_no_secrets(data: bytes, is_kept: bool) -> None:
    ((kept, paths),) = redacted(("request", data))
    assert (kept, paths) == ((data, []) if is_kept else (b"", [EVERYTHING]))
    assert SECRET not in kept


def test_bytes_after_a_message_with_secrets_are_left_out() -> None:
    whole = request(RenewDelegationTokenRequest(hmac=SECRET), 2)
    ((kept, paths),) = redacted(("request", whole + SECRET))
    assert paths == ["hmac", "(bytes of no field)"]
    assert registry.decode_request(kept)[1] == RenewDelegationTokenRequest(hmac=REDACTED_BYTES)


def test_a_response_without_its_request_is_not_kept() -> None:
    data = response(CreateDelegationTokenResponse(hmac=SECRET), 3)
    assert redacted(("response", data)) == [(b"", [EVERYTHING])]


def test_embedded_requests_are_redacted() -> None:
    asked = request(CreateDelegationTokenRequest(), 3, number=9)
    answered = response(CreateDelegationTokenResponse(hmac=SECRET, token_id=TEXT), 3, number=9)
    renewal = request(RenewDelegationTokenRequest(hmac=SECRET), 2)
    _, (kept, paths), (other, other_paths) = redacted(
        ("request", request(EnvelopeRequest(request_data=asked), 0)),
        ("response", response(EnvelopeResponse(response_data=answered), 0)),
        ("request", request(EnvelopeRequest(request_data=renewal), 0, number=2)),
    )
    assert paths == ["response_data.token_id", "response_data.hmac"]
    assert other_paths == ["request_data.hmac"]
    assert SECRET not in kept + other
    _, envelope = registry.decode_request(other)
    _, inner = registry.decode_request(envelope.request_data)  # type: ignore[attr-defined]
    assert inner == RenewDelegationTokenRequest(hmac=REDACTED_BYTES)


def test_an_unreadable_embedded_request_is_replaced() -> None:
    ((kept, paths),) = redacted(("request", request(EnvelopeRequest(request_data=SECRET), 0)))
    assert paths == ["request_data"]
    _, envelope = registry.decode_request(kept)
    assert envelope.request_data == REDACTED_BYTES  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("behind", [b"", b"bytes that brokers do not look at"])
def test_an_error_message_does_not_repeat_the_secret(is_embedded: bool, behind: bytes) -> None:
    asked, answered = IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
    setting = asked.AlterableConfig(name="ssl.key.password", value=TEXT)
    other = asked.AlterableConfig(name="retention.ms", value="five")
    resource = asked.AlterConfigsResource(configs=[setting, other])
    told = f"Invalid value {TEXT} for ssl.key.password, five for retention.ms"
    result = answered.AlterConfigsResourceResponse(error_message=told)
    sent = request(asked(resources=[resource]), 1)
    back = response(answered(responses=[result]), 1)
    if is_embedded:
        sent = request(EnvelopeRequest(request_data=sent), 0)
        back = response(EnvelopeResponse(response_data=back), 0)
    _, (kept, paths) = redacted(("request", sent + behind), ("response", back))
    path = "responses[0].error_message"
    assert paths == [f"response_data.{path}" if is_embedded else path]
    assert b"Invalid value (redacted) for ssl.key.password, five for" in kept
    assert SECRET not in kept


@pytest.mark.parametrize("depth", [1, 5000])
def test_nested_envelopes_are_replaced(depth: int) -> None:
    data = request(SaslAuthenticateRequest(auth_bytes=SECRET), 2)
    for _ in range(depth):
        data = request(EnvelopeRequest(request_data=data), 0)
    asked = request(EnvelopeRequest(request_data=data), 0)
    answer = response(EnvelopeResponse(response_data=SECRET), 0)
    (kept, paths), (answered, others) = redacted(("request", asked), ("response", answer))
    assert (paths, others) == (["request_data"], ["response_data"])
    assert SECRET not in kept + answered


METADATA = uuid.UUID(int=1)
RECORDS: tuple[Message, ...] = (
    NoOpRecord(),
    UserScramCredentialRecord(name="u", salt=SECRET, stored_key=SECRET, server_key=SECRET),
    ConfigRecord(resource_name="t", name="retention.ms", value="5"),
    ConfigRecord(resource_name="t", name="ssl.key.password", value=TEXT),
)


def batch(settings: BatchSettings | None = None) -> bytes:
    records = [
        Record(10 + at, 1000 + at, None, encode_metadata_record(one, 0), ())
        for at, one in enumerate(RECORDS)
    ]
    return encode_batch(records, settings or BatchSettings(partition_leader_epoch=3))


def fetched(records: bytes, topic_id: uuid.UUID = METADATA) -> tuple[bytes, list[str]]:
    """The frame of a fetch response with records, redacted."""
    partition = FetchResponse.PartitionData(records=records)
    topic = FetchResponse.FetchableTopicResponse(topic_id=topic_id, partitions=[partition])
    _, answer = redacted(
        ("request", request(FetchRequest(), 17)),
        ("response", response(FetchResponse(responses=[topic]), 17)),
    )
    return answer


def test_metadata_records_are_redacted_by_their_types() -> None:
    kept, paths = fetched(batch() + batch())
    step = "responses[0].partitions[0].records[offset 1"
    assert paths[:4] == [
        f"{step}1].UserScramCredentialRecord.salt",
        f"{step}1].UserScramCredentialRecord.stored_key",
        f"{step}1].UserScramCredentialRecord.server_key",
        f"{step}3].ConfigRecord.value",
    ]
    assert len(paths) == 8
    assert SECRET not in kept
    asked = registry.request_header(FetchRequest(), 17, correlation_id=1)
    _, message = registry.decode_response(kept, asked)
    records = message.responses[0].partitions[0].records  # type: ignore[attr-defined]
    one = decode_batch(records)  # its CRC is right
    assert (one.header.partition_leader_epoch, one.base_offset) == (3, 10)
    values = [
        decode_metadata_record(registry, "cluster-metadata", record.value or b"").message
        for record in one.records
    ]
    assert [values[0], values[2]] == [RECORDS[0], RECORDS[2]]
    assert values[1] == UserScramCredentialRecord(
        name="u", salt=REDACTED_BYTES, stored_key=REDACTED_BYTES, server_key=REDACTED_BYTES
    )


def test_an_unreadable_batch_removes_all_batches() -> None:
    broken = bytearray(batch() + batch())
    broken[-1] ^= 1
    kept, paths = fetched(bytes(broken))
    (path,) = paths
    assert path.startswith("responses[0].partitions[0].records (left out: ")
    assert path.endswith("its CRC does not match)")
    assert SECRET not in kept


def test_records_of_other_topics_are_kept() -> None:
    kept, paths = fetched(batch(), uuid.UUID(int=5))
    assert paths == []
    assert SECRET in kept


def test_slices_of_snapshots_are_left_out() -> None:
    partition = FetchSnapshotResponse.PartitionSnapshot(unaligned_records=batch()[5:])
    topic = FetchSnapshotResponse.TopicSnapshot(name="__cluster_metadata", partitions=[partition])
    _, (kept, paths) = redacted(
        ("request", request(FetchSnapshotRequest(), 1)),
        ("response", response(FetchSnapshotResponse(topics=[topic]), 1)),
    )
    assert paths == ["topics[0].partitions[0].unaligned_records"]
    assert SECRET not in kept


def test_no_byte_of_a_secret_stays_in_damaged_frames() -> None:
    """Mutants of frames with secrets: they are redacted, or not recorded."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        configs=[
            IncrementalAlterConfigsRequest.AlterableConfig(name="ssl.key.password", value=TEXT)
        ]
    )
    whole = [
        request(SaslAuthenticateRequest(auth_bytes=SECRET), 2),
        request(RenewDelegationTokenRequest(hmac=SECRET), 2),
        request(IncrementalAlterConfigsRequest(resources=[resource]), 1),
    ]
    rng = random.Random(3)
    for data in whole:
        head = 10  # the key and the version say which API it is
        for end in range(head, len(data)):
            ((kept, _),) = redacted(("request", data[:end]))
            assert SECRET[:6] not in kept
        for _ in range(300):
            mutant = bytearray(data)
            at = rng.randrange(8, data.index(SECRET))
            mutant[at] = rng.randrange(256)
            ((kept, paths),) = redacted(("request", bytes(mutant)))
            if b"ssl.key.password" in mutant or b"ssl" not in data:
                assert SECRET not in kept or (paths == [] and _is_another(bytes(mutant), data))


def _is_another(mutant: bytes, data: bytes) -> bool:
    """Whether a mutant has its secret somewhere else than in the field of a secret."""
    header, message = registry.decode_request(mutant)
    return SECRET not in repr(message).encode() or header.client_id != "c"


def test_damaged_frames_with_secrets_raise_nothing() -> None:
    rng = random.Random(11)
    partition = FetchResponse.PartitionData(records=batch() + batch())
    topic = FetchResponse.FetchableTopicResponse(topic_id=METADATA, partitions=[partition])
    renewal = request(RenewDelegationTokenRequest(hmac=SECRET), 2)
    pairs = [
        (FetchRequest(), 17, response(FetchResponse(responses=[topic]), 17)),
        (
            EnvelopeRequest(request_data=renewal),
            0,
            response(EnvelopeResponse(response_data=renewal), 0),
        ),
    ]
    for asking, version, answer in pairs:
        sound = request(asking, version)
        for _ in range(1500):
            mutant = bytearray(answer if rng.random() < 0.7 else sound)
            for _ in range(rng.randrange(1, 4)):
                mutant[rng.randrange(4, len(mutant))] = rng.randrange(256)
            if mutant[:2] == b"\0\0":
                redacted(("request", sound), ("response", bytes(mutant)))
            else:
                redacted(("request", bytes(mutant)), ("response", answer))


def test_the_table_has_only_messages_that_exist() -> None:
    assert all(name in registry for name in SECRETS)
