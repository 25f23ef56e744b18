"""Parses and checks the options of `spark.read.format("kraftwire")`.

Spark passes options as strings, with names in any case. An unknown name is an error, because a
misspelt `endingOffsets` would read everything.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TypeVar

from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.queries.typed_records import LOGS
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.json_text import RepeatedKey, parse_json

T = TypeVar("T")

EARLIEST, LATEST = -2, -1
"""Offsets that stand for the ends of a partition, as Kafka's clients write them."""

AUTO = "auto"
DECODERS = {
    "metadata": "cluster-metadata",
    "offsets": "group",
    "transactions": "transaction",
    "share": "share",
    "remote-log": "remote-log",
}
"""The values of `decode` except `auto`: the logs of `kraftwire.log.queries` by the users' names."""
assert set(DECODERS.values()) == set(LOGS)

MEBIBYTE = 1 << 20
FILE_SYSTEM = "fs."
"""The prefix of file system options, whose names are those of pyarrow.fs."""


class Mode(StrEnum):
    """What to do with unreadable bytes."""

    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"


@dataclass(frozen=True)
class Offsets:
    """An offset for each named partition, and one for all others."""

    default: int
    named: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def of(self, topic: str | None, partition: int | None) -> int:
        """Return the offset for a partition, `EARLIEST` or `LATEST`."""
        if topic is None or partition is None:
            return self.default
        return self.named.get((topic, partition), self.default)


@dataclass(frozen=True)
class Options:
    """The options of a read, with their defaults.

    Timestamps are in ms, sizes in bytes; `decode` is None, a log of `kraftwire.log.queries`,
    or `auto`.
    """

    paths: tuple[str, ...] = ()
    file_system: Mapping[str, str] = field(default_factory=dict, repr=False)  # has secrets
    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    starting_offsets: Offsets = field(default_factory=lambda: Offsets(EARLIEST))
    ending_offsets: Offsets = field(default_factory=lambda: Offsets(LATEST))
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None
    read_committed: bool = False
    include_headers: bool = False
    include_batch: bool = False
    include_control: bool = False
    mode: Mode = Mode.FAILFAST
    corrupt_column: str = "_corrupt_record"
    verify_crc: bool = True
    max_split_bytes: int | None = None
    max_batch_bytes: int = DEFAULT_LIMIT
    decode: str | None = None
    max_bytes_per_trigger: int | None = None
    max_records_per_trigger: int | None = None
    fail_on_data_loss: bool = True


def script_options(
    paths: Sequence[str], options: Mapping[str, str], **defaults: str
) -> dict[str, str]:
    """Return the options of a script as Spark would pass them: `defaults`, `options`, the paths."""
    named = {name.lower(): text for name, text in options.items()}
    return {**defaults, **named, "paths": json.dumps(paths)}


def parse_options(options: Mapping[str, str]) -> Options:
    """Parse the options that Spark passes; raise `KraftwireError` for bad names and values."""
    given = {name.lower(): value for name, value in options.items()}
    file_system = {
        name.removeprefix(FILE_SYSTEM): given.pop(name)
        for name in list(given)
        if name.startswith(FILE_SYSTEM)
    }
    for name in given:
        if name not in _KNOWN:
            raise KraftwireError(f"no option {name!r}{_suggestion(name)}")
    found: dict[str, object] = {"file_system": file_system, "paths": _paths(given)}
    for name, (attribute, parse) in _PARSERS.items():
        text = given.get(name.lower())
        if text is not None:
            try:
                found[attribute] = parse(text.strip())
            except (ValueError, OverflowError) as error:
                raise KraftwireError(f"option {name}: {error}") from None
    return Options(**found)  # type: ignore[arg-type]  # each parser returns what its field is


def _suggestion(name: str) -> str:
    names = {known.lower(): known for known in _PARSERS}
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {names[close[0]]}?"
    return f"; there are {', '.join(sorted(_PARSERS))}"


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths: `load(p)` sets the option `path`, `load([a, b])` sets `paths` to JSON."""
    if "paths" not in given:
        return (given["path"],) if given.get("path") else ()
    try:
        paths = parse_json(given["paths"])
    except ValueError:
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        reason = 'is not a JSON list of paths; pass several paths as .load(["/a", "/b"])'
        raise KraftwireError(f"option paths: {given['paths']!r} {reason}")
    return tuple(paths)


def parse_flag(text: str) -> bool:
    """Parse true or false; raise `ValueError` for anything else."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"{text!r} names no topic; two topics are tea,coffee")
    return names


