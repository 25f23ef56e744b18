"""Formats decoded frames: as JSON, as rows of a table, or in full."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kraftwire.capture.decoding.decoder import DecodedFrame
from kraftwire.cli.messages.decoded_message import DecodedMessage, deviations_json
from kraftwire.console.output import print_table
from kraftwire_wire.canonical import Deviation, summary
from kraftwire_wire.registry import Registry, response_version

# Short, so that a row fits into 80 characters; the JSON has the whole words.
COLUMNS = ("frame", "conn", "direction", "API", "corr id", "client id", "bytes", "error", "note")
FOLDED = ("API", "client id", "error", "note")
OPTIONAL = ("error", "note")
"""Columns that are left out if they are empty."""

NOT_ENCODED_BACK = "does not encode back to the same bytes"
_TOKEN = "SASL token"  # noqa: S105


class FrameVerdict(NamedTuple):
    """What is wrong with a frame, or unusual.

    Fields:
        error: what is wrong, which is a finding.
        note: what is unusual.
        deviations: where the frame is not canonical.
    """

    error: str | None
    note: str | None = None
    deviations: Sequence[Deviation] = ()


def judge(decoded: DecodedFrame, registry: Registry) -> FrameVerdict:
    """Return what is wrong with a frame, and what is unusual about it."""
    if decoded.error is not None:
        return FrameVerdict(str(decoded.error))
    note = None
    if decoded.note is not None:
        read = "brokers do not read them" if decoded.trailing else "brokers accept it"
        note = f"{decoded.note}; {read}"
    if decoded.encodes_back(registry):
        return FrameVerdict(None, note)
    deviations = decoded.deviations()
    if decoded.note is None and deviations:
        note = summary(deviations)
    return FrameVerdict(NOT_ENCODED_BACK, note, deviations)


def frame_cells(decoded: DecodedFrame, verdict: FrameVerdict) -> Sequence[object]:
    """Return a frame as a row of the table, with the API as `3 Metadata v12`."""
    api = _TOKEN if decoded.is_token else None
    if decoded.api is not None:
        api = f"{decoded.api_key} {decoded.api} v{decoded.version}"
    facts = _frame_facts(decoded, verdict)
    keys = ("correlationId", "clientId", "bytes", "error", "note")
    before = decoded.number, decoded.frame.connection, decoded.frame.direction, api
    return *before, *(facts.get(key) for key in keys)


def _frame_facts(decoded: DecodedFrame, verdict: FrameVerdict) -> dict[str, Any]:
    """Return a frame as JSON without header and message."""
    frame = decoded.frame
    facts: dict[str, Any] = {
        "frame": decoded.number,
        "connection": frame.connection,
        "direction": frame.direction,
        "time": frame.time,
    }
    place = frame.place
    if place is not None:
        ends = place.client, place.server
        source, destination = ends if frame.direction == "request" else ends[::-1]
        facts |= {
            "time": round(frame.time, 6),
            "timestamp": _timestamp(place.seconds),
            "source": source,
            "destination": destination,
            "packet": place.packet,
            "offset": place.offset,
        }
    facts |= {
        "api": decoded.api,
        "apiKey": decoded.api_key,
        "version": decoded.version,
        "correlationId": getattr(decoded.header, "correlation_id", None),
        "clientId": getattr(decoded.header, "client_id", None),
        "bytes": len(frame.data),
        "error": verdict.error,
    }
    if verdict.note is not None:
        facts["note"] = verdict.note
    if decoded.trailing:
        facts["trailing"] = decoded.trailing.hex()
    return facts


def frame_json(decoded: DecodedFrame, verdict: FrameVerdict) -> dict[str, Any]:
    """Return what `kraftwire decode` prints for the message, and the facts of the frame."""
    obj = _frame_facts(decoded, verdict)
    if verdict.deviations:
        obj["notCanonical"] = deviations_json(verdict.deviations)
    if decoded.request is not None:
        obj["answers"] = decoded.request.number
    if decoded.is_token:
        obj["saslToken"] = True
    found = _decoded_message(decoded)
    return obj | (found.to_json("lossless") if found else {"hex": decoded.frame.data.hex()})


def print_whole(decoded: DecodedFrame, verdict: FrameVerdict) -> None:
    """Print a frame in full, as tables."""
    from kraftwire.cli.messages import message_rows

    facts = _frame_facts(decoded, verdict)
    number = str(facts.pop("frame"))
    print_table(("frame", number), [item for item in facts.items() if item[1] is not None])
    found = _decoded_message(decoded)
    if found is None:
        print_table(("bytes",), [(decoded.frame.data.hex(" ", 4),)])
    else:
        title = message_rows.title(found)
        print_table(message_rows.COLUMNS, message_rows.message_rows(found), title)


def _decoded_message(decoded: DecodedFrame) -> DecodedMessage | None:
    """Return header and message; None if they could not be decoded."""
    message, version = decoded.message, decoded.version
    if message is None or version is None:
        return None
    return DecodedMessage(message, response_version(message, version), decoded.header)


def _timestamp(seconds: float) -> str | None:
    """Return a time in ISO 8601 to the microsecond; None if it is not a date."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
