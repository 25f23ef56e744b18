"""Broker addresses in messages, found by schema.

An address is a pair of fields `host` and `port` in one struct, in any message. `user_endpoint` is
left unchanged: it is not a broker, but the instance of a Kafka Streams application (KIP-1071).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kraftwire.capture.struct_search import StructSearch
from kraftwire_wire.layout import Layout
from kraftwire_wire.message import Message

AddressOf = Callable[[str, int], tuple[str, int] | None]
"""Returns what replaces an address, or None to keep it."""

_USER_ENDPOINT = "user_endpoint"


def rewrite_addresses(message: Message, address_of: AddressOf) -> bool:
    """Replace the addresses for which `address_of` has another; return whether any changed."""
    changed = False
    for struct in _structs_with_address(message):
        new = address_of(struct.host, struct.port)
        if new is not None and new != (struct.host, struct.port):
            struct.host, struct.port = new
            changed = True
    return changed


def addresses_in(message: Message) -> list[tuple[str, int]]:
    """Return the addresses in a message, in their order, each once."""
    return list(dict.fromkeys((one.host, one.port) for one in _structs_with_address(message)))


def _has_address(layout: Layout) -> bool | None:
    types = {field.name: field.type for field in layout.fields}
    return True if types.get("host") == "string" and types.get("port") in _PORTS else None


_PORTS = ("int32", "uint16")
_SEARCH = StructSearch(_has_address, lambda field: field.name != _USER_ENDPOINT)


def _structs_with_address(message: Message) -> Iterator[Any]:
    """Yield the structs with an address; an empty host or a port below 1 means that it has none."""
    return (struct for struct, _ in _SEARCH.find(message) if struct.host and struct.port > 0)
