"""Finds where an encoded message differs from what encoding it again writes.

An encoding is canonical if decoding and encoding it returns the same bytes. Readers accept more
than writers write: tagged fields with their default, booleans above 1, varints with surplus bytes,
negative numbers other than -1 for null. `Message.is_canonical` returns whether an encoding is
canonical, and `deviations` where it is not and why:

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
"""The default limit on the number of deviations."""


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
    hundreds of levels deep. With `lenient`, the list ends at the first value that only lenient
    reading accepts, since nothing after it can be compared.
    """
    return _deviations(message, data, version, 0, lenient, limit, fills_data=True)


def deviations_from(
    message: type[Message],
    data: bytes,
    version: int,
    position: int = 0,
    *,
    lenient: bool = False,
    limit: int = MAX_DEVIATIONS,
) -> list[Deviation]:
    """Return the deviations of a message that starts at `position`; bytes may follow it."""
    return _deviations(message, data, version, position, lenient, limit, fills_data=False)


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
    found += _deviations(cls, frame, version, start, lenient, MAX_DEVIATIONS, fills_data=True)
    return found[:MAX_DEVIATIONS]


def summary(found: Iterable[Deviation]) -> str:
    """Summarize deviations by kind, as in `not canonical: 33 bytes of defaults in tag 0`."""
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


def _deviations(
    message: type[Message],
    data: bytes,
    version: int,
    position: int,
    lenient: bool,
    limit: int,
    *,
    fills_data: bool,
) -> list[Deviation]:
    """Read a message strictly; with `lenient`, add the error that stops it as a deviation."""
    codec = message.codec(version)
    if not isinstance(data, bytes):
        data = memoryview(data).tobytes()
    if lenient:
        codec.decode_from(data, position, lenient=True)  # raises if even this fails
    flexible = version in message.FLEXIBLE_VERSIONS
    reader_class = CompactNotingReader if flexible else ClassicNotingReader
    reader: NotingReader = reader_class(data, position, limit)
    refusals = []
    try:
        reader.enter("")
        reader.leave(message._decode(reader, version), version)
        if fills_data:
            codec.check_end(data, reader.position)
    except DecodeError as error:
        if not lenient:
            raise
        offset = len(data) if error.offset is None else error.offset
        refusals.append(Deviation(error.path, offset, 0, error.reason, error.reason))
    except RecursionError:
        reason = "its structs nest too deeply to be compared"
        raise KraftwireError(f"{message.__name__}: {reason}") from None
    found = sorted(reader.deviations, key=lambda one: one.offset)
    return [*found, *refusals][:limit]
