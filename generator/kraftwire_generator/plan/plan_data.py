"""The plan of a generated package: dataclasses that templates print without any decision.

Python source is in a plan only as expressions, conditions and single statements.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """A line such as `if version >= 3:` and the statements under it, which may be branches too."""

    opening: str
    body: tuple[Statement, ...]


Statement = str | Branch
"""A line of Python, or an indented block."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One attribute of a generated class and its row in LAYOUT.

    `layout` has the arguments of the row: positional ones, then `name=value`.
    """

    attribute: str
    hint: str
    default: str
    layout: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StructPlan:
    """One generated class: the message itself, or a struct nested in it."""

    class_name: str
    docstring: str
    fields: tuple[FieldPlan, ...]
    layout: tuple[str, ...]
    decode: tuple[Statement, ...]
    encode: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class MessagePlan:
    """One generated module; `constants` has the formats of its runs of fixed-size fields."""

    module: str
    source: str
    constants: tuple[tuple[str, tuple[str, ...]], ...]
    message: StructPlan
    structs: tuple[StructPlan, ...]
    api_key: str
    valid_versions: str
    flexible_versions: str


@dataclass(frozen=True, slots=True)
class PackagePlan:
    """The `__init__` of a generated package: tables from names, keys and ids to class names."""

    title: str
    package: str
    release: str
    messages: tuple[tuple[str, str], ...]
    requests: tuple[tuple[int, str], ...]
    responses: tuple[tuple[int, str], ...]
    records: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    control_records: tuple[tuple[int, str], ...]
