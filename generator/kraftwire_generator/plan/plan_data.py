"""The plan of a generated package: every decision taken, as plain data that templates print.

A plan holds Python source text only in the small pieces that a template puts in place:
expressions, conditions and single statements. `planner` makes plans, `render` prints them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """Statements under a line such as `if version >= 3:`; nested ones may hold branches."""

    opening: str
    body: tuple[Statement, ...]


Statement = str | Branch
"""A line of Python, or an indented block."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One attribute of a generated class and its row in LAYOUT.

    `layout` are the arguments of the row: positional texts, then `name=text`.
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
    """One generated module; `constants` are the forms of fixed-size runs, by their types."""

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
    """The `__init__` of a generated package; the tables map to the names of messages."""

    title: str
    package: str
    release: str
    messages: tuple[tuple[str, str], ...]
    requests: tuple[tuple[int, str], ...]
    responses: tuple[tuple[int, str], ...]
    records: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    control_records: tuple[tuple[int, str], ...]
