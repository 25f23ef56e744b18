"""Explains records whose keys and values are messages: of Kafka's own topics and control batches.

`kraftwire_wire.records` describes the framing; each number in it is a row.
"""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema import UVARINT, Label, Part
from kraftwire.explain.message_trace import MessageTrace, number
from kraftwire.explain.rows import Scope
from kraftwire.explain.trace import Remark
from kraftwire.log.queries.typed_records import KEYLESS
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import FRAME_VERSION, ControlType, control_message
from kraftwire_wire.registry import Registry


class _TypedTrace(MessageTrace):
    """Explains keys and values; names the types of control records."""

    def remark(self, part: Part, value: Any) -> Remark:
        if part.name == "control_type" and value in set(ControlType):
            return Remark(ControlType(value).name)
        return super().remark(part, value)


class RecordOpener:
    """Explains the keys and values of records of one log, or of control records."""

    def __init__(self, registry: Registry, log: str | None, *, is_control: bool) -> None:
        self._registry = registry
        self._is_control = is_control
        self._log = log if log in registry.record_ids else None
        self._id: int | None = None

    def begin(self, record_id: int | None = None) -> None:
        """Begin the next record; pass its id if its key will not be explained."""
        self._id = record_id

    def opens(self, part: Part, raw: bytes, scope: Scope) -> bool:
        """Add the rows of a key or value; return False if its type is unknown."""
        is_key = part.name == "key"
        if not self._is_control and (self._log is None or (is_key and self._log in KEYLESS)):
            return False
        scope.add("opened", part.type, 0, len(raw), name=part.name)
        trace = _TypedTrace(raw, scope.inside(0), self._registry)
        has_keys = self._is_control or self._log not in KEYLESS
        if has_keys and not is_key and self._id is None:
            trace.refuse(
                "the type of the value is unknown, since the record has no valid key", "", 0
            )
        elif self._is_control:
            (self._control_key if is_key else self._control_value)(trace)
        elif self._log in KEYLESS:
            self._metadata_value(trace, self._log or "")
        else:
            (self._coordinator_key if is_key else self._coordinator_value)(trace, self._log or "")
        return True

    def _control_key(self, trace: MessageTrace) -> None:
        schema = c.Struct(
            "version" / number("version", "int16", c.Int16sb),
            "type" / number("control_type", "int16", c.Int16sb),
        )
        key, error = trace.parse(schema)
        if error is None:
            self._id = key.type
            left = len(trace.data) - trace.covered
            if left:  # later versions may append to the key
                trace.parse(Label(c.Bytes(left), Part("value", "bytes", "rest", "rest")))

    def _control_value(self, trace: MessageTrace) -> None:
        assert self._id is not None
        try:
            message = control_message(self._registry, self._id)
        except KraftwireError as error:
            trace.refuse(str(error), "", 0)
            return
        if self._id in (ControlType.ABORT, ControlType.COMMIT):
            trace.prefixed(message)
        elif len(trace.data) < 2:
            trace.refuse("a version takes 2 bytes", "version", 0)
        else:
            # The first field of these messages is their version.
            trace.in_version(message, int.from_bytes(trace.data[:2], signed=True), 0)

    def _metadata_value(self, trace: MessageTrace, log: str) -> None:
        names = ("frame_version", "record_id", "record_version")
        places: list[int] = []
        values: list[int] = []
        for name in names:
            places.append(trace.tell())
            value, error = trace.parse(number(name, "unsigned varint", UVARINT))
            if error is not None:
                return
            values.append(value)
            if name == "frame_version" and value != FRAME_VERSION:
                trace.refuse(f"{value} is not supported; only {FRAME_VERSION} is", name, 0)
                return
            if name == "record_id" and value not in self._registry.record_ids[log]:
                trace.refuse(f"no {log} record has id {value}", name, places[-1])
                return
        trace.in_version(self._registry.record(log, values[1]).value, values[2], places[2])

    def _coordinator_key(self, trace: MessageTrace, log: str) -> None:
        record_id, error = trace.parse(number("record_id", "int16", c.Int16sb))
        if error is not None:
            return
        if record_id not in self._registry.record_ids[log]:
            trace.refuse(f"no {log} record has id {record_id}", "record_id", 0)
            return
        self._id = record_id
        key = self._registry.record(log, record_id).key
        assert key is not None, "coordinators' records have keys"
        trace.whole(key, key.VALID_VERSIONS[0])

    def _coordinator_value(self, trace: MessageTrace, log: str) -> None:
        assert self._id is not None
        trace.prefixed(self._registry.record(log, self._id).value)
