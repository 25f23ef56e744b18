"""`decode(encode(decode(x))) == decode(x)`, also for bytes that no Kafka would write.

Every version of every message, on each engine: tags sent with their defaults, over-long varints,
booleans above 1, and damage to all of it that can still be read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kraftwire.construct_schema import UNKNOWN_TAGS, as_container, schema
from kraftwire_messages.kafka import registry
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message
from kraftwire_wire.specialized import SpecializedCodec
from kraftwire_wire.writer import ClassicWriter, CompactWriter

from codec_tests.fuzz.mutants import mutants
from codec_tests.strategies import random_message, same

QUICK, NIGHTLY = 3, 100
CODECS: list[Any] = [Codec, SpecializedCodec]
if native_codec() is not None:
    CODECS.append(native_codec())


class OddCompactWriter(CompactWriter):
    """Writes varints longer than they need be, and true as any byte but 0."""

    def write_unsigned_varint(self, value: int) -> None:
        if value < 1 << 21:
            self.buffer += bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
        else:
            super().write_unsigned_varint(value)

    def write_unknown_tags(self, unknown: list[tuple[int, bytes]]) -> None:
        if unknown:
            super().write_unknown_tags(unknown)
        else:
            self.write_unsigned_varint(0)

    def write_bool(self, field: str, value: bool) -> None:
        self.buffer.append(0x81 if value else 0)


class OddClassicWriter(ClassicWriter):
    """Writes true as any byte but 0."""

    def write_bool(self, field: str, value: bool) -> None:
        self.buffer.append(2 if value else 0)


def odd_forms(message: Message, version: int) -> Iterator[bytes]:
    """The encoding of a message, and others that say the same."""
    cls = type(message)
    yield Codec(cls, version).encode(message)
    writer = OddCompactWriter() if version in cls.FLEXIBLE_VERSIONS else OddClassicWriter()
    message._encode(writer, version)
    yield bytes(writer.buffer)
    container = as_container(message, version)
    add_defaults(cls, cls.LAYOUT, container, version)
    yield schema(cls, version).build(container)


def add_defaults(message: type[Message], layout: Layout, container: Any, version: int) -> None:
    """Put the default of each tagged field that a container lacks into it, at every depth."""
    for field in layout.fields:
        if version in field.tagged and field.name not in container:
            value = None if field.default is None else field.default
            value = [] if field.default == () and field.is_array else value
            if (
                field.is_struct
                and not field.is_array
                and (field.default == () or not field.nullable)
            ):
                value = as_container_of(message, field, version)
            container[field.name] = value
        if field.is_struct and container.get(field.name):
            inner = field.struct_class(message).LAYOUT
            values = container[field.name] if field.is_array else [container[field.name]]
            for value in values:
                add_defaults(message, inner, value, version)


def as_container_of(message: type[Message], field: Field, version: int) -> dict[str, Any]:
    """The container of a struct of defaults."""
    struct = field.struct_class(message)
    result: dict[str, Any] = {UNKNOWN_TAGS: []} if version in struct.LAYOUT.flexible else {}
    for inner in struct.LAYOUT.fields:
        if version in inner.versions and version not in inner.tagged:
            value = getattr(struct(), inner.name)
            is_struct = inner.is_struct and not inner.is_array and inner.default == ()
            result[inner.name] = as_container_of(message, inner, version) if is_struct else value
    return result


@pytest.mark.parametrize("name", list(registry))
def test_decoded_messages_round_trip(name: str) -> None:
    _sweep(name, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("name", list(registry))
def test_many_decoded_messages_round_trip(name: str) -> None:
    _sweep(name, NIGHTLY)


def _sweep(name: str, count: int) -> None:
    cls, rng = registry.message(name), random.Random(f"{name} {count}")
    for version in cls.VALID_VERSIONS:
        codecs = [make(cls, version) for make in CODECS]
        message = random_message(cls, version, rng)
        for data in odd_forms(message, version):
            assert same(_read_alike(codecs, data), message), (version, data.hex())
            for mutant in mutants(data, count, rng):
                _read_alike(codecs, mutant)


def _read_alike(codecs: list[Any], data: bytes) -> Any:
    """What all engines read, which must be what they write; None if they refuse it."""
    found: list[Any] = []
    for codec in codecs:
        try:
            decoded = codec.decode(data)
        except DecodeError as error:
            found.append(str(error))
            continue
        assert same(codec.decode(codec.encode(decoded)), decoded), (codec, data.hex())
        found.append(decoded)
    assert all(same(one, found[0]) for one in found), data.hex()
    return None if isinstance(found[0], str) else found[0]
