"""The command `encode`: encodes the JSON that `decode` prints."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import BinaryIO

import click

from kraftwire.cli.messages import decoded_message
from kraftwire.cli.messages.decoded_message import DecodedMessage
from kraftwire.cli.messages.input_bytes import read_input
from kraftwire.cli.messages.message_lookup import (
    check_version,
    find_message,
    load_registry,
    messages_option,
)
from kraftwire.console.failures import CouldNotDoIt, Finding
from kraftwire.console.output import on_terminal
from kraftwire_wire.errors import FieldError
from kraftwire_wire.framing import add_size
from kraftwire_wire.json_text import parse_json_at
from kraftwire_wire.registry import Registry

_SPACE = re.compile(r"\s*")


@click.command()
@click.argument("file", default="-", type=click.File("rb"))
@click.option("--message", metavar="NAME", help="FILE has bare messages of this name.")
@click.option("--version", type=int, metavar="N", help="The version of --message.")
@click.option("--prefix", is_flag=True, help="Write the length, 4 bytes, before each message.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["hex", "base64", "binary"]),
    default="hex",
    show_default=True,
    help="The form of the bytes; a line for each message, except in binary.",
)
@messages_option
def encode(
    file: BinaryIO,
    message: str | None,
    version: int | None,
    prefix: bool,
    output: str,
    messages: str,
) -> None:
    """Encode the JSON that decode printed, to the same bytes.

    FILE has one object after another, and is standard input by default. With --message the
    objects are bare messages, in either JSON style.

    \b
    Examples:
      kraftwire decode --request vote.bin | kraftwire encode
      kraftwire encode request.json --prefix -o binary > request.bin
      echo '{"clusterId": null, "voterId": 1, "topics": []}' |
        kraftwire encode --message VoteRequest --version 2
    """
    if (message is None) != (version is None):
        raise click.UsageError("--message and --version go together")
    if output == "binary" and on_terminal():
        raise CouldNotDoIt("binary is not for terminals; redirect it to a file, or use -o hex")
    registry = load_registry(messages)
    for number, obj in enumerate(_objects(file), 1):
        try:
            data = _encode_object(registry, obj, message, version)
        except FieldError as error:
            raise error.inside(f"object {number}") if number > 1 else error from None
        _write(add_size(data) if prefix else data, output)


def _encode_object(
    registry: Registry, obj: object, message: str | None, version: int | None
) -> bytes:
    if message is None or version is None:
        return decoded_message.encode(registry, decoded_message.from_json(registry, obj))
    cls = find_message(registry, message)
    check_version(cls, version)
    return decoded_message.encode(registry, DecodedMessage(cls.from_json(obj, version), version))


def _objects(file: BinaryIO) -> Iterator[object]:
    """Yield the JSON values in a file, one after another."""
    try:
        text = read_input(file).decode("utf-8-sig")
        position = _end_of_space(text, 0)
        if position == len(text):
            raise Finding("the input is empty")
        while position < len(text):
            obj, end = parse_json_at(text, position)
            yield obj
            position = _end_of_space(text, end)
    except ValueError as error:
        raise Finding(f"the input is not JSON: {error}") from None


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _write(data: bytes, output: str) -> None:
    if output == "binary":
        click.echo(data, nl=False)
    else:
        click.echo(data.hex() if output == "hex" else base64.b64encode(data).decode())
