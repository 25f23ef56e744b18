"""Other libraries on the same bytes: kio, kafka-python, and msgspec as a yardstick.

A peer decodes our bytes and takes part only if it encodes the result to the same bytes, so that no
side skips anything. msgspec does not know Kafka's format: it reads and writes MessagePack of the
same content, with structs made from LAYOUT.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import msgspec
from kafka.protocol.api_header import RequestHeader as KafkaPythonRequestHeader
from kio.serial import entity_reader, entity_writer

from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message, Struct

_KAFKA_PYTHON_MODULES = (
    kafka.protocol.admin,
    kafka.protocol.consumer,
    kafka.protocol.metadata,
    kafka.protocol.producer,
)


class Actions(NamedTuple):
    """The measured calls of one library: each decodes or encodes the payload once."""

    decode: Callable[[], object]
    encode: Callable[[], object]


def kraftwire(message: Message, version: int) -> Actions:
    codec = message.codec(version)
    data = codec.encode(message)
    value = codec.decode(data)
    return Actions(lambda: codec.decode(data), lambda: codec.encode(value))


def kio(message: Message, version: int) -> Actions | None:
    """kio, whose reader is written in Rust and whose writer is Python."""
    entity = _kio_entity(type(message).__name__, version)
    if entity is None:
        return None
    data = message.encode(version)
    read, write = entity_reader(entity), entity_writer(entity)

    def encode(value: Any) -> bytes:
        buffer = io.BytesIO()
        write(buffer, value)
        return buffer.getvalue()

    return _checked(data, lambda: read(data, 0), lambda result: encode(result[0]))


def kafka_python(message: Message, version: int) -> Actions | None:
    """kafka-python, which compiles functions for a version on first use."""
    name, data = type(message).__name__, message.encode(version)
    if name == "RequestHeader":
        flexible, header = version >= 2, KafkaPythonRequestHeader
        return _checked(
            data,
            lambda: header.decode(io.BytesIO(data), flexible=flexible),
            lambda value: value.encode(flexible=flexible),
        )
    found = (getattr(module, name, None) for module in _KAFKA_PYTHON_MODULES)
    api: Any = next((api for api in found if api is not None), None)
    if api is None or not api.min_version <= version <= api.max_version:
        return None
    return _checked(
        data,
        lambda: api.decode(data, version=version),
        lambda value: value.encode(),
    )


def _checked(
    data: bytes, decode: Callable[[], Any], encode: Callable[[Any], bytes]
) -> Actions | None:
    """Return the actions of a peer; None if it does not encode the same bytes."""
    try:
        value = decode()
        same = bytes(encode(value)) == data
    except Exception:  # noqa: BLE001 - a peer may fail in any way; then it takes no part
        return None
    return Actions(decode, lambda: encode(value)) if same else None


def _kio_entity(name: str, version: int) -> Any:
    """Return kio's class for a version of a message; None if it has none."""
    *words, kind = (word.lower() for word in re.findall("[A-Z][a-z]*", name))
    api = "_".join([*words, "header"] if kind == "header" else words)
    try:
        return getattr(importlib.import_module(f"kio.schema.{api}.v{version}.{kind}"), name)
    except ImportError:
        return None


# -- msgspec ----------------------------------------------------------------------------------


def msgspec_pack(message: Message, version: int) -> Actions:
    """msgspec: MessagePack of the version's content, decoded to typed structs."""
    value = _MsgspecStructs(type(message), version).value(message)
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(type(value))
    data = encoder.encode(value)
    assert decoder.decode(data) == value
    return Actions(lambda: decoder.decode(data), lambda: encoder.encode(value))


class _MsgspecStructs:
    """msgspec's structs for one version of a message; positional, like Kafka's format."""

    _PRIMITIVES: ClassVar = {"string": str, "bytes": bytes, "records": bytes, "uuid": UUID} | {
        "bool": bool,
        "float64": float,
    }

    def __init__(self, message: type[Message], version: int) -> None:
        self._message = message
        self._version = version
        self._made: dict[str, Any] = {}

    def value(self, struct: Struct) -> Any:
        """Convert a message to msgspec's struct."""
        layout = struct.LAYOUT
        values = [self._of(getattr(struct, field.name)) for field in self._fields(layout)]
        return self._struct(layout)(*values)

    def _of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._of(item) for item in value]
        return self.value(value) if isinstance(value, Struct) else value

    def _struct(self, layout: Layout) -> Any:
        if layout.name not in self._made:
            fields = [(field.name, self._type(field)) for field in self._fields(layout)]
            self._made[layout.name] = msgspec.defstruct(
                layout.name, fields, array_like=True, gc=False
            )
        return self._made[layout.name]

    def _fields(self, layout: Layout) -> list[Field]:
        return [field for field in layout.fields if self._version in field.versions]

    def _type(self, field: Field) -> Any:
        found: Any
        if field.is_struct:
            found = self._struct(field.struct_class(self._message).LAYOUT)
        else:
            found = self._PRIMITIVES.get(str(field.element_type), int)
        if field.is_array:
            found = list[found]
        nullable = self._version in field.nullable or field.is_optional_struct
        return found | None if nullable else found
