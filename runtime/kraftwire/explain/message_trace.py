"""The rows of one message, of the version before it, and of what consumers put into theirs."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema import Labelled, Part, body_schema
from kraftwire.explain.rows import Report, Row, Scope
from kraftwire.explain.trace import Said, Trace
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
"""Bytes that are messages where the message says that its group is one of consumers."""

_MAX_MARKS = 1000
"""How many places of one message are marked as not canonical."""


class MessageTrace(Trace):
    """Reads messages, and opens bytes in them where it is plain what they hold."""

    def __init__(self, data: bytes, scope: Scope, registry: Registry) -> None:
        super().__init__(data, scope)
        self.registry = registry
        self.message_name = ""
        self._protocol_type: str | None = None
        self._marks: dict[int, str] = {}
        """What of the message is not canonical, by where it starts."""

    def message(self, message: type[Message], version: int) -> DecodeError | None:
        """The rows of a message that starts here, below a row with its name."""
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
        """The same for a message that fills the rest."""
        error = self.message(message, version)
        if error is not None:
            return error
        return self.check_end(f"{message.__name__} version {version}")

    def prefixed(self, message: type[Message]) -> DecodeError | None:
        """A version as int16, and a message in it that fills the rest."""
        version, error = self.parse(number("version", "int16", c.Int16sb))
        if error is not None:
            return error
        return self.in_version(message, version, 0)

    def in_version(self, message: type[Message], version: int, at: int) -> DecodeError | None:
        """A message that fills the rest, in a version that was read at a byte."""
        if version not in message.VALID_VERSIONS:
            return self.refuse_version(message, version, at)
        return self.whole(message, version)

    def refuse_version(self, message: type[Message], version: int, at: int) -> DecodeError:
        """The error for a version that a message does not have."""
        reason = str(UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS))
        return self.refuse(reason, "version", at)

    def say(self, part: Part, value: Any) -> Said:
        """Mark bytes that encoding the message would not write."""
        start = self.start
        mark = self._marks.get(start, "") if self.tell() > start else ""
        return Said(note=mark)

    def behind(self, part: Part, value: Any, scope: Scope) -> None:
        """Remember what says what later bytes are."""
        if part.name == "protocol_type" and part.role == "value":
            self._protocol_type = value

    def opens(self, part: Part, value: Any, scope: Scope) -> bool:
        """What consumers write into the messages of their groups."""
        blob = _BLOBS.get((self.message_name, part.name))
        if blob is None or self._protocol_type != _CONSUMER or blob not in self.registry:
            return False
        message = self.registry.message(blob)
        # Nobody but the clients reads these bytes: they may be something else.
        if MessageTrace(value, Scope(Report(_nowhere)), self.registry).prefixed(message):
            return False
        scope.add("opened", part.type, 0, len(value), name=part.name)
        MessageTrace(value, scope.inside(0), self.registry).prefixed(message)
        return True


def number(name: str, type_name: str, kind: Any) -> Any:
    """A number that stands before a message."""
    return Labelled(kind, Part("value", type_name, name, name))


def _marks(message: type[Message], version: int, data: bytes, start: int) -> dict[int, str]:
    """What to say of bytes that are not canonical; nothing of a message that cannot be read."""
    codec = message.codec(version)
    try:
        decoded, end = codec.decode_from(data, start)
        if codec.encode(decoded) == data[start:end]:
            return {}
        found = deviations_from(message, data, version, start, limit=_MAX_MARKS)
    except (KraftwireError, RecursionError):
        return {}
    return {one.offset: f"not canonical: {one.reason}" for one in found}


def _nowhere(_row: Row) -> None:
    """A sink for rows that nobody wants."""
