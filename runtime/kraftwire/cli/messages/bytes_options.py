"""The options of `decode` and `explain` that name bytes, and which of them go together.

Bytes can be named in several ways: as a request, a response, a message, a record. A `Way` has the
other options that it needs, and those that it allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, TypeVar

import click

from kraftwire.cli.messages.input_bytes import INPUT_FORMS, parse_input, read_input
from kraftwire.cli.messages.message_lookup import messages_option
from kraftwire_wire.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.File("rb")
_OPTIONS = (
    click.option("--request", type=_FILE, metavar="FILE", help="Requests with headers."),
    click.option("--response", type=_FILE, metavar="FILE", help="A response with its header."),
    click.option("--name", metavar="API", help="The API of --response: Vote, VoteResponse or 52."),
    click.option("--message", metavar="NAME", help="A bare message; needs --version and FILE."),
    click.option(
        "--version", type=int, metavar="N", help="The version of --response or --message."
    ),
    click.option("--record", metavar="LOG", help="A record's bytes; see below."),
    click.option("--key", type=_FILE, metavar="FILE", help="A coordinator record's key."),
    click.option("--value", type=_FILE, metavar="FILE", help="A coordinator record's value."),
    click.option("--id", type=int, metavar="N", help="The record id of --value without --key."),
    click.option(
        "--input", type=click.Choice(INPUT_FORMS), help="The form of FILE; detected by default."
    ),
    click.option(
        "--prefix/--no-prefix",
        default=None,
        help="Whether a 4-byte length comes first; detected by default.",
    ),
    messages_option,
)


def bytes_options(command: F) -> F:
    """Add the options, whose parameters are the fields of `BytesOptions`, and `messages`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class BytesOptions:
    """The options of one call; files are open."""

    request: BinaryIO | None
    response: BinaryIO | None
    message: str | None
    record: str | None
    name: str | None
    version: int | None
    key: BinaryIO | None
    value: BinaryIO | None
    id: int | None
    input: str | None
    prefix: bool | None

    def read(self, file: BinaryIO) -> bytes:
        """Return the bytes of a file that has the form of `--input`."""
        return parse_input(read_input(file), self.input)

    def check_record(self, registry: Registry, *, has_file: bool) -> None:
        """Refuse FILE if records of the log have keys; refuse --key and --value if they do not."""
        log = self.record or ""
        record_id = next(iter(registry.record_ids.get(log, ())), 0)
        has_parts = self.key is not None or self.value is not None
        if registry.record(log, record_id).key is None:
            if has_parts or self.id is not None or not has_file:
                raise click.UsageError(f"{log} records have no keys; give FILE alone")
        elif has_file or not has_parts:
            raise click.UsageError(f"{log} records have keys; give --key, --value or both")


class Way(NamedTuple):
    """A way to name bytes: the options it needs, and those it allows, separated by spaces."""

    needs: str
    allows: str


def choose_way(options: BytesOptions, ways: Mapping[str, Way]) -> str:
    """Return the way that the options use; raise `UsageError` if they do not go together.

    `path` is the way that has only FILE; the other ways are options themselves.
    """
    given = {name for name in options.__dataclass_fields__ if _is_given(options, name)}
    chosen = [way for way in ways if way in given and way != "path"]
    if not chosen and "path" in ways and "path" in given:
        chosen = ["path"]
    if len(chosen) != 1:
        raise click.UsageError(f"give one of {', '.join(map(_option_text, ways))}")
    (way,) = chosen
    needs, allows = (set(names.split()) for names in ways[way])
    shown = _option_text(way)
    for name in sorted(needs - given):
        raise click.UsageError(f"{shown} needs {_option_text(name)}")
    for name in sorted(given - needs - allows - {way, "input", "limit"}):
        raise click.UsageError(f"{_option_text(name)} does not go with {shown}")
    return way


def _option_text(name: str) -> str:
    """Return a parameter as it is on the command line."""
    return {"file": "FILE", "path": "FILE", "log": "--as"}.get(name, f"--{name}")


def _is_given(options: BytesOptions, name: str) -> bool:
    value = getattr(options, name)
    return value is not None and value is not False
