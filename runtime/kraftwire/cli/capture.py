"""The group `capture`: recorded traffic.

`capture decode` prints the frames of a cassette, one row each, and then says on standard
error how many there were and whether each could be read and written back. A frame that
cannot be decoded, or does not encode back to the same bytes, is a finding: the others are
printed all the same, and the exit code is 1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import click

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.pairing import DecodedFrame, decode_frames
from kraftwire.cli.envelope import Envelope
from kraftwire.cli.failures import EXIT_FINDINGS, CouldNotDoIt, Finding
from kraftwire.cli.output import output_option, print_json, print_table, wants_json
from kraftwire.cli.spec_sets import find_messages, load_registry, messages_option
from kraftwire_wire.registry import Registry, answered_version

# Short, so that a row fits a line of 80 characters; the JSON has the whole words.
COLUMNS = ("frame", "conn", "direction", "API", "corr id", "client id", "bytes", "error")
_FOLDED = ("API", "client id", "error")


@click.group()
def capture() -> None:
    """Captured traffic: decode recorded frames."""


@capture.command()
@click.argument("file", type=click.File("rb"))
@click.option("--api", metavar="API", help="Only this API's frames: Metadata or 3.")
@click.option(
    "--frame",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the frame with this number in full.",
)
@messages_option
@output_option
def decode(
    file: BinaryIO, api: str | None, number: int | None, messages: str, output: str | None
) -> None:
    """Decode a cassette: a table on a terminal, JSON Lines when piped.

    FILE is JSON Lines as a recording proxy writes them, or - for standard input. The JSON
    has each frame's header and message in full.

    \b
    Examples:
      kraftwire capture decode session.jsonl
      kraftwire capture decode session.jsonl --api Fetch
      kraftwire capture decode session.jsonl --frame 12 -o table
    """
    registry = load_registry(messages)
    api_key = None if api is None else _find_api(registry, api)
    name = str(getattr(file, "name", "<stdin>"))
    shown = (
        decoded
        for decoded in decode_frames(CassetteReader(file, name), registry)
        if (api_key is None or decoded.api_key == api_key) and number in (None, decoded.number)
    )
    if number is None:
        _print_frames(shown, registry, wants_json(output))
        return
    decoded = next(shown, None)
    if decoded is None:
        of_api = "" if api is None else f" of {api}"
        raise CouldNotDoIt(f"{name} has no frame {number}{of_api}")
    _print_frame(decoded, registry, wants_json(output))


@dataclass
class Summary:
    """Counts what the shown frames were."""

    frames: int = 0
    decoded: int = 0
    encoded_back: int = 0
    connections: set[int] = field(default_factory=set)
    directions: Counter[str] = field(default_factory=Counter)
    versions: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, decoded: DecodedFrame, registry: Registry) -> str | None:
        """Count a frame; returns what is wrong with it."""
        self.frames += 1
        self.connections.add(decoded.frame.connection)
        self.directions[decoded.frame.direction] += 1
        if decoded.api is not None and decoded.version is not None:
            self.versions[decoded.api].add(decoded.version)
        if decoded.error is not None:
            return str(decoded.error)
        self.decoded += 1
        if not decoded.encodes_back(registry):
            return "does not encode back to the same bytes"
        self.encoded_back += 1
        return None

    @property
    def has_findings(self) -> bool:
        """Whether something was wrong with a frame."""
        return self.encoded_back < self.frames

    def lines(self) -> Iterator[str]:
        """The summary, for people to read."""
        requests, responses = self.directions["request"], self.directions["response"]
        yield (
            f"{self.frames} frames of {len(self.connections)} connections: "
            f"{requests} requests, {responses} responses"
        )
        count = sum(map(len, self.versions.values()))
        yield f"{len(self.versions)} APIs, {count} versions of them"
        yield f"decoded: {self.decoded} of {self.frames}"
        yield f"encodes back to the same bytes: {self.encoded_back} of {self.frames}"


def _find_api(registry: Registry, text: str) -> int:
    for message in find_messages(registry, text):
        if message.LAYOUT.type in ("request", "response") and message.API_KEY is not None:
            return message.API_KEY
    raise CouldNotDoIt(f"{text!r} is not an API")


def _print_frames(shown: Iterator[DecodedFrame], registry: Registry, as_json: bool) -> None:
    """Frames in short, or in full as JSON; then the summary."""
    summary = Summary()
    if as_json:
        for decoded in shown:
            print_json(_frame_json(decoded, summary.add(decoded, registry)))
    else:
        _print_rows([_cells(decoded, summary.add(decoded, registry)) for decoded in shown])
    for line in summary.lines():
        click.echo(line, err=True)
    if summary.has_findings:
        raise click.exceptions.Exit(EXIT_FINDINGS)


def _print_rows(rows: list[tuple[object, ...]]) -> None:
    """The table; without the column of errors where there are none."""
    count = len(COLUMNS) - (not any(row[-1] for row in rows))
    print_table(COLUMNS[:count], [row[:count] for row in rows], folded=_FOLDED)


def _cells(decoded: DecodedFrame, error: str | None) -> tuple[object, ...]:
    """A frame as a row of the table; an API is written as `3 Metadata v12`."""
    api = None
    if decoded.api is not None:
        api = f"{decoded.api_key} {decoded.api} v{decoded.version}"
    facts = _facts(decoded, error)
    keys = ("correlationId", "clientId", "bytes", "error")
    before = decoded.number, decoded.frame.connection, decoded.frame.direction, api
    return *before, *(facts[key] for key in keys)


def _facts(decoded: DecodedFrame, error: str | None) -> dict[str, Any]:
    """A frame without header and message."""
    return {
        "frame": decoded.number,
        "connection": decoded.frame.connection,
        "direction": decoded.frame.direction,
        "time": decoded.frame.time,
        "api": decoded.api,
        "apiKey": decoded.api_key,
        "version": decoded.version,
        "correlationId": getattr(decoded.header, "correlation_id", None),
        "clientId": getattr(decoded.header, "client_id", None),
        "bytes": len(decoded.frame.data),
        "error": error,
    }


def _frame_json(decoded: DecodedFrame, error: str | None) -> dict[str, Any]:
    """All of a frame: what `kraftwire decode` prints for a message, and where it was."""
    obj = _facts(decoded, error)
    if decoded.request is not None:
        obj["answers"] = decoded.request.number
    envelope = _envelope(decoded)
    if envelope is None:
        return obj | {"hex": decoded.frame.data.hex()}
    return obj | envelope.to_json("lossless")


def _print_frame(decoded: DecodedFrame, registry: Registry, as_json: bool) -> None:
    """One frame in full."""
    error = Summary().add(decoded, registry)
    if as_json:
        print_json(_frame_json(decoded, error))
    else:
        facts = _facts(decoded, error)
        number = str(facts.pop("frame"))
        print_table(("frame", number), [item for item in facts.items() if item[1] is not None])
        _print_message(decoded)
    if error is not None:
        raise Finding(f"frame {decoded.number}: {error}")


def _print_message(decoded: DecodedFrame) -> None:
    from kraftwire.cli.message_rows import COLUMNS as FIELD_COLUMNS
    from kraftwire.cli.message_rows import envelope_rows, title

    envelope = _envelope(decoded)
    if envelope is None:
        print_table(("bytes",), [(decoded.frame.data.hex(" ", 4),)])
    else:
        print_table(FIELD_COLUMNS, envelope_rows(envelope), title(envelope))


def _envelope(decoded: DecodedFrame) -> Envelope | None:
    """Header and message in the version that they were read in; None where they were not."""
    message, version = decoded.message, decoded.version
    if message is None or version is None:
        return None
    return Envelope(message, answered_version(message, version), decoded.header)
