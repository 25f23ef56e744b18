"""Whatever the bytes, a decoder returns a message or raises `DecodeError`, and nothing else.

Over every message at every version: what strict reading accepts can be written again and
then reads back as the same message; an error names an offset within the input; lenient
reading accepts all that strict reading does. `make fuzz` draws fifty times as many mutants.
"""

from __future__ import annotations

import random
import tracemalloc

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.message import Message

from codec_tests.fuzz.mutants import mutants
from codec_tests.strategies import random_message, same

QUICK, NIGHTLY = 20, 1000
# A Python object for each element: the densest of all arrays takes 81 bytes for a byte.
BYTES_PER_INPUT_BYTE = 200
BYTES_AT_LEAST = 100_000


@pytest.mark.parametrize("name", list(registry))
def test_mutants_decode_or_raise_decode_error(name: str) -> None:
    _sweep(name, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("name", list(registry))
def test_many_mutants_decode_or_raise_decode_error(name: str) -> None:
    _sweep(name, NIGHTLY)


@pytest.mark.parametrize("name", list(registry))
def test_truncation_at_every_byte_is_a_decode_error(name: str) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS:
        rng = random.Random(f"{name} {version}")
        data = random_message(cls, version, rng).encode(version)
        for end in range(len(data)):
            with pytest.raises(DecodeError):
                cls.decode(data[:end], version)


@pytest.mark.parametrize("name", ["FetchResponse", "MetadataResponse", "ProduceRequest"])
def test_memory_stays_within_a_small_multiple_of_damaged_input(name: str) -> None:
    cls = registry.message(name)
    version = cls.VALID_VERSIONS[-1]
    rng = random.Random(name)
    data = random_message(cls, version, rng).encode(version)
    for mutant in mutants(data, 300, rng):
        assert _peak_memory(cls, version, mutant) < _memory_limit(mutant), mutant.hex()


@pytest.mark.parametrize("name", list(registry))
def test_memory_stays_within_a_small_multiple_of_the_densest_arrays(name: str) -> None:
    cls = registry.message(name)
    version = cls.VALID_VERSIONS[-1]
    for field in cls.LAYOUT.fields:
        if field.is_array and field.is_struct and version in field.versions:
            message = cls()
            setattr(message, field.name, [field.struct_class(cls)()] * 2000)
            data = message.encode(version)
            assert _peak_memory(cls, version, data) < _memory_limit(data), field.name


def _peak_memory(cls: type[Message], version: int, data: bytes) -> int:
    """The most memory taken while reading; without what a codec takes once, at its first use."""
    _decode(cls, version, b"")
    tracemalloc.start()
    _decode(cls, version, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _memory_limit(data: bytes) -> int:
    return BYTES_AT_LEAST + BYTES_PER_INPUT_BYTE * len(data)


def _sweep(name: str, count: int) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS:
        rng = random.Random(f"{name} {version} {count}")
        data = random_message(cls, version, rng).encode(version)
        for mutant in mutants(data, count, rng):
            try:
                _check(cls, version, mutant)
            except Exception as error:
                error.add_note(f"{name} version {version}, bytes {mutant.hex()}")
                raise


def _check(cls: type[Message], version: int, data: bytes) -> None:
    lenient = _decode(cls, version, data, lenient=True)
    message = _decode(cls, version, data)
    if message is None:
        return
    assert lenient is not None
    assert same(lenient, message)
    written = message.encode(version)
    assert same(cls.decode(written, version), message)
    assert cls.decode(written, version).encode(version) == written


def _decode(
    cls: type[Message], version: int, data: bytes, *, lenient: bool = False
) -> Message | None:
    try:
        return cls.decode(data, version, lenient=lenient)
    except DecodeError as error:
        assert error.offset is not None
        assert 0 <= error.offset <= len(data)
        return None
