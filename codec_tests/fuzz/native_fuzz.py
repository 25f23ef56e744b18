"""Drives the native engine with random and damaged messages, beside the emitted code.

    python -m fuzz.native_fuzz --seconds 120

Every message of the set in every version: what it encodes and decodes is compared with the
emitted code, and what it refuses is left to it. `sanitized` runs this under sanitizers, which
end the process at the first access out of bounds; by itself it finds differences.
"""

from __future__ import annotations

import inspect
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module

import click

from kraftwire_messages.kafka import registry
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.message import Message
from kraftwire_wire.specialized_source import GIVES_UP

from fuzz.mutants import mutants
from strategies import random_message, same

MUTANTS = 40
ENGINE_MODULE = "kraftwire_wire._objects"


class Counts:
    """What was done so far."""

    def __init__(self) -> None:
        self.messages = self.mutants = self.read = 0


def fuzz_version(cls: type[Message], version: int, rng: random.Random, counts: Counts) -> None:
    """One message in one version, whole and damaged."""
    make = native_codec()
    assert make is not None, "the native part is not compiled"
    native, emitted = make(cls, version), Codec(cls, version)
    value = random_message(cls, version, rng, unknown_tags=rng.random() < 0.2)
    data = emitted.encode(value)
    assert native.encode(value) == data, (cls, version, data)
    assert same(native.decode(data), value), (cls, version, data)
    counts.messages += 1
    for mutant in mutants(data, MUTANTS, rng):
        counts.mutants += 1
        for start in (0, rng.randrange(len(mutant) + 1)):
            try:
                decoded, end = native.read(mutant, start)
            except GIVES_UP:
                continue
            counts.read += 1
            expected, expected_end = emitted.decode_from(mutant, start)
            assert (end, same(decoded, expected)) == (expected_end, True), (cls, version, mutant)


def run(seconds: float, seed: int, report: Callable[[str], None]) -> Counts:
    """Go through all messages again and again until the time is over."""
    rng = random.Random(seed)
    versions = [
        (registry.message(name), version)
        for name in registry
        for version in registry.message(name).VALID_VERSIONS
    ]
    counts = Counts()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rng.shuffle(versions)
        for cls, version in versions:
            fuzz_version(cls, version, rng, counts)
            if time.monotonic() > end:
                break
    report(f"{counts.messages} messages, {counts.mutants} damaged, {counts.read} of them read")
    return counts


@click.command()
@click.option("--seconds", type=float, default=600, show_default=True, help="How long.")
@click.option("--seed", type=int, help="Where the random numbers start; printed at the end.")
def main(seconds: float, seed: int | None) -> None:
    """Fuzz the native engine."""
    chosen = seed if seed is not None else random.SystemRandom().randrange(1 << 32)
    click.echo(f"{inspect.getfile(import_module(ENGINE_MODULE))}, seed {chosen}")
    run(seconds, chosen, click.echo)


if __name__ == "__main__":
    sys.exit(main())
