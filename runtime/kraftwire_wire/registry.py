"""Finds the messages of a spec set by name, API key or record id, and imports them on first use.

The generator writes plain names and numbers into the package of a set, so importing the package
imports none of its messages.

`Registry` also encodes and decodes requests and responses with their headers. LAYOUT lists the
header version for each body version. The one exception is handled here: a broker that does not
know the version of an ApiVersionsRequest answers in version 0 with error 35 (KIP-511).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from struct import Struct as Form
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kraftwire_wire.errors import DecodeError, EncodeError, KraftwireError

if TYPE_CHECKING:
    from kraftwire_wire.message import Message

M = TypeVar("M", bound="Message")

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35

_KEY_AND_VERSION = Form(">hh")


class RecordClasses(NamedTuple):
    """The message classes of one type of stored record; metadata records have no key."""

    key: type[Message] | None
    value: type[Message]


class Registry:
    """The messages of one generated package."""

    def __init__(
        self,
        package: str,
        *,
        release: str,
        messages: Mapping[str, str],
        requests: Mapping[int, str],
        responses: Mapping[int, str],
        records: Mapping[str, Mapping[int, tuple[str | None, str]]],
        control_records: Mapping[int, str] = {},
    ) -> None:
        """`messages` maps each name to its module; the other tables contain these names."""
        self.package = package
        self.release = release
        self._messages = messages
        self._loaded: dict[str, type[Message]] = {}
        self._requests = requests
        self._responses = responses
        self._records = records
        self.record_ids = {log: tuple(ids) for log, ids in records.items()}
        """The record ids of each log that has typed records."""
        self.control_records = control_records
        """Control record types of a draft, in addition to Kafka's own (`records`)."""

    # -- finding classes -------------------------------------------------------------------

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all messages, in alphabetical order."""
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, name: object) -> bool:
        return name in self._messages

    @property
    def api_keys(self) -> tuple[int, ...]:
        """The API keys that have a request."""
        return tuple(self._requests)

    def message(self, name: str) -> type[Message]:
        loaded = self._loaded.get(name)
        if loaded is None:
            module = self._messages.get(name)
            if module is None:
                raise KraftwireError(f"{self.package} has no message {name!r}")
            loaded = getattr(import_module(f"{self.package}.{module}"), name)
            self._loaded[name] = loaded
        return loaded

    def request(self, api_key: int) -> type[Message]:
        return self._by_key(self._requests, api_key, "request")

    def response(self, api_key: int) -> type[Message]:
        return self._by_key(self._responses, api_key, "response")

    def _by_key(self, table: Mapping[int, str], api_key: int, what: str) -> type[Message]:
        name = table.get(api_key)
        if name is None:
            raise KraftwireError(f"{self.package} has no {what} with API key {api_key}")
        return self.message(name)

    def record(self, log: str, record_id: int) -> RecordClasses:
        """Return the message classes of a log's record with this id.

        Logs of the Kafka set: cluster-metadata, remote-log, group, share, transaction.
        """
        ids = self._records.get(log)
        if ids is None:
            known = ", ".join(self._records) or "none"
            raise KraftwireError(f"{self.package} knows no records of {log!r}; it knows {known}")
        names = ids.get(record_id)
        if names is None:
            raise KraftwireError(f"{self.package} has no {log} record with id {record_id}")
        key, value = names
        return RecordClasses(self.message(key) if key else None, self.message(value))

    # -- requests --------------------------------------------------------------------------

    def decode_request_header(self, frame: bytes, *, lenient: bool = False) -> tuple[Any, int]:
        """Return the header of a request, and the position of its body.

        Accepts versions newer than the set, so that a broker can still answer the request.
        """
        if len(frame) < _KEY_AND_VERSION.size:
            raise DecodeError(f"{len(frame)} bytes are not a request", offset=0)
        api_key, version = _KEY_AND_VERSION.unpack_from(frame)
        if api_key not in self._requests:
            raise DecodeError(f"no request has API key {api_key}", "request_api_key", 0)
        request = self.request(api_key)
        known = min(max(version, request.VALID_VERSIONS[0]), request.VALID_VERSIONS[-1])
        header = self.message("RequestHeader")
        codec = header.codec(request.header_version(known))
        return codec.decode_from(frame, lenient=lenient)

    def decode_request(self, frame: bytes, *, lenient: bool = False) -> tuple[Any, Message]:
        """Decode a request without its length prefix; return the header and the message."""
        header, start = self.decode_request_header(frame, lenient=lenient)
        request = self.request(header.request_api_key)
        version = header.request_api_version
        return header, decode_rest(request, version, frame, start, lenient=lenient)

    def request_header(
        self, message: Message, version: int, *, correlation_id: int, client_id: str | None = None
    ) -> Any:
        """Return the header to send before a request."""
        header: Any = self.message("RequestHeader")()
        header.request_api_key = message.API_KEY
        header.request_api_version = version
        header.correlation_id = correlation_id
        header.client_id = client_id
        return header

    def encode_request(self, header: Any, message: Message) -> bytes:
        """Return a request without its length prefix, in the version from the header."""
        _check_kind(message, "request", header)
        version = header.request_api_version
        body = message.encode(version)
        return bytes(header.encode(message.header_version(version))) + body

    # -- responses -------------------------------------------------------------------------

    def decode_response(
        self, frame: bytes, request_header: Any, *, lenient: bool = False
    ) -> tuple[Any, Message]:
        """Decode a response without its length prefix; return the header and the message."""
        response = self.response(request_header.request_api_key)
        version = request_header.request_api_version
        header_codec = self.message("ResponseHeader").codec(_response_header(response, version))
        header: Any
        header, start = header_codec.decode_from(frame, lenient=lenient)
        expected = request_header.correlation_id
        if header.correlation_id != expected and not lenient:
            reason = f"answers request {header.correlation_id}, not request {expected}"
            raise DecodeError(reason, "correlation_id", 0)
        if response.API_KEY == API_VERSIONS:
            error_code = int.from_bytes(frame[start : start + 2], signed=True)
            version = 0 if error_code == UNSUPPORTED_VERSION else version
        return header, decode_rest(response, version, frame, start, lenient=lenient)

    def encode_response(
        self, request_header: Any, message: Message, header: Any | None = None
    ) -> bytes:
        """Return the response to a request, without its length prefix.

        Pass a `header` to send unknown tagged fields in it.
        """
        _check_kind(message, "response", request_header)
        version = request_header.request_api_version
        if header is None:
            new_header: Any = self.message("ResponseHeader")()
            new_header.correlation_id = request_header.correlation_id
            header = new_header
        body = message.encode(response_version(message, version))
        return bytes(header.encode(_response_header(type(message), version))) + body


def _check_kind(message: Message, kind: str, request_header: Any) -> None:
    """Raise unless a message is of a kind and has the API key of a request header."""
    name, key = type(message).__name__, request_header.request_api_key
    if message.LAYOUT.type != kind:
        raise EncodeError(f"{name} is not a {kind}")
    if key != message.API_KEY:
        reason = f"{key}, but the API key of {name} is {message.API_KEY}"
        raise EncodeError(reason, "request_api_key")


def decode_rest(
    message: type[M], version: int, frame: bytes, start: int, *, lenient: bool = False
) -> M:
    """Decode a message between `start` and the end; errors have offsets in the whole frame."""
    codec = message.codec(version)
    decoded, end = codec.decode_from(frame, start, lenient=lenient)
    if not lenient:
        codec.check_end(frame, end)
    return decoded


def _response_header(response: type[Message], version: int) -> int:
    """Return a response's header version: 0 for every version of ApiVersions, even unknown ones."""
    if response.API_KEY == API_VERSIONS:
        return 0
    if version not in response.VALID_VERSIONS:
        response.codec(version)  # raises UnsupportedVersion
    return response.header_version(version)


def response_version(message: Message, version: int) -> int:
    """Return the version of a response to a request in `version`, considering KIP-511."""
    if message.API_KEY != API_VERSIONS or message.LAYOUT.type != "response":
        return version
    return 0 if getattr(message, "error_code", 0) == UNSUPPORTED_VERSION else version
