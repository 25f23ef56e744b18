"""Explains a message, a version before it, and consumers' messages inside it."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema import Label, Part, body_schema
from kraftwire.explain.rows import RowReport, Scope
from kraftwire.explain.trace import Remark, Trace
from kraftwire_wire.canonical import deviations_from
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

_CONSUMER = "consumer"
_SUBSCRIPTION = "ConsumerProtocolSubscription"
_ASSIGNMENT = "ConsumerProtocolAssignment"
_BLOBS = {
    ("JoinGroupRequest", "metadata"): _SUBSCRIPTION,
    ("JoinGroupResponse", "metadata"): _SUBSCRIPTION,
    ("SyncGroupRequest", "assignment"): _ASSIGNMENT,
    ("SyncGroupResponse", "assignment"): _ASSIGNMENT,
    ("DescribeGroupsResponse", "member_metadata"): _SUBSCRIPTION,
    ("DescribeGroupsResponse", "member_assignment"): _ASSIGNMENT,
    ("GroupMetadataValue", "subscription"): _SUBSCRIPTION,
    ("GroupMetadataValue", "assignment"): _ASSIGNMENT,
}
"""Fields that hold a message if the protocol type of the group is `consumer`."""

_MAX_MARKS = 1000
"""The most fields of one message that are marked as not canonical."""


class MessageTrace(Trace):
    """Explains messages, and the messages inside their bytes fields."""

    def __init__(self, data: bytes, scope: Scope, registry: Registry) -> None:
        super().__init__(data, scope)
        self.registry = registry
        self.message_name = ""
        self._protocol_type: str | None = None
        self._marks: dict[int, str] = {}
        """Remarks on bytes that are not canonical, by offset."""

    def message(self, message: type[Message], version: int) -> DecodeError | None:
        """Explain a message at the current position, below a row with its name."""
        self.message_name = message.__name__
        scope = self.scope
        scope.add("message", message.__name__, self.tell(), note=f"version {version}")
        self.scope = scope.inside(0)
        self._marks = _marks(message, version, self.data, self.tell())
        try:
            _, error = self.parse(body_schema(message, version))
        except RecursionError:
            deep = "its structs nest too deeply to be explained"
            raise KraftwireError(f"{message.__name__}: {deep}") from None
        self.scope = scope
        return error

    def whole(self, message: type[Message], version: int) -> DecodeError | None:
        """Explain a message that extends to the end of the data."""
        error = self.message(message, version)
        if error is not None:
            return error
        return self.check_end(f"{message.__name__} version {version}")

    def prefixed(self, message: type[Message]) -> DecodeError | None:
        """Explain a version as int16, and a message to the end of the data."""
        version, error = self.parse(number("version", "int16", c.Int16sb))
        if error is not None:
            return error
        return self.in_version(message, version, 0)

    def in_version(self, message: type[Message], version: int, at: int) -> DecodeError | None:
        """Explain a message to the end of the data; its version was read at byte `at`."""
        if version in message.VALID_VERSIONS:
            return self.whole(message, version)
        reason = str(UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS))
        return self.refuse(reason, "version", at)

    def remark(self, part: Part, value: Any) -> Remark:
        start = self.start
        return Remark(note=self._marks.get(start, "") if self.tell() > start else "")

    def after(self, part: Part, value: Any, scope: Scope) -> None:
        """Remember the protocol type, which determines what later bytes fields contain."""
        if part.name == "protocol_type" and part.role == "value":
            self._protocol_type = value

    def opens(self, part: Part, value: Any, scope: Scope) -> bool:
        """Explain the messages that consumers embed in the messages of their groups."""
        blob = _BLOBS.get((self.message_name, part.name))
        if blob is None or self._protocol_type != _CONSUMER or blob not in self.registry:
            return False
        message = self.registry.message(blob)
        # Brokers do not check these bytes, so they may not be a message: try first.
        if MessageTrace(value, Scope(RowReport(lambda _row: None)), self.registry).prefixed(
            message
        ):
            return False
        scope.add("opened", part.type, 0, len(value), name=part.name)
        MessageTrace(value, scope.inside(0), self.registry).prefixed(message)
        return True


def number(name: str, type_name: str, kind: Any) -> Any:
    """Return the schema of a number outside of messages."""
    return Label(kind, Part("value", type_name, name, name))


def _marks(message: type[Message], version: int, data: bytes, start: int) -> dict[int, str]:
    """Return remarks on bytes that are not canonical, by offset, or {} if decoding fails."""
    codec = message.codec(version)
    try:
        decoded, end = codec.decode_from(data, start)
        if codec.encode(decoded) == data[start:end]:
            return {}
        found = deviations_from(message, data, version, start, limit=_MAX_MARKS)
    except (KraftwireError, RecursionError):
        return {}
    return {one.offset: f"not canonical: {one.reason}" for one in found}
