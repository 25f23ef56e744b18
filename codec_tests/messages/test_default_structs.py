"""A tagged struct of defaults is left out, however deep what was set to a default, as in Java.

Java has no `not sent`: a struct in a tag is there from the start, holds its defaults, and
`equals` goes down into it. So None and a struct of defaults are the same on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kraftwire.construct_schema import as_container, schema
from kraftwire_messages.kafka import FetchResponse
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.specialized import SpecializedCodec

from codec_tests.columns.engines import messages_alike
from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec

CODECS: list[Any] = [Codec, SpecializedCodec]
if native_codec() is not None:
    CODECS.append(native_codec())

TAGGED = {"versions": "1+", "taggedVersions": "1+"}
OUTER_FIELDS = [
    field_spec("Inner", "Inner", tag=0, fields=[field_spec("Id")], **TAGGED),
    field_spec("Once", "Once", tag=1, taggedVersions="2+", fields=[field_spec("Id")]),
    field_spec(
        "Null", "Null", tag=2, nullableVersions="1+", default="null", fields=[field_spec("Id")],
        **TAGGED,
    ),
    field_spec(
        "There", "There", tag=3, nullableVersions="1+", **TAGGED,
        fields=[field_spec("Inner", "Inner2", tag=0, fields=[field_spec("Id")], **TAGGED)],
    ),
    field_spec("Number", default="-1"),
    field_spec("Real", "float64", default="0.5"),
    field_spec("Items", "[]Item", fields=[field_spec("Id")]),
]  # fmt: skip
NESTED: Any = compile_spec(
    message_spec(
        "Nested",
        field_spec("Outer", "Outer", tag=0, fields=OUTER_FIELDS, **TAGGED),
        field_spec(
            "Whole", "Whole", tag=1, nullableVersions="1+", **TAGGED,
            fields=[
                field_spec("Once", "Once2", tag=0, taggedVersions="2+", fields=[field_spec("Id")])
            ],
        ),
        validVersions="0-2",
        flexibleVersions="1+",
    )
)  # fmt: skip
Outer = NESTED.Outer

DEFAULTS: list[Callable[[], Any]] = [
    Outer,
    lambda: Outer(inner=NESTED.Inner()),
    lambda: Outer(once=NESTED.Once()),
    lambda: Outer(there=NESTED.There(inner=NESTED.Inner2())),
    lambda: Outer(inner=NESTED.Inner(), once=NESTED.Once(), number=-1),
]
OTHERS: list[Callable[[], Any]] = [
    lambda: Outer(inner=NESTED.Inner(id=1)),
    lambda: Outer(null=NESTED.Null()),
    lambda: Outer(there=None),
    lambda: Outer(there=NESTED.There(inner=NESTED.Inner2(id=1))),
    lambda: Outer(number=0),
    lambda: Outer(items=[NESTED.Item()]),
    lambda: Outer(inner=NESTED.Inner(unknown_tagged_fields=[(7, b"x")])),
]


@pytest.mark.parametrize("make", CODECS)
@pytest.mark.parametrize("outer", DEFAULTS)
def test_defaults_are_left_out_at_any_depth(make: Any, outer: Callable[[], Any]) -> None:
    for version in (1, 2):
        empty = make(NESTED, version).encode(NESTED())
        assert empty == b"\x00"
        assert make(NESTED, version).encode(NESTED(outer=outer())) == empty
    assert make(NESTED, 0).encode(NESTED(outer=outer())) == b""


@pytest.mark.parametrize("make", CODECS)
@pytest.mark.parametrize("outer", OTHERS)
def test_other_values_are_written(make: Any, outer: Callable[[], Any]) -> None:
    for version in (1, 2):
        data = make(NESTED, version).encode(NESTED(outer=outer()))
        assert data[:2] == b"\x01\x00"
        assert make(NESTED, version).decode(data).outer is not None
        assert Codec(NESTED, version).encode(make(NESTED, version).decode(data)) == data
    with pytest.raises(EncodeError, match="outer: version 0 does not have this field"):
        make(NESTED, 0).encode(NESTED(outer=outer()))


@pytest.mark.parametrize("outer", DEFAULTS)
def test_other_forms_leave_out_defaults_too(outer: Callable[[], Any]) -> None:
    message = NESTED(outer=outer())
    for version in (1, 2):
        assert message.to_json(version) == {}
        container = as_container(message, version)
        assert "outer" not in container
        assert schema(NESTED, version).build(container) == message.encode(version)


def sent_with_defaults(version: int) -> bytes:
    """Every tag of `NESTED` with a struct of defaults in it, as some brokers write it."""
    unset: dict[str, Any] = {"unknown_tagged_fields": []}
    inner = {"id": 0} | unset
    outer = {"number": -1, "real": 0.5, "items": [], "inner": inner, "once": inner} | unset
    outer["there"] = {"inner": inner} | unset
    whole = {"once": inner} | unset
    data: bytes = schema(NESTED, version).build({"outer": outer, "whole": whole} | unset)
    return data


@pytest.mark.parametrize("make", CODECS)
@pytest.mark.parametrize("version", [1, 2])
def test_a_struct_sent_with_defaults_reads_as_not_sent(make: Any, version: int) -> None:
    data = sent_with_defaults(version)
    codec = make(NESTED, version)
    decoded = codec.decode(data)
    assert (decoded.outer, decoded) == (None, NESTED())
    assert codec.decode(codec.encode(decoded)) == decoded
    assert codec.decode(data, lenient=True) == decoded
    found = messages_alike(NESTED, version, pa.array([data, b"\x00"], pa.binary())).found
    assert found[0].as_py() == found[1].as_py()


@pytest.mark.parametrize("make", CODECS)
def test_a_real_message_with_a_default_in_a_tag(make: Any) -> None:
    """`currentLeader` of a Fetch response, which Kafka leaves out and other brokers send."""
    leader = FetchResponse.LeaderIdAndEpoch(leader_id=5)
    partition = FetchResponse.PartitionData(current_leader=leader)
    response = FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(partitions=[partition])]
    )
    data = make(FetchResponse, 17).encode(response)
    sent = data.replace(bytes.fromhex("00000005ffffffff"), b"\xff" * 8)
    assert sent != data
    decoded = make(FetchResponse, 17).decode(sent)
    assert decoded.responses[0].partitions[0].current_leader is None
    assert make(FetchResponse, 17).decode(make(FetchResponse, 17).encode(decoded)) == decoded
    messages_alike(FetchResponse, 17, pa.array([sent, data], pa.binary()))
