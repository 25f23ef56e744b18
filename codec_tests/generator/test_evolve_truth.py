"""What `evolve` lets pass is tried on the wire: random specs, random edits, generated codecs.

Where no error is told of a version, every message that one side writes in it must be read
by the other, and come back as the same bytes. (That each error is a break indeed is shown
case by case in test_evolve.)
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from kraftwire_generator.comparing.evolve import evolve_message
from kraftwire_generator.errors import SpecError
from kraftwire_generator.parse import parse_message
from kraftwire_generator.resolve import ResolvedMessage, resolve
from kraftwire_wire.message import Message
from spec_files import field_spec, message_spec

from compile_spec import compile_spec
from strategies import random_message, without_unknown_tags

Spec = dict[str, Any]
TYPES = ["int8", "int16", "int32", "int64", "string", "bytes", "records", "uuid", "bool", "[]int32"]
RANGES = ["0+", "0+", "0+", "1+", "2+", "0-1", "1-2"]
NULLABLE = ("string", "bytes", "records", "[]int32")


def random_field(name: str, rng: random.Random, depth: int) -> Spec:
    if depth and rng.random() < 0.3:
        kind = rng.choice(["[]S", "S"]) + name.upper()
        count = rng.randrange(1, 4)
        inner = [random_field(f"{name}{n}", rng, depth - 1) for n in range(count)]
        always = field_spec(f"{name}x", "int8")
        return field_spec(name, kind, versions=rng.choice(RANGES), fields=[always, *inner])
    made = field_spec(name, rng.choice(TYPES), versions=rng.choice(RANGES))
    if made["type"] in NULLABLE and rng.random() < 0.3:
        made["nullableVersions"] = made["versions"]
    if rng.random() < 0.3 and made["versions"].endswith("+") and made["type"] != "records":
        made |= {"taggedVersions": made["versions"], "tag": 0}
    made["ignorable"] = rng.random() < 0.5
    return made


def number_tags(fields: list[Spec]) -> None:
    for tag, item in enumerate(item for item in fields if "tag" in item):
        item["tag"] = tag
    for item in fields:
        number_tags(item.get("fields", []))


def random_spec(rng: random.Random) -> Spec:
    fields = [random_field(name, rng, 2) for name in "abcde"[: rng.randrange(1, 6)]]
    number_tags(fields)
    return message_spec("Foo", *fields, validVersions="0-3", flexibleVersions="0+")


def some_list(spec: Spec, rng: random.Random) -> list[Spec]:
    """The fields of the message, or of a struct in it."""
    lists = [spec["fields"]]
    for fields in lists:
        lists += [item["fields"] for item in fields if "fields" in item]
    return rng.choice(lists)


def rename(fields: list[Spec], rng: random.Random) -> None:
    rng.choice(fields)["name"] += "new"


def remove(fields: list[Spec], rng: random.Random) -> None:
    if len(fields) > 1:
        fields.remove(rng.choice(fields))


def add(fields: list[Spec], rng: random.Random) -> None:
    made = random_field(f"added{rng.randrange(10**6)}", rng, 1)
    if "tag" in made:
        made["tag"] = max((item.get("tag", -1) for item in fields), default=-1) + 1
    fields.insert(rng.randrange(len(fields) + 1), made)


def move(fields: list[Spec], rng: random.Random) -> None:
    fields.append(fields.pop(rng.randrange(len(fields))))


def change_type(fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "fields" not in chosen and "nullableVersions" not in chosen:
        chosen["type"] = rng.choice(TYPES)


def change_versions(fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "taggedVersions" not in chosen and "nullableVersions" not in chosen:
        chosen["versions"] = rng.choice(RANGES)


def change_null(fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if chosen.pop("nullableVersions", None) is None and chosen["type"] in NULLABLE:
        chosen["nullableVersions"] = chosen["versions"]


def change_default(fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if chosen["type"] in ("int8", "int16", "int32", "int64", "string"):
        chosen["default"] = str(rng.randrange(3))


def change_tag(fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "tag" in chosen and rng.random() < 0.5:
        del chosen["tag"], chosen["taggedVersions"]
    elif "tag" not in chosen and chosen["versions"].endswith("+") and chosen["type"] != "records":
        chosen |= {"taggedVersions": chosen["versions"], "tag": 0}
    number_tags(fields)


EDITS: list[Callable[[list[Spec], random.Random], None]] = [
    *(rename, remove, add, move, change_type, change_versions),
    *(change_null, change_default, change_tag),
]


def resolved(spec: Spec) -> ResolvedMessage:
    parsed, findings = parse_message(json.dumps(spec), "Foo.json")
    assert parsed is not None, findings
    return resolve(parsed)[0]


def random_pair(rng: random.Random) -> tuple[Spec, Spec]:
    """A spec and what edits made of it, both sound."""
    while True:
        old = random_spec(rng)
        new = copy.deepcopy(old)
        for _ in range(rng.randrange(1, 3)):
            rng.choice(EDITS)(some_list(new, rng), rng)
        if rng.random() < 0.1:
            new["flexibleVersions"] = "1+"
        try:
            compile_spec(old)
            compile_spec(new)
        except SpecError:
            continue
        return old, new


@pytest.mark.parametrize("seed", range(80))
def test_versions_without_an_error_hold_on_the_wire(seed: int) -> None:
    rng = random.Random(f"evolve {seed}")
    old, new = random_pair(rng)
    findings = evolve_message(resolved(old), resolved(new))
    broken = [span for f in findings if f.severity == "error" for span in f.versions]
    classes = compile_spec(old), compile_spec(new)
    for version in range(4):
        if not any(version in span for span in broken):
            for writer, reader in (classes, classes[::-1]):
                assert_same_bytes(writer, reader, version, rng, (old, new))


def assert_same_bytes(
    writer: type[Message], reader: type[Message], version: int, rng: random.Random, specs: object
) -> None:
    for _ in range(5):
        message = random_message(writer, version, rng)
        without_unknown_tags(message)
        data = message.encode(version)
        try:
            back = reader.decode(data, version).encode(version)
        except Exception as error:
            error.add_note(f"version {version}, bytes {data.hex()}: {json.dumps(specs)}")
            raise
        assert back == data, (version, json.dumps(specs))
