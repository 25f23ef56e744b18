"""`capture decode`: the frames of a cassette or a packet capture, one row each.

After the frames, standard error gets how many there were, whether each could be read and
written back, and what of a packet capture was not read and why. A frame that cannot be
decoded, or does not encode back to the same bytes, is a finding, and so are bytes that are
missing: all else is printed all the same, and the exit code is 1. Requests are read as a broker
reads them (see `pairing`); what is unusual about a frame is a note, which is no finding.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import click

from kraftwire.capture.cassette import CassetteHeader, write_cassette
from kraftwire.capture.frame import Frame
from kraftwire.capture.pairing import DecodedFrame, decode_frames
from kraftwire.capture.redacting import redact_frame
from kraftwire.capture.selection import Selection
from kraftwire.cli.capture.forms import (
    COLUMNS,
    FOLDED,
    OPTIONAL,
    Verdict,
    cells,
    frame_json,
    judge,
    print_whole,
)
from kraftwire.cli.capture.input import Recording, open_recording
from kraftwire.cli.messages.spec_sets import find_messages, load_registry, messages_option
from kraftwire.console.failures import EXIT_FINDINGS, CouldNotDoIt, Finding
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
    help="Write the frames that are shown as a cassette.",
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
    (JSON Lines as a recording proxy writes them), or - for standard input. Connections are
    found on any port. The JSON has each frame's header and message in full, passwords
    included where clients log in without TLS, unless --redact is given.

    A request and its response stay together: filters look at both.

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
    selection = Selection(api_key, client_id, topic)
    with open_recording(file, registry) as recording:
        decoded = decode_frames(recording, registry)
        if redact:
            clean = (redact_frame(one, registry).frame for one in decoded)
            decoded = decode_frames(clean, registry)
        shown = selection.apply(decoded)
        if number is not None:
            _print_one(shown, number, recording.name, registry, wants_json(output), selection)
            return
        report = Report(recording, registry, wants_json(output))
        if save is None:
            deque(report.print_frames(shown), maxlen=0)
        else:
            _save(save, report.print_frames(shown), recording.name, registry)
        report.print_summary()


@dataclass
class Summary:
    """Counts what the shown frames were."""

    frames: int = 0
    decoded: int = 0
    encoded_back: int = 0
    tokens: int = 0
    trailing: int = 0
    not_canonical: int = 0
    connections: set[int] = field(default_factory=set)
    directions: Counter[str] = field(default_factory=Counter)
    versions: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, decoded: DecodedFrame, registry: Registry) -> Verdict:
        """Count a frame; return what is wrong with it."""
        self.frames += 1
        self.tokens += decoded.is_token
        self.trailing += bool(decoded.trailing)
        self.connections.add(decoded.frame.connection)
        self.directions[decoded.frame.direction] += 1
        if decoded.api is not None and decoded.version is not None:
            self.versions[decoded.api].add(decoded.version)
        verdict = judge(decoded, registry)
        self.decoded += decoded.error is None
        self.encoded_back += verdict.error is None
        self.not_canonical += bool(verdict.deviations)
        return verdict

    @property
    def has_findings(self) -> bool:
        """Whether something was wrong with a frame."""
        return self.encoded_back < self.frames

    def lines(self) -> Iterator[str]:
        """The summary, for people to read."""
        requests, responses = self.directions["request"], self.directions["response"]
        yield (
            f"{count_of(self.frames, 'frame')} of "
            f"{count_of(len(self.connections), 'connection')}: "
            f"{count_of(requests, 'request')}, {count_of(responses, 'response')}"
        )
        if self.tokens:
            yield f"{count_of(self.tokens, 'frame')} of them are SASL tokens without a header"
        if self.trailing:
            have = (
                "has bytes behind its message"
                if self.trailing == 1
                else ("have bytes behind their messages")
            )
            yield f"{count_of(self.trailing, 'frame')} {have}, which brokers do not read"
        count = sum(map(len, self.versions.values()))
        yield f"{count_of(len(self.versions), 'API')}, {count_of(count, 'version')} of them"
        yield f"decoded: {self.decoded} of {self.frames}"
        yield f"encodes back to the same bytes: {self.encoded_back} of {self.frames}"
        if self.not_canonical:
            yield f"not canonical, so that encoding writes other bytes: {self.not_canonical}"


class Report:
    """Prints frames as they come, and what there is to say about them in the end."""

    def __init__(self, recording: Recording, registry: Registry, as_json: bool) -> None:
        self._recording = recording
        self._registry = registry
        self._as_json = as_json
        self._summary = Summary()

    def print_frames(self, shown: Iterator[DecodedFrame]) -> Iterator[Frame]:
        """Print frames in short, or in full as JSON; gives those that were printed."""
        if self._as_json:
            for decoded in shown:
                print_json(frame_json(decoded, self._summary.add(decoded, self._registry)))
                yield decoded.frame
            return
        while decoded_frames := list(islice(shown, _ROWS_AT_ONCE)):
            rows = [
                cells(decoded, self._summary.add(decoded, self._registry))
                for decoded in decoded_frames
            ]
            print_table(*without_empty(COLUMNS, rows, OPTIONAL), folded=FOLDED)
            yield from (decoded.frame for decoded in decoded_frames)

    def print_summary(self) -> None:
        """The counts, on standard error; ends the command with 1 where there are findings."""
        for line in (*self._capture_lines(), *self._summary.lines()):
            print_note(line)
        if self._summary.has_findings or self._capture_has_findings:
            raise click.exceptions.Exit(EXIT_FINDINGS)

    def _capture_lines(self) -> Iterator[str]:
        traffic, pcap = self._recording.traffic, self._recording.pcap
        if traffic is None or pcap is None:
            return
        yield (
            f"{count_of(traffic.packets, 'packet')}, "
            f"{count_of(traffic.connections, 'TCP connection')} with data, "
            f"{traffic.kafka_connections} of Kafka"
        )
        yield from traffic.losses.lines()
        if pcap.error is not None:
            yield str(pcap.error)
        if not traffic.kafka_connections:
            yield f"{pcap.name}: no Kafka connection was found"

    @property
    def _capture_has_findings(self) -> bool:
        traffic, pcap = self._recording.traffic, self._recording.pcap
        if traffic is None or pcap is None:
            return False
        return bool(traffic.losses.lost or pcap.error) or not traffic.kafka_connections


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
    selection: Selection,
) -> None:
    """One frame in full."""
    decoded = next((frame for frame in shown if frame.number == number), None)
    if decoded is None:
        chosen = "" if selection == Selection() else " that the filters let through"
        raise CouldNotDoIt(f"{name} has no frame {number}{chosen}")
    verdict = judge(decoded, registry)
    if as_json:
        print_json(frame_json(decoded, verdict))
    else:
        print_whole(decoded, verdict)
    if verdict.error is not None:
        raise Finding(f"frame {decoded.number}: {verdict.error}")


def _save(path: Path, frames: Iterator[Frame], name: str, registry: Registry) -> None:
    """Write frames as a cassette, which must not be there yet."""
    recorded_by = f"kraftwire capture decode, out of {Path(name).name}"
    with path.open("xb") as stream:
        count = write_cassette(stream, CassetteHeader(recorded_by, registry.release), frames)
    print_note(f"{path}: {count_of(count, 'frame')}")
