"""The plan of a generated package: every decision as plain data that templates print.

Python source appears in a plan only as expressions, conditions and single statements.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """Statements under a line such as `if version >= 3:`; they may be branches themselves."""

    opening: str
    body: tuple[Statement, ...]


Statement = str | Branch
"""A line of Python, or an indented block."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One attribute of a generated class and its row in LAYOUT.

    `layout` holds the arguments of the row: positional ones, then `name=value`.
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
    """One generated module; `constants` names the formats of its runs of fixed-size fields."""

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
    """The `__init__` of a generated package; the values of its tables are class names."""

    title: str
    package: str
    release: str
    messages: tuple[tuple[str, str], ...]
    requests: tuple[tuple[int, str], ...]
    responses: tuple[tuple[int, str], ...]
    records: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    control_records: tuple[tuple[int, str], ...]
