"""Decodes recorded frames, and pairs responses with their requests.

A response has neither its API nor its version. It is read with the header of the request on the
same connection that has its correlation id. Rules:

- A response belongs to the oldest unanswered request of its connection with its correlation
  id. Clients may reuse an id, and brokers do not always keep the order.
- A Produce request with acks=0 gets no response, so none is expected.
- A recording may begin and end anywhere: a response without its request cannot be decoded, a
  request without a response can.
- A broker that does not know the version of an ApiVersions request answers in version 0 with
  error 35; `Registry` reads and writes such responses (KIP-511).
- After SaslHandshake version 0, both sides send the tokens of the mechanism without a header
  (KIP-43), until the client sends a request that can be read. Such frames are tokens: they
  have no message and no error.
- If too many requests are unanswered, the oldest are forgotten.
- Requests are read as a broker reads them: one that strict reading refuses, but Kafka's own classes
  read, gets a note instead of an error. Old versions of librdkafka write an int32 0 after an
  ApiVersions request; such bytes are kept as `trailing`. After SaslHandshake version 0 only a
  request that reads strictly ends the tokens: a token mistaken for a request would not be redacted.

A frame that cannot be decoded carries the reason; the other frames are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kraftwire.capture.decoding.request_queue import RequestQueue
from kraftwire.capture.frame import Frame
from kraftwire_wire.canonical import Deviation, frame_deviations
from kraftwire_wire.errors import DecodeError, KraftwireError, count_of
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey
from kraftwire_wire.registry import Registry, response_version

# Plain numbers: comparing with members of an enum costs a few percent of decoding.
_PRODUCE, _SASL_HANDSHAKE = int(ApiKey.PRODUCE), int(ApiKey.SASL_HANDSHAKE)
_CORRELATION_ID_SIZE = 4
_MAX_UNANSWERED = 100_000
_MAX_UNANSWERED_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class DecodedFrame:
    """A frame and its content.

    Fields:
        number: counts the frames of the recording, from 1.
        frame: the frame itself.
        header: the request header or response header; None if it could not be read.
        message: the request or response; None if it could not be read.
        error: why something could not be read; None if everything could.
        request: the request that a response answers; None for requests, and for responses
            whose request was not recorded.
        api: the API's name, such as `Metadata`; None if it is unknown.
        is_token: whether it is a SASL token, which has neither header nor message.
        note: why strict reading refuses a request that a broker reads; None if it does not.
        trailing: the bytes after a request's message, which brokers do not read.
    """

    number: int
    frame: Frame
    header: Any = None
    message: Message | None = None
    error: KraftwireError | None = None
    request: DecodedFrame | None = None
    api: str | None = None
    is_token: bool = False
    note: KraftwireError | None = None
    trailing: bytes = b""

    @property
    def request_header(self) -> Any:
        """The header of the request, or of the request that a response answers."""
        return self.header if self.request is None else self.request.header

    @property
    def api_key(self) -> int | None:
        """The number of the API; None if it is unknown."""
        return None if self.api is None else self.request_header.request_api_key

    @property
    def version(self) -> int | None:
        """The version of the request; None if it is unknown."""
        return None if self.api is None else self.request_header.request_api_version

    @property
    def awaits_response(self) -> bool:
        """Whether this is a request that a broker answers."""
        if self.header is None or self.frame.direction == "response":
            return False
        return self.api_key != _PRODUCE or getattr(self.message, "acks", None) != 0

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
        version = response_version(message, version)
        header = type(self.header), message.header_version(version)
        body = type(message), version
        return frame_deviations(header, body, self.frame.data, lenient=self.note is not None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, and its response if it got one."""

    request: DecodedFrame
    response: DecodedFrame | None


