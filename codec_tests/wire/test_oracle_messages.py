"""Whole messages are written, read and refused as by Kafka's own classes.

The oracle's messages are those of Kafka's trunk of October 2024; where a case is about
something that has changed since, or that we decide otherwise, `DEVIATIONS` says why.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, EncodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message

from codec_tests.compile_spec import compile_spec
from codec_tests.oracle import oracle_section, report_oracle_count

# Cases of `codec` by message and version; where such a pair has several cases, those of the
# sources that are given.
_VERSION_REMOVED = "Kafka 4.0 removed this version (KIP-896)"
_MESSAGE_REMOVED = "Kafka 4.0 removed this message, with ZooKeeper"
_FIELD_RENAMED = "generationId is called generationIdOrMemberEpoch now"
_KEY_VERSION = "keys of coordinator records have version 0 now; 3 is the record's id"
_HEADER_REMOVED = "Kafka 4.0 removed this header, with the one version that had it"
_JAVA_SIZE = "Java of that time miscomputed this size (KAFKA-18199)"

_REMOVED_VERSIONS = {
    "CreateTopicsRequest": (0, 1),
    "DescribeAclsRequest": (0,),
    "ListOffsetsResponse": (0,),
    "OffsetCommitRequest": (0, 1),
    "OffsetFetchRequest": (0,),
    "OffsetForLeaderEpochRequest": (0, 1),
    "ProduceResponse": (0, 1, 2),
}
CODEC_DEVIATIONS: dict[tuple[str, int], str] = {
    ("ConsumerGroupMetadataKey", 3): _KEY_VERSION,
    ("RequestHeader", 0): _HEADER_REMOVED,
    **{(name, v): _VERSION_REMOVED for name, vs in _REMOVED_VERSIONS.items() for v in vs},
    **{("LeaderAndIsrRequest", version): _MESSAGE_REMOVED for version in range(2, 8)},
    **{("TxnOffsetCommitRequest", version): _FIELD_RENAMED for version in range(5)},
}
CODEC_DEVIATIONS_OF_SOURCES = {"KAFKA-18199 boundary (struct size 127)": _JAVA_SIZE}

# Cases of `decode` by bytes.
DECODE_DEVIATIONS = {
    "ffff01ffffffff0f01aa": "tags are unsigned here; Java reads this one as -1",
}

MISC_DEVIATIONS = {
    "tagged nullable struct4 myString len 121": _JAVA_SIZE,
    "raw dup of known tag": "a tag that is sent twice cannot be read; Java writes it",
    "raw tag8 at v1 (8 defined 2+)": "a tag of a later version cannot be read; Java writes it",
    "write v-1 default": "a message has no version -1; Java writes version 0",
    "StructArray lowest/highest": "a struct has the versions of its fields; in Java the message's",
}


def message_class(name: str) -> type[Any]:
    """A message of the oracle's own specs, or one of Kafka's."""
    spec = oracle_section("test_specs").get(name)
    return compile_spec(spec) if spec else registry.message(name)


# -- codec -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_codec() -> None:
    cases = oracle_section("codec")
    listed = [case for case in cases if is_listed(case)]
    for case in cases:
        found = difference(case)
        assert bool(found) == is_listed(case), (case["source"], case["message"], found)
    assert {(case["message"], case["version"]) for case in listed} >= CODEC_DEVIATIONS.keys()
    assert {case["source"] for case in listed} >= CODEC_DEVIATIONS_OF_SOURCES.keys()
    report_oracle_count("codec", len(cases), len(listed))


def is_listed(case: dict[str, Any]) -> bool:
    key = case["message"], case["version"]
    return key in CODEC_DEVIATIONS or case["source"] in CODEC_DEVIATIONS_OF_SOURCES


def difference(case: dict[str, Any]) -> str:
    """What is otherwise than in Java; nothing is an empty text."""
    if case["message"] not in registry and case["message"] not in oracle_section("test_specs"):
        return "no such message"
    cls, version = message_class(case["message"]), case["version"]
    try:
        message = build(cls, cls, case["set"])
        message.unknown_tagged_fields = [
            (tag, bytes.fromhex(raw)) for tag, raw in case.get("unknown", [])
        ]
        raw = message.encode(version)
    except KeyError as missing:
        return f"no field {missing}"
    except KraftwireError as error:
        return refusal_difference(case, error)
    if "error" in case:
        return f"encoded as {raw.hex()}, Java raises {case['error']}"
    if raw.hex() != case["hex"]:
        return f"bytes {raw.hex()}"
    if message.to_json(version, style="java") != case["json"]:
        return f"json {message.to_json(version, style='java')}"
    if (cls.decode(raw, version) == message) != case["reads_back_equal"]:
        return "reads back otherwise"
    return "" if cls.decode(raw, version).encode(version) == raw else "encodes anew otherwise"


def refusal_difference(case: dict[str, Any], error: KraftwireError) -> str:
    if "error" not in case or isinstance(error, UnsupportedVersion):
        return f"refused: {error}"
    assert isinstance(error, EncodeError)
    field = re.search(r"a non-default (\w+) at", case["error"])
    if field is None:
        return ""
    at = error.path.rpartition(".")[2].replace("_", "")
    return "" if at == field[1].lower() else f"refused at {error.path}"


def build(message: type[Message], struct_type: type[Any], values: dict[str, Any]) -> Any:
    """A struct with those fields set, named and written as in JSON."""
    fields = {field.json_name: field for field in struct_type.LAYOUT.fields}
    result = struct_type()
    for name, value in values.items():
        field = fields[name]
        setattr(result, field.name, field_value(message, field, value))
    return result


def field_value(message: type[Message], field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [element_value(message, field, item) for item in value]
    return element_value(message, field, value)


def element_value(message: type[Message], field: Field, value: Any) -> Any:
    if field.is_struct:
        return build(message, field.struct_class(message), value)
    match field.element_type:
        case "uuid":
            return uuid.UUID(bytes=base64.urlsafe_b64decode(value + "=="))
        case "bytes" | "records":
            return base64.b64decode(value)
        case "float64":
            return float(value)
    return value


# -- decode ------------------------------------------------------------------------------------


def test_decode() -> None:
    """Lenient reading is Java's reading; strict reading gives the same or an error."""
    cases = oracle_section("decode")
    for case in cases:
        lenient, strict = outcome(case, lenient=True), outcome(case, lenient=False)
        assert strict in ("error", lenient), case
        agrees = lenient == expected_outcome(case)
        assert agrees == (case["hex"] not in DECODE_DEVIATIONS), (case, lenient)
    report_oracle_count("decode", len(cases), len(DECODE_DEVIATIONS))


