"""`capture decode`: prints the frames of a cassette or a packet capture, one row each.

After the frames, standard error gets counts: frames that were decoded and encoded back to the same
bytes, and which parts of a packet capture were not read and why. A frame that cannot be decoded, or
does not encode back to the same bytes, is a finding, and so are missing bytes: decoding goes on,
and the exit code is 1. Requests are read as a broker reads them (see `pairing`). An unusual frame
gets a note, which is not a finding.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from kraftwire.capture.cassette import CassetteHeader, write_cassette
from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.decoding.selection import FrameSelection
from kraftwire.capture.frame import Frame
from kraftwire.capture.frame_redaction import redact_frame
from kraftwire.cli.capture.frame_format import (
    COLUMNS,
    FOLDED,
    OPTIONAL,
    FrameVerdict,
    frame_cells,
    frame_json,
    judge,
    print_whole,
)
from kraftwire.cli.capture.recording import Recording, open_recording
from kraftwire.cli.messages.message_lookup import find_messages, load_registry, messages_option
from kraftwire.console.failures import CouldNotDoIt, Finding, exit_with_findings
from kraftwire.console.output import (
    output_option,
    print_json,
    print_note,
    print_table,
    wants_json,
    without_empty,
)
from kraftwire_wire.errors import count_of
from kraftwire_wire.registry import Registry

_ROWS_AT_ONCE = 1000


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--api", metavar="API", help="Only this API's frames: Metadata or 3.")
@click.option("--client-id", metavar="ID", help="Only frames of this client.")
@click.option("--topic", metavar="TOPIC", help="Only exchanges that name this topic or id.")
@click.option(
    "--frame",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the frame with this number in full.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="CASSETTE",
    help="Write the printed frames to a cassette.",
)
@click.option("--redact", is_flag=True, help="Leave out secrets: SASL, SCRAM, tokens, settings.")
@messages_option
@output_option
def decode(
    file: str,
    api: str | None,
    client_id: str | None,
    topic: str | None,
    number: int | None,
    save: Path | None,
    redact: bool,
    messages: str,
    output: str | None,
) -> None:
    """Decode traffic: a table on a terminal, JSON Lines when piped.

    FILE is a packet capture (pcap or pcapng, as tcpdump and Wireshark write them), a cassette
    (JSON Lines, as a recording proxy writes them), or - for standard input. Connections are
    found on any port. The JSON has each frame's header and message in full, with the passwords
    of clients that log in without TLS, unless --redact is given.

    Filters apply to a request and its response together.

    \b
    Examples:
      tcpdump -i any -s 0 -w lo.pcap tcp
      kraftwire capture decode lo.pcap
      kraftwire capture decode lo.pcap --api Fetch --topic orders
      kraftwire capture decode lo.pcap --save session.jsonl
      kraftwire capture decode session.jsonl --frame 12 -o table
    """
    registry = load_registry(messages)
    api_key = None if api is None else _find_api(registry, api)
    selection = FrameSelection(api_key, client_id, topic)
    with open_recording(file, registry) as recording:
        decoded = decode_frames(recording, registry)
        if redact:
            clean = (redact_frame(one, registry).frame for one in decoded)
            decoded = decode_frames(clean, registry)
        shown = selection.apply(decoded)
        if number is not None:
            _print_one(shown, number, recording.name, registry, wants_json(output), selection)
            return
        printer = _FramePrinter(recording, registry, wants_json(output))
        if save is None:
            deque(printer.print_frames(shown), maxlen=0)
        else:
            _save(save, printer.print_frames(shown), recording.name, registry)
        printer.print_summary()


class _FrameSummary:
    """Counts of the printed frames, by kind and result."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._connections: set[int] = set()
        self._versions: set[tuple[str, int]] = set()

    def add(self, decoded: DecodedFrame, registry: Registry) -> FrameVerdict:
        """Count a frame, and return its verdict."""
        verdict = judge(decoded, registry)
        self._connections.add(decoded.frame.connection)
        if decoded.api is not None and decoded.version is not None:
            self._versions.add((decoded.api, decoded.version))
        facts = {
            "frame": True,
            decoded.frame.direction: True,
            "token": decoded.is_token,
            "trailing": bool(decoded.trailing),
            "decoded": decoded.error is None,
            "encoded back": verdict.error is None,
            "not canonical": bool(verdict.deviations),
        }
        self._counts.update(name for name, is_so in facts.items() if is_so)
        return verdict

    @property
    def has_findings(self) -> bool:
        """Whether a frame was not encoded back to the same bytes."""
        return self._counts["encoded back"] < self._counts["frame"]

    def lines(self) -> Iterator[str]:
        """Yield the summary for people."""
        counts, frames = self._counts, self._counts["frame"]
        yield (
            f"{count_of(frames, 'frame')} of {count_of(len(self._connections), 'connection')}: "
            + ", ".join(count_of(counts[kind], kind) for kind in ("request", "response"))
        )
        if counts["token"]:
            yield f"{count_of(counts['token'], 'frame')} of them are SASL tokens without a header"
        if counts["trailing"]:
            after = "bytes after the message, which brokers do not read"
            yield f"frames with {after}: {counts['trailing']}"
        apis = {api for api, _ in self._versions}
        versions = count_of(len(self._versions), "version")
        yield f"{count_of(len(apis), 'API')}, {versions} of them"
        yield f"decoded: {counts['decoded']} of {frames}"
        yield f"encodes back to the same bytes: {counts['encoded back']} of {frames}"
        if counts["not canonical"]:
            yield f"not canonical, so that encoding writes other bytes: {counts['not canonical']}"


