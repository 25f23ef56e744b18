"""Checkpoint files: lines of text after a version and a count.

0                       version
2                       entries
tea 0 17                topic, partition, offset: the four offset checkpoints
0 12                    epoch, its first offset: leader-epoch-checkpoint

Kafka creates these files empty: an empty file has no entries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from kraftwire.log.errors import CorruptBatch

_VERSION = 0


class TopicPartition(NamedTuple):
    """A partition of a topic, by the topic's name."""

    topic: str
    partition: int


class EpochEntry(NamedTuple):
    """A leader epoch, and the offset of its first record."""

    epoch: int
    start_offset: int


def decode_offset_checkpoint(data: bytes, file: str = "<bytes>") -> dict[TopicPartition, int]:
    """Return the offsets of an offset checkpoint."""
    offsets: dict[TopicPartition, int] = {}
    for position, words in _entries(data, file, 3):
        partition = TopicPartition(words[0], _number(words[1], file, position))
        if partition in offsets:
            raise CorruptBatch(file, position, f"{words[0]} {words[1]} occurs twice")
        offsets[partition] = _number(words[2], file, position)
    return offsets


def encode_offset_checkpoint(offsets: dict[TopicPartition, int]) -> bytes:
    """Return the content of an offset checkpoint."""
    return _encode(f"{at.topic} {at.partition} {offset}" for at, offset in offsets.items())


def decode_leader_epochs(data: bytes, file: str = "<bytes>") -> list[EpochEntry]:
    """Return the entries of a `leader-epoch-checkpoint`."""
    return [
        EpochEntry(_number(words[0], file, position), _number(words[1], file, position))
        for position, words in _entries(data, file, 2)
    ]


def epoch_at(entries: Sequence[EpochEntry], offset: int) -> int | None:
    """Return the leader epoch of an offset; None if it is before the first entry."""
    at = bisect_right(entries, offset, key=attrgetter("start_offset")) - 1
    return entries[at].epoch if at >= 0 else None


def encode_leader_epochs(entries: Iterable[EpochEntry]) -> bytes:
    """Return the content of a `leader-epoch-checkpoint`."""
    return _encode(f"{entry.epoch} {entry.start_offset}" for entry in entries)


def _encode(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in (_VERSION, len(entries), *entries)).encode()


def _entries(data: bytes, file: str, width: int) -> list[tuple[int, list[str]]]:
    """Return each entry's position in the file and its words."""
    if not data:
        return []
    lines = _lines(data, file)
    if len(lines) < 2:
        raise CorruptBatch(file, 0, "not a checkpoint: it has to begin with a version and a count")
    (_, version), (at, count), *entries = lines
    if version != str(_VERSION):
        raise CorruptBatch(file, 0, f"version {version!r}; only {_VERSION} is known")
    if _number(count, file, at) != len(entries):
        raise CorruptBatch(file, at, f"{len(entries)} entries, but the count is {count}")
    found = []
    for position, line in entries:
        words = line.split()
        if len(words) != width:
            raise CorruptBatch(file, position, f"{len(words)} words instead of {width}")
        found.append((position, words))
    return found


def _lines(data: bytes, file: str) -> list[tuple[int, str]]:
    lines = []
    position = 0
    for raw in data.split(b"\n"):
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            raise CorruptBatch(file, position, "not UTF-8 text") from None
        if line:
            lines.append((position, line))
        position += len(raw) + 1
    return lines


def _number(word: str, file: str, position: int) -> int:
    if not word.removeprefix("-").isdecimal() or len(word) > 20:
        raise CorruptBatch(file, position, f"{word[:40]!r} is not a number")
    return int(word)
