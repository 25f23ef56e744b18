"""Checks that decoding and encoding take time in proportion to the size of the input.

Measures each case at one size and at ten times that size, and prints the ratio of the best times:
about 10 is linear, about 100 would be quadratic. Some cases are attacks. Run it with `make bench`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    FetchResponse,
    MetadataResponse,
    ProduceRequest,
    SyncGroupRequest,
)
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.framing import FrameSplitter

from codec_tests.bench.logs import take_turns

ROUNDS = 15
LIMIT = 30.0
"""Far above the noise of a busy machine, far below quadratic."""

Case = tuple[str, Callable[[int], Callable[[], object]]]


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint, for input that no encoder writes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def metadata(size: int) -> MetadataResponse:
    """Return a response with many topics."""
    partition = MetadataResponse.MetadataResponsePartition(replica_nodes=[1, 2, 3])
    topic = MetadataResponse.MetadataResponseTopic(name="topic", partitions=[partition] * 4)
    return MetadataResponse(topics=[topic] * size)


def decode_many_structs(size: int) -> Callable[[], object]:
    """A list of structs that contain lists."""
    data, codec = metadata(size).encode(12), MetadataResponse.codec(12)
    return lambda: codec.decode(data)


def encode_many_structs(size: int) -> Callable[[], object]:
    """The same message, encoded."""
    message, codec = metadata(size), MetadataResponse.codec(12)
    return lambda: codec.encode(message)


def decode_large_bytes(size: int) -> Callable[[], object]:
    """One large bytes field."""
    partition = FetchResponse.PartitionData(records=bytes(size * 2000))
    response = FetchResponse.FetchableTopicResponse(partitions=[partition])
    data, codec = FetchResponse(responses=[response]).encode(17), FetchResponse.codec(17)
    return lambda: codec.decode(data)


def decode_many_unknown_tags(size: int) -> Callable[[], object]:
    """A tag section with only unknown tags."""
    tags = b"".join(uvarint(tag) + b"\x00" for tag in range(100, 100 + size * 10))
    data = b"\x01\x01" + uvarint(size * 10) + tags
    codec = ApiVersionsRequest.codec(3)
    return lambda: codec.decode(data)


def decode_false_counts(size: int) -> Callable[[], object]:
    """Empty arrays, each of which could claim as many elements as bytes remain."""
    data = b"\x00\x00\x00\x00\x00\x00" + (size * 10 + 1).to_bytes(4) * (size * 10)
    codec = ProduceRequest.codec(3)
    return lambda: _expect_error(lambda: codec.decode(data))


def encode_large_blobs(size: int) -> Callable[[], object]:
    """Many byte strings."""
    assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id="m", assignment=b"x" * 100)
    message, codec = SyncGroupRequest(assignments=[assignment] * size), SyncGroupRequest.codec(5)
    return lambda: codec.encode(message)


def split_in_small_pieces(size: int) -> Callable[[], object]:
    """One large frame that arrives in pieces of 100 bytes."""
    stream = (size * 1000).to_bytes(4) + bytes(size * 1000)

    def split() -> object:
        splitter = FrameSplitter()
        return [splitter.feed(stream[at : at + 100]) for at in range(0, len(stream), 100)]

    return split


CASES: tuple[Case, ...] = (
    ("decode many structs", decode_many_structs),
    ("encode many structs", encode_many_structs),
    ("decode large bytes", decode_large_bytes),
    ("decode many unknown tags", decode_many_unknown_tags),
    ("decode false counts", decode_false_counts),
    ("encode many byte strings", encode_large_blobs),
    ("split a frame in small pieces", split_in_small_pieces),
)


def _expect_error(action: Callable[[], object]) -> None:
    try:
        action()
    except DecodeError:
        return
    raise AssertionError("this input should have been refused")


def _best(small: Callable[[], object], large: Callable[[], object]) -> tuple[float, float]:
    best = take_turns({"small": small, "large": large}, ROUNDS, time.process_time)
    return best["small"], best["large"]


def measure(size: int = 200) -> list[tuple[str, float, float]]:
    """Return each case's name and its seconds at the size and at ten times the size."""
    return [(name, *_best(make(size), make(size * 10))) for name, make in CASES]


def main() -> int:
    """Print the table; return 1 if a case is not linear."""
    rows = measure()
    print(f"{'case':32}{'1 x, us':>12}{'10 x, us':>12}{'ratio':>8}")
    for name, small, large in rows:
        print(f"{name:32}{small * 1e6:12.0f}{large * 1e6:12.0f}{large / small:8.1f}")
    slow = [name for name, small, large in rows if large / small > LIMIT]
    if slow:
        print(f"not linear (ratio above {LIMIT:.0f}): {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
