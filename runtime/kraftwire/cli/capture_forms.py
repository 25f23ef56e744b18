"""A decoded frame as JSON, as a row of a table, and in full."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kraftwire.capture.pairing import DecodedFrame
from kraftwire.cli.envelope import Envelope
from kraftwire.cli.output import print_table
from kraftwire_wire.registry import answered_version

# Short, so that a row fits a line of 80 characters; the JSON has the whole words.
COLUMNS = ("frame", "conn", "direction", "API", "corr id", "client id", "bytes", "error", "note")
FOLDED = ("API", "client id", "error", "note")
OPTIONAL = ("error", "note")
"""Columns that are left out if no frame has anything in them."""

_TOKEN = "SASL token"  # noqa: S105


def cells(decoded: DecodedFrame, error: str | None) -> Sequence[object]:
    """A frame as a row of the table; an API is written as `3 Metadata v12`."""
    api = _TOKEN if decoded.is_token else None
    if decoded.api is not None:
        api = f"{decoded.api_key} {decoded.api} v{decoded.version}"
    facts = frame_facts(decoded, error)
    keys = ("correlationId", "clientId", "bytes", "error", "note")
    before = decoded.number, decoded.frame.connection, decoded.frame.direction, api
    return *before, *(facts.get(key) for key in keys)


def note_of(decoded: DecodedFrame) -> str | None:
    """Return what is unusual about a frame that was read; None if nothing is."""
    if decoded.note is None:
        return None
    if decoded.trailing:
        return f"{decoded.note}; brokers do not read them"
    return f"{decoded.note}; brokers read it all the same"


def frame_facts(decoded: DecodedFrame, error: str | None) -> dict[str, Any]:
    """A frame without header and message."""
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
        "error": error,
    }
    if decoded.note is not None:
        facts["note"] = note_of(decoded)
    if decoded.trailing:
        facts["trailing"] = decoded.trailing.hex()
    return facts


def frame_json(decoded: DecodedFrame, error: str | None) -> dict[str, Any]:
    """All of a frame: what `kraftwire decode` prints for a message, and where it was."""
    obj = frame_facts(decoded, error)
    if decoded.request is not None:
        obj["answers"] = decoded.request.number
    if decoded.is_token:
        obj["saslToken"] = True
    envelope = _envelope(decoded)
    if envelope is None:
        return obj | {"hex": decoded.frame.data.hex()}
    return obj | envelope.to_json("lossless")


def print_whole(decoded: DecodedFrame, error: str | None) -> None:
    """A frame in full, as tables."""
    from kraftwire.cli.message_rows import COLUMNS as FIELD_COLUMNS
    from kraftwire.cli.message_rows import envelope_rows, title

    facts = frame_facts(decoded, error)
    number = str(facts.pop("frame"))
    print_table(("frame", number), [item for item in facts.items() if item[1] is not None])
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


def _timestamp(seconds: float) -> str | None:
    """ISO 8601 to the microsecond; None for a time that is no date."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
