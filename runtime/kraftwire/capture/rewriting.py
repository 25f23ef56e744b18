"""Addresses of brokers in messages, rewritten by schema.

An address is a pair of fields `host` and `port` in one struct, wherever `LAYOUT` has them;
no API is known by name. One field is left out: `user_endpoint` names no broker, but where
one application of Kafka Streams finds another (KIP-1071).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kraftwire_wire.message import Message, Struct

AddressOf = Callable[[str, int], tuple[str, int] | None]
"""What takes the place of an address; None where it stays."""

Plan = tuple[bool, tuple[str, ...]]
"""Whether a struct holds an address, and which of its fields lead to others."""

_PLANS: dict[tuple[type[Any], type[Any]], Plan] = {}
_NO_BROKER = "user_endpoint"


def rewrite_addresses(message: Message, address_of: AddressOf) -> bool:
    """Replace every address for which there is another; True where something changed."""
    changed = False
    for struct in _holders(type(message), message):
        new = address_of(struct.host, struct.port)
        if new is not None and new != (struct.host, struct.port):
            struct.host, struct.port = new
            changed = True
    return changed


def addresses_in(message: Message) -> list[tuple[str, int]]:
    """The addresses that a message names, in their order, each once."""
    holders = _holders(type(message), message)
    return list(dict.fromkeys((struct.host, struct.port) for struct in holders))


def _holders(owner: type[Any], struct: Struct) -> Iterator[Any]:
    """The structs with an address, from the outside in.

    A host without a name and a port of 0 or less are what brokers write where they have none.
    """
    is_holder, inner = _plan(owner, type(struct))
    if is_holder and struct.host and struct.port > 0:  # type: ignore[attr-defined]
        yield struct
    for name in inner:
        value: Any = getattr(struct, name)
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield from _holders(owner, item)


def _plan(owner: type[Any], struct: type[Any]) -> Plan:
    """What there is to do in a struct of a message; worked out once."""
    known = _PLANS.get((owner, struct))
    if known is not None:
        return known
    types = {field.name: field.type for field in struct.LAYOUT.fields}
    is_holder = types.get("host") == "string" and types.get("port") in ("int32", "uint16")
    inner = []
    for field in struct.LAYOUT.fields:
        if field.is_struct and field.name != _NO_BROKER:
            below, deeper = _plan(owner, field.struct_class(owner))
            if below or deeper:
                inner.append(field.name)
    plan = _PLANS[owner, struct] = is_holder, tuple(inner)
    return plan
