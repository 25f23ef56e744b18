"""A decoded frame as JSON, as a row of a table, and in full."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kraftwire.capture.pairing import DecodedFrame
from kraftwire.cli.messages.envelope import Envelope, deviations_json
from kraftwire.console.output import print_table
from kraftwire_wire.canonical import Deviation, summary
from kraftwire_wire.registry import Registry, answered_version

# Short, so that a row fits a line of 80 characters; the JSON has the whole words.
COLUMNS = ("frame", "conn", "direction", "API", "corr id", "client id", "bytes", "error", "note")
FOLDED = ("API", "client id", "error", "note")
OPTIONAL = ("error", "note")
"""Columns that are left out if no frame has anything in them."""

NOT_ENCODED_BACK = "does not encode back to the same bytes"
_TOKEN = "SASL token"  # noqa: S105


class Verdict(NamedTuple):
    """What is to be said of a frame beside what it says itself.

    Fields:
        error: what is wrong with it, which is a finding.
        note: what is unusual about it.
        deviations: where it is not canonical.
    """

    error: str | None
    note: str | None = None
    deviations: Sequence[Deviation] = ()


def judge(decoded: DecodedFrame, registry: Registry) -> Verdict:
    """Return what is wrong with a frame, and what is unusual about it."""
    if decoded.error is not None:
        return Verdict(str(decoded.error))
    note = None
    if decoded.note is not None:
        read = "brokers do not read them" if decoded.trailing else "brokers read it all the same"
        note = f"{decoded.note}; {read}"
    if decoded.encodes_back(registry):
        return Verdict(None, note)
    deviations = decoded.deviations()
    if decoded.note is None and deviations:
        note = summary(deviations)
    return Verdict(NOT_ENCODED_BACK, note, deviations)


def cells(decoded: DecodedFrame, verdict: Verdict) -> Sequence[object]:
    """A frame as a row of the table; an API is written as `3 Metadata v12`."""
    api = _TOKEN if decoded.is_token else None
    if decoded.api is not None:
        api = f"{decoded.api_key} {decoded.api} v{decoded.version}"
    facts = frame_facts(decoded, verdict)
    keys = ("correlationId", "clientId", "bytes", "error", "note")
    before = decoded.number, decoded.frame.connection, decoded.frame.direction, api
    return *before, *(facts.get(key) for key in keys)


def frame_facts(decoded: DecodedFrame, verdict: Verdict) -> dict[str, Any]:
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
        "error": verdict.error,
    }
    if verdict.note is not None:
        facts["note"] = verdict.note
    if decoded.trailing:
        facts["trailing"] = decoded.trailing.hex()
    return facts


def frame_json(decoded: DecodedFrame, verdict: Verdict) -> dict[str, Any]:
    """All of a frame: what `kraftwire decode` prints for a message, and where it was."""
    obj = frame_facts(decoded, verdict)
    if verdict.deviations:
        obj["notCanonical"] = deviations_json(verdict.deviations)
    if decoded.request is not None:
        obj["answers"] = decoded.request.number
    if decoded.is_token:
        obj["saslToken"] = True
    envelope = _envelope(decoded)
    if envelope is None:
        return obj | {"hex": decoded.frame.data.hex()}
    return obj | envelope.to_json("lossless")


def print_whole(decoded: DecodedFrame, verdict: Verdict) -> None:
    """A frame in full, as tables."""
    from kraftwire.cli.messages.message_rows import COLUMNS as FIELD_COLUMNS
    from kraftwire.cli.messages.message_rows import envelope_rows, title

    facts = frame_facts(decoded, verdict)
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
