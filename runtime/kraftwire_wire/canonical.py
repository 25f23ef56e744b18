"""Where bytes differ from what encoding their message writes.

Decoding and encoding again gives the same bytes for canonical encodings. Readers accept more than
writers write: tagged fields that hold their default, booleans above 1, varints that are longer
than they need to be, other negative numbers for null. `Message.is_canonical` says whether that is
so, and `deviations` says where and why:

    if not FetchResponse.is_canonical(data, version):
        for deviation in deviations(FetchResponse, data, version):
            print(deviation)      # responses[0].partitions[0].snapshot_id: 15 bytes of ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kraftwire_wire.errors import DecodeError, KraftwireError, count_of
from kraftwire_wire.noting_reader import (
    DEFAULTS,
    ClassicNotingReader,
    CompactNotingReader,
    Deviation,
    NotingReader,
)

if TYPE_CHECKING:
    from kraftwire_wire.message import Message

__all__ = [
    "MAX_DEVIATIONS",
    "Deviation",
    "deviations",
    "deviations_from",
    "frame_deviations",
    "summary",
]

MAX_DEVIATIONS = 100
"""How many deviations are described unless the caller says otherwise."""


def deviations(
    message: type[Message],
    data: bytes,
    version: int,
    *,
    lenient: bool = False,
    limit: int = MAX_DEVIATIONS,
) -> list[Deviation]:
    """Return where a message that fills `data` is not canonical, in the order of the bytes.

    The list is empty if and only if `message.is_canonical(data, version)`, and has at most
    `limit` elements. Raises as `Message.decode` does, and `KraftwireError` for structs that nest
    hundreds of levels deep. With `lenient`, what only lenient reading accepts is the last
    deviation, since nothing after it can be compared.
    """
    return _whole(message, data, version, 0, lenient, limit)


def deviations_from(
    message: type[Message],
    data: bytes,
    version: int,
    position: int = 0,
    *,
    lenient: bool = False,
    limit: int = MAX_DEVIATIONS,
) -> list[Deviation]:
    """Return the deviations of a message that starts at `position`, whatever follows it."""
    found, _, refusal = _walk(message, data, version, position, lenient, limit)
    return _with_refusal(found, refusal, len(data))[:limit]


def frame_deviations(
    header: tuple[type[Message], int] | None,
    message: tuple[type[Message], int],
    frame: bytes,
    *,
    lenient: bool = False,
) -> list[Deviation]:
    """Return the deviations of a header and the message after it, each a class and a version."""
    found: list[Deviation] = []
    start = 0
    if header is not None:
        cls, version = header
        _, start = cls.codec(version).decode_from(frame, lenient=lenient)
        found = deviations_from(cls, frame[:start], version, lenient=lenient)
    cls, version = message
    found += _whole(cls, frame, version, start, lenient, MAX_DEVIATIONS)
    return found[:MAX_DEVIATIONS]


def summary(found: Iterable[Deviation]) -> str:
    """Return `not canonical: 33 bytes of defaults in tag 0`, with as many parts as kinds."""
    kinds: dict[str, list[Deviation]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    parts = []
    for kind, same in kinds.items():
        if kind.startswith(DEFAULTS):
            parts.append(f"{count_of(sum(one.size for one in same), 'byte')} of {kind}")
        elif len(same) == 1:
            parts.append(same[0].reason)
        else:
            parts.append(f"{len(same)} {kind}s in another form")
    return f"not canonical: {', '.join(parts)}"


def _whole(
    message: type[Message], data: bytes, version: int, position: int, lenient: bool, limit: int
) -> list[Deviation]:
    """Return the deviations of a message that fills the data from a position on."""
    found, end, refusal = _walk(message, data, version, position, lenient, limit)
    try:
        if refusal is None:
            message.codec(version).check_end(data, end)
    except DecodeError as error:
        if not lenient:
            raise
        refusal = error
    return _with_refusal(found, refusal, len(data))[:limit]


def _walk(
    message: type[Message], data: bytes, version: int, position: int, lenient: bool, limit: int
) -> tuple[list[Deviation], int, DecodeError | None]:
    """Read strictly and note what deviates; with `lenient`, return the error that ends it."""
    codec = message.codec(version)
    if not isinstance(data, bytes):
        data = memoryview(data).tobytes()
    if lenient:
        codec.decode_from(data, position, lenient=True)  # raises if even that cannot be done
    flexible = version in message.FLEXIBLE_VERSIONS
    reader: NotingReader = (CompactNotingReader if flexible else ClassicNotingReader)(
        data, position
    )
    reader.begin(limit)
    refusal = None
    try:
        reader.enter("")
        reader.leave(message._decode(reader, version), version)
    except DecodeError as error:
        if not lenient:
            raise
        refusal = error
    except RecursionError:
        reason = "its structs nest too deeply to be compared"
        raise KraftwireError(f"{message.__name__}: {reason}") from None
    return sorted(reader.found, key=lambda one: one.offset), reader.position, refusal


def _with_refusal(found: list[Deviation], refusal: DecodeError | None, end: int) -> list[Deviation]:
    if refusal is None:
        return found
    offset = end if refusal.offset is None else refusal.offset
    return [*found, Deviation(refusal.path, offset, 0, refusal.reason, refusal.reason)]