def _numbers(text: str) -> frozenset[int]:
    """Parse numbers and ranges of them: `0,2,5-7`."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:-(\d{1,10}))?\s*", part)
        if match is None:
            raise ValueError(f"{part!r} is neither a partition nor a range like 0-3")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        if last - first >= 1 << 20:
            raise ValueError(f"{part!r} is more than a million partitions")
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def _offsets(text: str, *, default: int) -> Offsets:
    """Parse `earliest`, `latest`, an offset for all partitions, or Kafka's JSON for some."""
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text.lower() in words:
        return Offsets(words[text.lower()])
    form = f'{text!r} is neither earliest, latest, an offset, nor like {{"topic": {{"0": 17}}}}'
    try:
        found = parse_json(text)
    except RepeatedKey:
        raise
    except ValueError:
        raise ValueError(form) from None
    if isinstance(found, int) and not isinstance(found, bool):
        return Offsets(_offset(found))
    if not isinstance(found, dict) or not all(isinstance(of, dict) for of in found.values()):
        raise ValueError(form)
    named = {
        (topic, _partition(partition)): _offset(offset)
        for topic, offsets in found.items()
        for partition, offset in offsets.items()
    }
    return Offsets(default, named)


def _partition(text: str) -> int:
    if not re.fullmatch(r"\d{1,10}", text):
        raise ValueError(f"{text!r} is not a partition number")
    return int(text)


def _offset(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not EARLIEST <= number < 1 << 63:
        raise ValueError(f"{number!r} is not an offset; -2 is the earliest, -1 the latest")
    return number


def _time(text: str) -> int:
    """Parse milliseconds since 1970, or an ISO 8601 date and time, in UTC unless it has a zone.

    A fraction of a millisecond is rounded up: record timestamps are whole milliseconds, so the
    same ones stay at or after the time, and before it.
    """
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        form = f"{text!r} is neither milliseconds nor a time like 2026-03-01T12:00:00Z"
        raise ValueError(form) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return -((_EPOCH - time) // timedelta(milliseconds=1))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": MEBIBYTE, "g": 1 << 30}


def _size(text: str) -> int:
    """Parse bytes, or KiB, MiB, GiB: `134217728`, `128m`."""
    match = re.fullmatch(r"(\d{1,15})\s*([bkmg]?)(?:i?b)?", text.lower())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r} is not a size like 128m")
    return int(match[1]) * _UNITS[match[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text) or int(text) == 0:
        raise ValueError(f"{text!r} is not a positive number")
    return int(text)


def _choice(choices: Mapping[str, T]) -> Callable[[str], T]:
    """Return a parser for some words, in any case."""

    def parse(text: str) -> T:
        for name, value in choices.items():
            if name.lower() == text.lower():
                return value
        raise ValueError(f"{text!r} is not one of {', '.join(choices)}")

    return parse


def _column(text: str) -> str:
    if not text:
        raise ValueError("a column name cannot be empty")
    return text


_PARSERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "topics": ("topics", _names),
    "partitions": ("partitions", _numbers),
    "startingOffsets": ("starting_offsets", partial(_offsets, default=EARLIEST)),
    "endingOffsets": ("ending_offsets", partial(_offsets, default=LATEST)),
    "startingTimestamp": ("starting_timestamp", _time),
    "endingTimestamp": ("ending_timestamp", _time),
    "isolation": (
        "read_committed",
        _choice({"read_uncommitted": False, "read_committed": True}),
    ),
    "includeHeaders": ("include_headers", parse_flag),
    "includeBatch": ("include_batch", parse_flag),
    "includeControl": ("include_control", parse_flag),
    "mode": ("mode", _choice({mode.value: mode for mode in Mode})),
    "columnNameOfCorruptRecord": ("corrupt_column", _column),
    "verifyCrc": ("verify_crc", parse_flag),
    "maxSplitBytes": ("max_split_bytes", _size),
    "maxBatchBytes": ("max_batch_bytes", _size),
    "decode": ("decode", _choice({**DECODERS, AUTO: AUTO})),
    "maxBytesPerTrigger": ("max_bytes_per_trigger", _size),
    "maxRecordsPerTrigger": ("max_records_per_trigger", _count),
    "failOnDataLoss": ("fail_on_data_loss", parse_flag),
}
"""The options by their names: the attribute of `Options`, and the parser."""

_KNOWN = {"path", "paths", *(name.lower() for name in _PARSERS)}