class _FramePrinter:
    """Prints frames as they come, and a summary at the end."""

    def __init__(self, recording: Recording, registry: Registry, as_json: bool) -> None:
        self._recording = recording
        self._registry = registry
        self._as_json = as_json
        self._summary = _FrameSummary()

    def print_frames(self, shown: Iterator[DecodedFrame]) -> Iterator[Frame]:
        """Print frames as rows, or in full as JSON; yield those that were printed."""
        if self._as_json:
            for decoded in shown:
                print_json(frame_json(decoded, self._summary.add(decoded, self._registry)))
                yield decoded.frame
            return
        while decoded_frames := list(islice(shown, _ROWS_AT_ONCE)):
            rows = [
                frame_cells(decoded, self._summary.add(decoded, self._registry))
                for decoded in decoded_frames
            ]
            print_table(*without_empty(COLUMNS, rows, OPTIONAL), folded=FOLDED)
            yield from (decoded.frame for decoded in decoded_frames)

    def print_summary(self) -> None:
        """Print counts on standard error; end the command with 1 if there are findings."""
        for line in (*self._recording.summary(), *self._summary.lines()):
            print_note(line)
        exit_with_findings(self._summary.has_findings or self._recording.has_findings)


def _find_api(registry: Registry, text: str) -> int:
    for message in find_messages(registry, text):
        if message.LAYOUT.type in ("request", "response") and message.API_KEY is not None:
            return message.API_KEY
    raise CouldNotDoIt(f"{text!r} is not an API")


def _print_one(
    shown: Iterator[DecodedFrame],
    number: int,
    name: str,
    registry: Registry,
    as_json: bool,
    selection: FrameSelection,
) -> None:
    """Print one frame in full."""
    decoded = next((frame for frame in shown if frame.number == number), None)
    if decoded is None:
        chosen = "" if selection == FrameSelection() else " that matches the filters"
        raise CouldNotDoIt(f"{name} has no frame {number}{chosen}")
    verdict = judge(decoded, registry)
    if as_json:
        print_json(frame_json(decoded, verdict))
    else:
        print_whole(decoded, verdict)
    if verdict.error is not None:
        raise Finding(f"frame {decoded.number}: {verdict.error}")


def _save(path: Path, frames: Iterator[Frame], name: str, registry: Registry) -> None:
    """Write frames to a new cassette."""
    recorded_by = f"kraftwire capture decode, out of {Path(name).name}"
    with path.open("xb") as stream:
        count = write_cassette(stream, CassetteHeader(recorded_by, registry.release), frames)
    print_note(f"{path}: {count_of(count, 'frame')}")
