"""Where the time of a read goes: the phases of a task, each added to the one before, as a chart.

The phases run in this process on the same bytes: read the file, compute CRCs, decode, convert to
Spark's types, and write an Arrow stream as a task does. What Spark takes beyond that, on both
cores, is its own: it starts tasks, receives the stream, and makes rows of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from crc32c import crc32c

from kraftwire.columns import decode_batches
from kraftwire.columns.batches import PIECE
from kraftwire.log import FileSource
from pyspark_kraftwire.columns.projection import project
from pyspark_kraftwire.columns.record_columns import default_schema
from pyspark_kraftwire.columns.record_kinds import requested_kinds
from pyspark_kraftwire.decoding.split_reader import SplitReader
from pyspark_kraftwire.options import parse_options
from pyspark_kraftwire.planning.plan import plan

from codec_tests.bench.logs import read_file, take_turns

CORES = 2
PHASES = ("read the file", "CRC-32C", "decode", "Spark's types", "write Arrow", "Spark itself")
_COLOURS = ("#4c78a8", "#72b7b2", "#54a24b", "#eeca3b", "#f58518", "#b0b0b0")
_BATCH = 16 << 10


class Bar(NamedTuple):
    """A read: its title, and the core-seconds of each phase."""

    title: str
    seconds: Sequence[float]


def measure(title: str, path: Path, columns: Sequence[str] | None, wall: float) -> Bar:
    """Return the phases of a read of a segment that took Spark `wall` seconds."""
    options = parse_options({"path": str(path)})
    schema = default_schema(options, requested_kinds(options))
    schema = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    reading = SplitReader(options, project(schema, options, ()))
    splits = [split for task in plan(options) for split in task]
    names = reading.projection.needs(options)
    piece = bytearray(PIECE)
    steps: dict[str, Callable[[], object]] = {
        PHASES[0]: partial(read_file, path, piece),
        PHASES[1]: partial(_read_and_sum, path, piece),
        PHASES[2]: partial(_decode, path, names),
        PHASES[3]: lambda: [None for _ in reading.read(splits)],
        PHASES[4]: lambda: _write(reading.read(splits), schema),
    }
    ends = [*take_turns(steps, 4).values(), wall * CORES]
    starts = [0.0, *ends[:-1]]
    return Bar(title, [max(end - start, 0) for start, end in zip(starts, ends, strict=True)])


def _read_and_sum(path: Path, piece: bytearray) -> None:
    view = memoryview(piece)
    with FileSource(path) as source:
        for position in range(0, source.size, len(piece)):
            source.read_into(position, piece)
            for start in range(0, len(piece), _BATCH):
                crc32c(view[start : start + _BATCH])


def _decode(path: Path, names: Sequence[str]) -> None:
    with FileSource(path) as source:
        for _ in decode_batches(source, names):
            pass


def _write(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    with Path(os.devnull).open("wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)


_WIDTH, _LEFT, _HEIGHT, _STEP = 860, 210, 34, 50


def picture(bars: Sequence[Bar], note: str) -> str:
    """Draw the bars as SVG, with a legend."""
    scale = (_WIDTH - _LEFT - 90) / max(sum(bar.seconds) for bar in bars)
    height = 110 + len(bars) * _STEP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="14">',
        _box(0, 0, _WIDTH, height, "#ffffff"),
        *_legend(),
    ]
    for number, bar in enumerate(bars):
        lines += _drawn(bar, 56 + number * _STEP, scale)
    lines += [_text(16, height - 16, note, colour="#555555"), "</svg>"]
    return "\n".join(lines) + "\n"


def _legend() -> Iterator[str]:
    at = 16.0
    for name, colour in zip(PHASES, _COLOURS, strict=True):
        yield _box(at, 16, 14, 14, colour)
        yield _text(at + 20, 28, name)
        at += 44 + 7.6 * len(name)


def _drawn(bar: Bar, top: float, scale: float) -> Iterator[str]:
    middle = top + _HEIGHT / 2 + 5
    yield _text(_LEFT - 12, middle, bar.title, anchor="end")
    at = float(_LEFT)
    for seconds, colour in zip(bar.seconds, _COLOURS, strict=True):
        wide = seconds * scale
        yield _box(at, top, wide, _HEIGHT, colour)
        if wide > _HEIGHT:
            yield _text(at + wide / 2, middle, f"{seconds:.2f}", anchor="middle")
        at += wide
    yield _text(at + 8, middle, f"{sum(bar.seconds):.2f} s")


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#000000") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text)}</text>'
