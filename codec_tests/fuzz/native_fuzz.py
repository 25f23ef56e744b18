"""Drives the native engines with random and damaged input, beside plain Python.

    python -m codec_tests.fuzz.native_fuzz --seconds 120

Every message of the set in every version, alone and as rows of a column; real segments whose
batches are damaged. What the native engines make is compared with what plain Python makes. Messages
with hostile values in them, whose code changes the message or encodes it again, are encoded.
`sanitized` runs this under sanitizers, which end the process at the first access out of
bounds; by itself it finds differences.
"""

from __future__ import annotations

import inspect
import random
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import click
import pyarrow as pa

from kraftwire.columns.engine import native_columns
from kraftwire.log.directories.file_names import BATCH_FILES
from kraftwire_messages.kafka import registry
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.message import Message
from kraftwire_wire.specialized_source import GIVES_UP

from codec_tests.columns.engines import ENGINES, batches_alike, messages_alike
from codec_tests.columns.sequences import batches_near_the_limits
from codec_tests.fuzz.hostile import hostile_message
from codec_tests.fuzz.mutants import mutants
from codec_tests.log.file_mutants import damaged_with_crc, mutant
from codec_tests.stored_files import stored_files
from codec_tests.strategies import random_message, same

MUTANTS = 40
HOSTILE = 10
FILES_A_MESSAGE = 0.5
LIMIT = 1 << 20
MODULES = ("kraftwire_wire._objects", "kraftwire.columns._columns")


class Counts:
    """What was done so far."""

    def __init__(self) -> None:
        self.messages = self.mutants = self.read = self.files = self.hostile = 0


def fuzz_version(cls: type[Message], version: int, rng: random.Random, counts: Counts) -> None:
    """One message in one version, whole and damaged, as an object and as rows."""
    make = native_codec()
    assert make is not None, "the native part is not compiled"
    native, emitted = make(cls, version), Codec(cls, version)
    value = random_message(cls, version, rng, unknown_tags=rng.random() < 0.2)
    data = emitted.encode(value)
    assert native.encode(value) == data, (cls, version, data)
    assert same(native.decode(data), value), (cls, version, data)
    counts.messages += 1
    damaged = list(mutants(data, MUTANTS, rng))
    for mutated in damaged:
        counts.mutants += 1
        for start in (0, rng.randrange(len(mutated) + 1)):
            try:
                decoded, end = native.read(mutated, start)
            except GIVES_UP:
                continue
            counts.read += 1
            expected, expected_end = emitted.decode_from(mutated, start)
            assert (end, same(decoded, expected)) == (expected_end, True), (cls, version, mutated)
    messages_alike(cls, version, pa.array([data, None, *damaged], pa.binary()))
    read_alone(cls, version, damaged)
    write_hostile(native, rng, counts)


def write_hostile(native: Any, rng: random.Random, counts: Counts) -> None:
    """Messages whose values lie, raise, and change the message while it is encoded."""
    for _ in range(HOSTILE):
        message = hostile_message(native.message, native.version, native.encode, rng)
        counts.hostile += 1
        with suppress(EncodeError):
            native.decode(native.encode(message))
        with suppress(*GIVES_UP):
            native.write(message)


def read_alone(cls: type[Message], version: int, rows: list[bytes]) -> None:
    """Rows of one message, each at the very end of its memory, where sanitizers look."""
    native: Any = native_columns()
    columns = native.MessageColumns(cls)
    begins, versions = array("i", [0]), array("h", [version])
    for row in rows:
        columns.read(row, begins, array("i", [len(row)]), versions, 0)


def fuzz_file(contents: list[bytes], rng: random.Random, counts: Counts) -> None:
    """A segment with damage that its CRCs tell, and with damage that they do not."""
    counts.files += 1
    content = rng.choice(contents)
    control, chunk = rng.random() < 0.5, rng.choice((1, 2000, 1 << 20))
    for data in (mutant(content, rng.choice(contents), rng), damaged_with_crc(content, rng)):
        batches_alike(data, control=control, chunk=chunk, limit=LIMIT)


def run(seconds: float, seed: int, report: Callable[[str], None]) -> Counts:
    """Go through all messages again and again until the time is over."""
    rng = random.Random(seed)
    versions = [
        (registry.message(name), version)
        for name in registry
        for version in registry.message(name).VALID_VERSIONS
    ]
    contents = [file.path.read_bytes() for file in stored_files(*BATCH_FILES)]
    contents = [content for content in contents if content]
    counts = Counts()
    for data, numbers in batches_near_the_limits():
        assert batches_alike(data).table["sequence"].to_pylist() == numbers
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rng.shuffle(versions)
        for cls, version in versions:
            fuzz_version(cls, version, rng, counts)
            if rng.random() < FILES_A_MESSAGE:
                fuzz_file(contents, rng, counts)
            if time.monotonic() > end:
                break
    report(
        f"{counts.messages} messages, {counts.mutants} damaged, {counts.read} of them read; "
        f"{counts.hostile} hostile; {counts.files} files"
    )
    return counts


@click.command()
@click.option("--seconds", type=float, default=600, show_default=True, help="How long.")
@click.option("--seed", type=int, help="Where the random numbers start; printed at the start.")
def main(seconds: float, seed: int | None) -> None:
    """Fuzz the native engines."""
    assert "native" in ENGINES, "the native columns are not compiled"
    chosen = seed if seed is not None else random.SystemRandom().randrange(1 << 32)
    for module in MODULES:
        click.echo(inspect.getfile(import_module(module)))
    click.echo(f"seed {chosen}")
    run(seconds, chosen, click.echo)


if __name__ == "__main__":
    sys.exit(main())
