"""Messages with something in every field, for tests that need real content."""

from __future__ import annotations

import uuid
from typing import Any

from kraftwire_messages.kafka import registry
from kraftwire_wire.layout import Field

_VALUES: dict[str, Any] = {
    "bool": True,
    "float64": 1.5,
    "string": "naïve \x1b[31m [bold]",
    "bytes": b"\x00\x01\xff",
    "records": b"\x00\x02",
    "uuid": uuid.UUID(int=7),
}


def filled(name: str, version: int) -> Any:
    """A message in which every field of the version has a value of its own."""
    cls: Any = registry.message(name)
    return _fill(cls, cls, version)


def _fill(message: Any, struct: Any, version: int) -> Any:
    result = struct()
    for field in struct.LAYOUT.fields:
        if version in field.versions:
            value = _value(message, field, version)
            setattr(result, field.name, [value, value] if field.is_array else value)
    if version in message.FLEXIBLE_VERSIONS:
        result.unknown_tagged_fields = [(9000, b"unknown")]
    return result


def _value(message: Any, field: Field, version: int) -> Any:
    if field.is_struct:
        return _fill(message, field.struct_class(message), version)
    return _VALUES.get(str(field.element_type), 3)


def request_bytes(name: str, version: int, correlation_id: int = 5) -> bytes:
    """A filled request behind its header, without length prefix."""
    message = filled(name, version)
    header = registry.request_header(
        message, version, correlation_id=correlation_id, client_id="tester"
    )
    return registry.encode_request(header, message)


def response_bytes(name: str, version: int, correlation_id: int = 5) -> bytes:
    """A filled response behind its header, without length prefix."""
    message = filled(name, version)
    request = registry.request_header(message, version, correlation_id=correlation_id)
    return registry.encode_response(request, message)
