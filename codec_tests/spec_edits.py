"""Random message specs and random edits of them: what people do to specs, and get wrong.

`about` holds the name that a field had at first, so that a renamed field can be found again.
Specs and edits may be unsound together; compile them to see.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from codec_tests.spec_files import field_spec, message_spec

Spec = dict[str, Any]
Edit = Callable[[Spec, list[Spec], random.Random], None]

NUMBERS = ["int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "bool", "uuid"]
TYPES = [*NUMBERS, "string", "bytes", "records", "[]int32", "[]string"]
RANGES = ["0+", "0+", "0+", "1+", "2+", "0-1", "1-2"]
NULLABLE = ("string", "bytes", "records", "[]int32", "[]string")


# -- random specs ----------------------------------------------------------------------------


def is_nullable(item: Spec) -> bool:
    return item["type"] in NULLABLE or "fields" in item


def random_field(name: str, rng: random.Random, depth: int) -> Spec:
    if depth and rng.random() < 0.4:
        kind = rng.choice(["[]S", "S"]) + name.upper()
        inner = [random_field(f"{name}{n}", rng, depth - 1) for n in range(rng.randrange(1, 4))]
        if kind[0] == "[":  # readers refuse to count elements without any bytes
            inner.insert(0, field_spec(f"{name}x", "int8", about=f"{name}x"))
        made = field_spec(name, kind, versions=rng.choice(RANGES), about=name, fields=inner)
    else:
        made = field_spec(name, rng.choice(TYPES), versions=rng.choice(RANGES), about=name)
    if is_nullable(made) and rng.random() < 0.3:
        made["nullableVersions"] = rng.choice([made["versions"], "2+"])
    if rng.random() < 0.3:
        change_tag({}, [made], rng)
    if rng.random() < 0.3:
        change_default({}, [made], rng)
    made["ignorable"] = rng.random() < 0.5
    return made


def lists_of(spec: Spec) -> Iterator[list[Spec]]:
    """The fields of the message, and of every struct in it."""
    lists = [spec["fields"], *(struct["fields"] for struct in spec.get("commonStructs", []))]
    for fields in lists:
        lists += [item["fields"] for item in fields if "fields" in item]
        yield fields


def number_tags(spec: Spec) -> None:
    """Make the tags of each struct contiguous, without a change where they are."""
    for fields in lists_of(spec):
        tagged = sorted((item for item in fields if "tag" in item), key=lambda item: item["tag"])
        for tag, item in enumerate(tagged):
            item["tag"] = tag


def random_spec(rng: random.Random) -> Spec:
    fields = [random_field(name, rng, 2) for name in "abcde"[: rng.randrange(1, 6)]]
    flexible = rng.choice(["0+", "0+", "1+", "none"])
    spec = message_spec("Foo", *fields, validVersions="0-3", flexibleVersions=flexible)
    if rng.random() < 0.3:
        make_common(spec, fields, rng)
    number_tags(spec)
    return spec


# -- random edits ----------------------------------------------------------------------------


def rename(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    rng.choice(fields)["name"] += "new"


def rename_struct(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "fields" in chosen:
        chosen["type"] += "New"


def remove(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    if len(fields) > 1:
        fields.remove(rng.choice(fields))


def add(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    made = random_field("added", rng, 1)
    if "tag" in made:
        made["tag"] = max((item.get("tag", -1) for item in fields), default=-1) + rng.choice([1, 0])
    fields.insert(rng.randrange(len(fields) + 1), made)


def rename_and_add(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    rename(spec, fields, rng)
    add(spec, fields, rng)


def move(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    fields.insert(rng.randrange(len(fields)), fields.pop(rng.randrange(len(fields))))


def move_out(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    """Out of a struct, to the end of the message."""
    if len(fields) > 1:
        spec["fields"].append(fields.pop(rng.randrange(len(fields))))


def change_type(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "fields" not in chosen and "default" not in chosen:
        chosen["type"] = rng.choice(TYPES)


def change_versions(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    rng.choice(fields)["versions"] = rng.choice(RANGES)


def change_null(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if chosen.pop("nullableVersions", None) is None and is_nullable(chosen):
        chosen["nullableVersions"] = rng.choice([chosen["versions"], "1+", "0-1"])


def change_default(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if chosen["type"] in (*NUMBERS[:6], "string"):
        chosen["default"] = str(rng.randrange(3))
    elif chosen.get("nullableVersions") == chosen["versions"]:
        chosen["default"] = rng.choice(["null", ""])


def change_tag(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if "tag" in chosen and rng.random() < 0.5:
        del chosen["tag"], chosen["taggedVersions"]
    elif chosen["versions"].endswith("+") and chosen["type"] != "records":
        chosen |= {"taggedVersions": rng.choice([chosen["versions"], "2+"])}
        chosen["tag"] = max((item.get("tag", -1) for item in fields), default=-1) + 1


def swap_tags(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    tagged = [item for item in fields if "tag" in item]
    rng.shuffle(tagged)
    for one, other in pairwise(tagged):
        one["tag"], other["tag"] = other["tag"], one["tag"]


def change_encoding(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    if chosen["type"] in ("string", "bytes"):
        chosen["flexibleVersions"] = rng.choice(["none", "2+"])


def change_message(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    key, *choices = rng.choice(
        [("flexibleVersions", "0+", "1+", "none"), ("validVersions", "0-2", "1-3", "0-4", "2")]
    )
    spec[key] = rng.choice(choices)


def make_common(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    """Move the inline structs that hold no others to commonStructs."""
    common = spec.setdefault("commonStructs", [])
    for item in fields:
        if "fields" in item and not any("fields" in inner for inner in item["fields"]):
            name = item["type"].removeprefix("[]")
            common.append({"name": name, "versions": "0+", "fields": item.pop("fields")})


def without_effect(spec: Spec, fields: list[Spec], rng: random.Random) -> None:
    chosen = rng.choice(fields)
    chosen["ignorable"] = rng.random() < 0.5
    if fields is not spec["fields"] and "tag" not in chosen:
        chosen["mapKey"] = True


EDITS: list[Edit] = [
    *(rename, rename_struct, remove, add, rename_and_add, move, move_out, change_type),
    *(change_versions, change_null, change_default, change_tag, swap_tags, change_encoding),
    *(change_message, make_common, without_effect),
]