class FrameDecoder:
    """Decodes frames in order; holds requests until their responses come."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._unanswered = RequestQueue(_MAX_UNANSWERED, _MAX_UNANSWERED_BYTES)
        self._in_tokens: set[int] = set()
        self._count = 0

    def decode(self, frame: Frame) -> DecodedFrame:
        self._count += 1
        if frame.direction == "response":
            return self._decode_response(frame)
        decoded = _decode_request(self._count, frame, self._registry)
        if frame.connection in self._in_tokens:
            if decoded.error is not None or decoded.note is not None:
                return DecodedFrame(self._count, frame, is_token=True)
            self._in_tokens.discard(frame.connection)
        if decoded.api_key == _SASL_HANDSHAKE and decoded.version == 0 and decoded.error is None:
            self._in_tokens.add(frame.connection)
        if decoded.awaits_response:
            key = frame.connection, decoded.header.correlation_id
            self._unanswered.add(key, decoded)
        return decoded

    def _decode_response(self, frame: Frame) -> DecodedFrame:
        number, raw_id = self._count, frame.data[:_CORRELATION_ID_SIZE]
        request = None
        if len(raw_id) == _CORRELATION_ID_SIZE:
            request = self._unanswered.take((frame.connection, int.from_bytes(raw_id, signed=True)))
        if request is None:
            if frame.connection in self._in_tokens:
                return DecodedFrame(number, frame, is_token=True)
            reason = "answers no request of this recording"
            if len(raw_id) < _CORRELATION_ID_SIZE:
                reason = f"{count_of(len(frame.data), 'byte')} cannot hold one"
            return DecodedFrame(number, frame, error=DecodeError(reason, "correlation_id", 0))
        header = message = error = None
        try:
            header, message = self._registry.decode_response(frame.data, request.header)
        except KraftwireError as problem:
            error = problem
        return DecodedFrame(number, frame, header, message, error, request, request.api)


def decode_frames(frames: Iterable[Frame], registry: Registry) -> Iterator[DecodedFrame]:
    """Yield the decoded frames, in order."""
    return map(FrameDecoder(registry).decode, frames)


def pair(frames: Iterable[DecodedFrame]) -> list[Exchange]:
    """Return the exchanges of decoded frames, in the order of the requests.

    Responses whose request was not recorded are left out.
    """
    requests: dict[int, DecodedFrame] = {}
    responses: dict[int, DecodedFrame] = {}
    for decoded in frames:
        if decoded.frame.direction == "request":
            requests[decoded.number] = decoded
        elif decoded.request is not None:
            responses[decoded.request.number] = decoded
    return [Exchange(request, responses.get(number)) for number, request in requests.items()]


def decode_request_body(
    registry: Registry, header: Any, frame: bytes, start: int, *, lenient: bool = False
) -> tuple[Message, int]:
    """Return the message of a request whose header has been decoded, and where it ends.

    A message that ends before the frame does is an error, unless `lenient`.
    """
    codec = registry.request(header.request_api_key).codec(header.request_api_version)
    message, end = codec.decode_from(frame, start, lenient=lenient)
    if not lenient:
        codec.check_end(frame, end)
    return message, end


def _decode_request(number: int, frame: Frame, registry: Registry) -> DecodedFrame:
    """Decode a request strictly; if that fails, leniently, as a broker does."""
    data = frame.data
    header = message = error = note = api = None
    trailing = b""
    start = 0
    try:
        header, start = registry.decode_request_header(data)
        message, _ = decode_request_body(registry, header, data, start)
    except KraftwireError as problem:
        error = problem
    if error is not None:
        try:
            if header is None:
                header, start = registry.decode_request_header(data, lenient=True)
            message, end = decode_request_body(registry, header, data, start, lenient=True)
            note, error, trailing = error, None, data[end:]
        except KraftwireError:
            pass  # a broker refuses it too
    if header is not None:
        api = registry.request(header.request_api_key).__name__.removesuffix("Request")
    return DecodedFrame(
        number, frame, header, message, error, api=api, note=note, trailing=trailing
    )