def expected_outcome(case: dict[str, Any]) -> str:
    if "error" in case:
        return "error"
    # without the positions of Java's buffers
    return re.sub(r", buffer=[\w.]+\[[^\]]*\]", "", case["java_toString"])


def outcome(case: dict[str, Any], *, lenient: bool) -> str:
    raw = bytes.fromhex(case["hex"])
    codec = message_class(case["message"]).codec(case["version"])
    try:
        message, end = codec.decode_from(raw, lenient=lenient)
        if not lenient:
            codec.check_end(raw, end)
    except DecodeError:
        return "error"
    text = java_text(message).replace("(", "Data(", 1)
    if " unk=" in case.get("java_toString", ""):
        unknown = "".join(f"{tag}:{data.hex()} " for tag, data in message.unknown_tagged_fields)
        text += f" unk=[{unknown}]"
    return f"{text} remaining={len(raw) - end}"


def java_text(value: object) -> str:
    """A value as the generated toString of Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, bytes):
        return f"MemoryRecords(size={len(value)})"
    if isinstance(value, list):
        return f"[{', '.join(map(java_text, value))}]"
    if isinstance(value, int):
        return str(value)
    layout = value.LAYOUT  # type: ignore[attr-defined]
    fields = (f"{f.json_name}={java_text(getattr(value, f.name))}" for f in layout.fields)
    return f"{layout.name}({', '.join(fields)})"


# -- what Kafka's classes do with odd values ---------------------------------------------------


def test_misc_encode() -> None:
    """The entries about JSON are compared where the JSON form is tested."""
    cases = {
        case["what"]: case["result"]
        for case in oracle_section("misc_encode")
        if not case["what"].startswith("json ")
    }
    for what, result in cases.items():
        ours = misc_outcome(what)
        agrees = "error" if result.startswith("!") else result
        assert (ours == agrees) == (what not in MISC_DEVIATIONS), (what, ours, result)
    assert cases.keys() >= MISC_DEVIATIONS.keys()
    report_oracle_count("misc_encode, not JSON", len(cases), len(MISC_DEVIATIONS))


def misc_outcome(what: str) -> str:
    try:
        if what.startswith("tagged nullable struct4"):
            return struct_of_size(int(what.rpartition(" ")[2]))
        if what.startswith("write v"):
            return example(int(what.removeprefix("write v").split()[0]))
        return MISC[what]()
    except KraftwireError:
        return "error"


def struct_of_size(size: int) -> str:
    cls = message_class("NullableStructMessage")
    raw = cls(nullable_struct4=cls.MyStruct4(my_string="a" * size)).encode(1)
    return f"size()={len(raw)} bytes={raw[:20].hex()}"


def example(version: int = 1, **values: Any) -> str:
    return str(message_class("SimpleExampleMessage")(**values).encode(version).hex())


def example_with_tags(*unknown: int, **values: Any) -> str:
    return example(unknown_tagged_fields=[(tag, b"\x01") for tag in unknown], **values)


def with_records(version: int, records: bytes | None, topic: str | None = "foo") -> str:
    cls = message_class("SimpleRecordsMessage")
    return str(cls(topic=topic, record_set=records).encode(version).hex())


def with_goats(version: int) -> str:
    cls = message_class("SimpleArraysMessage")
    return str(cls(goats=[cls.StructArray(color=1)]).encode(version).hex())


def read_arrays(version: int, raw: bytes) -> str:
    return java_text(message_class("SimpleArraysMessage").decode(raw, version))


def goat_versions() -> str:
    versions = message_class("SimpleArraysMessage").StructArray.LAYOUT.versions
    return f"{versions[0]}/{versions[-1]}"


MISC: dict[str, Callable[[], str]] = {
    "surrogate encode": lambda: example(my_string="a\ud83db"),
    "surrogate pair encode": lambda: example(my_string="\ud83d\ude00"),
    "raw dup of known tag": lambda: example_with_tags(4, my_string="x"),
    "raw unsorted": lambda: example_with_tags(40, 30),
    "raw dup raw": lambda: example_with_tags(40, 40),
    "raw MAX": lambda: example_with_tags(0x7FFFFFFF),
    "raw negative": lambda: example_with_tags(-1),
    "raw tag8 at v1 (8 defined 2+)": lambda: example_with_tags(8),
    "nan tagged": lambda: example(my_float64=float("nan")),
    "neg zero (default 12.34)": lambda: example(my_float64=-0.0),
    "SAM v5 read (out of range)": lambda: read_arrays(5, bytes(8)),
    "StructArray v3 write elt": lambda: with_goats(3),
    "StructArray v0 write elt": lambda: with_goats(0),
    "StructArray v0 read": lambda: read_arrays(0, b""),
    "StructArray lowest/highest": goat_versions,
    "string too long": lambda: with_records(1, None, "a" * 32768),
    "string max": lambda: str(len(with_records(1, None, "a" * 32767))),
    "string max v0": lambda: with_records(0, None, "a" * 32767)[:8],
    "null nonnull string": lambda: with_records(1, None, None),
    "records": lambda: with_records(1, b"\x01\x02\x03"),
    "records empty v1": lambda: with_records(1, b""),
    "records empty v0": lambda: with_records(0, b""),
    "records null v1": lambda: with_records(1, None),
    "records null v0": lambda: with_records(0, None),
}
