"""Decoding recorded frames, which takes putting requests and responses together.

A response says neither its API nor its version; it is read with the header of the request
whose correlation id it repeats, on the same connection. Rules:

- A response belongs to the oldest request of its connection with its correlation id that
  has no response yet. Clients may use an id again, and brokers do not always keep order.
- A Produce request with acks=0 has no response, and does not wait for one.
- A recording may begin and end anywhere: a response whose request is not there cannot be
  decoded, a request without a response can.
- A broker that does not know the version of an ApiVersions request answers in version 0
  with error 35; `Registry` reads and writes that (KIP-511).
- Behind SaslHandshake version 0, both sides send the tokens of the mechanism as they are,
  without a header (KIP-43), until the client sends a request that can be read. Such frames
  are tokens: they have no message, and no error.
- Requests that are never answered are forgotten, the oldest first, when there are too many.
- Requests are read as a broker reads them: what strict reading refuses and Kafka's own classes
  read is a note, not an error. Old versions of librdkafka write an int32 0 after an ApiVersions
  request; such bytes are kept as `trailing`. Tokens are the exception: only a request that reads
  strictly ends them, since a token that is taken for a request would not be redacted.

A frame that cannot be decoded carries the reason and never stops the others.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kraftwire.capture.frame import Frame
from kraftwire_wire.canonical import Deviation, frame_deviations
from kraftwire_wire.errors import DecodeError, KraftwireError, count_of
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry, answered_version

_PRODUCE = 0
_SASL_HANDSHAKE = 17
_CORRELATION_ID_SIZE = 4
_MAX_WAITING = 100_000
_MAX_WAITING_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class DecodedFrame:
    """A frame and what it says.

    Fields:
        number: counts the frames of the recording, from 1.
        frame: the frame itself.
        header: the request header or response header; None where it could not be read.
        message: the request or response; None where it could not be read.
        error: why something could not be read; None where all could.
        request: the request that a response answers; None for requests, and for responses
            whose request is not there.
        api: the API's name, such as `Metadata`; None where it is unknown.
        is_token: whether it is a token of SASL, which has neither header nor message.
        note: why strict reading refuses a request that a broker reads; None if it does not.
        trailing: the bytes after a request's message, which brokers do not read.
    """

    number: int
    frame: Frame
    header: Any
    message: Message | None
    error: KraftwireError | None
    request: DecodedFrame | None
    api: str | None
    is_token: bool = False
    note: KraftwireError | None = None
    trailing: bytes = b""

    @property
    def request_header(self) -> Any:
        """The header of the request, or of the request that a response answers."""
        return self.header if self.request is None else self.request.header

    @property
    def api_key(self) -> int | None:
        """The number of the API; None where it is unknown."""
        return None if self.api is None else self.request_header.request_api_key

    @property
    def version(self) -> int | None:
        """The version that the request has and asks for; None where it is unknown."""
        return None if self.api is None else self.request_header.request_api_version

    def encode(self, registry: Registry) -> bytes:
        """Return the bytes of header, message and `trailing`; raise the frame's error if any."""
        if self.error is not None:
            raise self.error
        if self.is_token:
            return self.frame.data
        assert self.message is not None
        if self.request is None:
            return registry.encode_request(self.header, self.message) + self.trailing
        return registry.encode_response(self.request.header, self.message, self.header)

    def encodes_back(self, registry: Registry) -> bool:
        """Whether header and message were read and encode to the bytes they came from."""
        try:
            return self.encode(registry) == self.frame.data
        except KraftwireError:
            return False

    def deviations(self) -> list[Deviation]:
        """Return where header and message are not canonical; nothing if they were not read."""
        message, version = self.message, self.version
        if message is None or version is None:
            return []
        version = answered_version(message, version)
        header = type(self.header), message.header_version(version)
        body = type(message), version
        return frame_deviations(header, body, self.frame.data, lenient=self.note is not None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and its response where it got one."""

    request: DecodedFrame
    response: DecodedFrame | None


class FrameDecoder:
    """Decodes frames as they come; requests are kept until their responses do."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._waiting = _Waiting()
        self._in_tokens: set[int] = set()
        self._count = 0

    def decode(self, frame: Frame) -> DecodedFrame:
        """Decode the next frame."""
        self._count += 1
        if frame.direction == "response":
            return self._decode_response(frame)
        decoded = _decode_request(self._count, frame, self._registry)
        if frame.connection in self._in_tokens:
            if decoded.error is not None or decoded.note is not None:
                return _token(self._count, frame)
            self._in_tokens.discard(frame.connection)
        if decoded.api_key == _SASL_HANDSHAKE and decoded.version == 0 and decoded.error is None:
            self._in_tokens.add(frame.connection)
        if awaits_response(decoded):
            self._waiting.add(decoded)
        return decoded

    def _decode_response(self, frame: Frame) -> DecodedFrame:
        request = self._waiting.take(frame)
        if request is None and frame.connection in self._in_tokens:
            return _token(self._count, frame)
        return _decode_response(self._count, frame, self._registry, request)


def decode_frames(frames: Iterable[Frame], registry: Registry) -> Iterator[DecodedFrame]:
    """Decode frames, in their order."""
    return map(FrameDecoder(registry).decode, frames)


def pair(frames: Iterable[DecodedFrame]) -> list[Exchange]:
    """The exchanges of decoded frames, in the order of the requests.

    Responses whose request is not there are left out.
    """
    requests: dict[int, DecodedFrame] = {}
    responses: dict[int, DecodedFrame] = {}
    for decoded in frames:
        if decoded.frame.direction == "request":
            requests[decoded.number] = decoded
        elif decoded.request is not None:
            responses[decoded.request.number] = decoded
    return [Exchange(request, responses.get(number)) for number, request in requests.items()]


def _decode_request(number: int, frame: Frame, registry: Registry) -> DecodedFrame:
    header = message = error = note = api = None
    trailing = b""
    try:
        header, message = registry.decode_request(frame.data)
    except KraftwireError as problem:
        error = problem
    try:
        if error is not None:
            header, start = registry.decode_request_header(frame.data, lenient=True)
            message, end = _read_as_broker(registry, header, frame.data, start)
            note, error, trailing = error, None, frame.data[end:]
    except KraftwireError:
        pass  # a broker refuses it too
    if header is not None:
        api = registry.request(header.request_api_key).__name__.removesuffix("Request")
    return DecodedFrame(
        number, frame, header, message, error, None, api, note=note, trailing=trailing
    )


def _read_as_broker(
    registry: Registry, header: Any, data: bytes, start: int
) -> tuple[Message, int]:
    """Return the message that Kafka's own classes read from `start` on, and where it ends."""
    codec = registry.request(header.request_api_key).codec(header.request_api_version)
    return codec.decode_from(data, start, lenient=True)


def _token(number: int, frame: Frame) -> DecodedFrame:
    return DecodedFrame(number, frame, None, None, None, None, None, is_token=True)


def _decode_response(
    number: int, frame: Frame, registry: Registry, request: DecodedFrame | None
) -> DecodedFrame:
    if request is None:
        reason = "answers no request of this recording"
        if len(frame.data) < _CORRELATION_ID_SIZE:
            reason = f"{count_of(len(frame.data), 'byte')} cannot hold one"
        missing = DecodeError(reason, "correlation_id", 0)
        return DecodedFrame(number, frame, None, None, missing, None, None)
    header = message = error = None
    try:
        header, message = registry.decode_response(frame.data, request.header)
    except KraftwireError as problem:
        error = problem
    return DecodedFrame(number, frame, header, message, error, request, request.api)


class _Waiting:
    """Requests that wait for their responses."""

    def __init__(self) -> None:
        # Ordered, since taking the first of a dict again and again passes over all that went.
        self._requests: OrderedDict[tuple[int, int], deque[DecodedFrame]] = OrderedDict()
        self._count = 0
        self._size_bytes = 0

    def add(self, request: DecodedFrame) -> None:
        """Keep a request; forget the oldest where there are too many."""
        key = request.frame.connection, request.header.correlation_id
        self._requests.setdefault(key, deque()).append(request)
        self._count += 1
        self._size_bytes += len(request.frame.data)
        while self._count > _MAX_WAITING or self._size_bytes > _MAX_WAITING_BYTES:
            self._take(next(iter(self._requests)))

    def take(self, response: Frame) -> DecodedFrame | None:
        """The request that a response answers, which then waits no longer."""
        raw_id = response.data[:_CORRELATION_ID_SIZE]
        if len(raw_id) < _CORRELATION_ID_SIZE:
            return None
        key = response.connection, int.from_bytes(raw_id, signed=True)
        return self._take(key) if key in self._requests else None

    def _take(self, key: tuple[int, int]) -> DecodedFrame:
        requests = self._requests[key]
        request = requests.popleft()
        if not requests:
            del self._requests[key]
        self._count -= 1
        self._size_bytes -= len(request.frame.data)
        return request


def awaits_response(request: DecodedFrame) -> bool:
    """Whether a broker answers a request."""
    if request.header is None:
        return False
    return request.api_key != _PRODUCE or getattr(request.message, "acks", None) != 0
