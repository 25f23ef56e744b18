"""Explains messages and frames: requests and responses with their headers.

Errors have the same offsets and paths as in `Registry.decode_request` and `decode_response`.
"""

from __future__ import annotations

from typing import Any

from kraftwire.construct_schema import Part
from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.message_trace import MessageTrace
from kraftwire.explain.rows import Scope
from kraftwire_wire.errors import DecodeError, UnsupportedVersion
from kraftwire_wire.message import Message
from kraftwire_wire.registry import API_VERSIONS, UNSUPPORTED_VERSION, Registry

_KEY_AND_VERSION = 4
_CORRELATION_ID = 4


class _FrameTrace(MessageTrace):
    """Explains messages, and the record batches inside them."""

    def opens(self, part: Part, value: Any, scope: Scope) -> bool:
        if not part.type.endswith("records"):
            return super().opens(part, value, scope)
        scope.add("opened", part.type, 0, len(value), name=part.name)
        # A broker limits the bytes of its response, so it may cut off the last batch.
        may_be_cut = self.message_name in ("FetchResponse", "FetchSnapshotResponse")
        explainer = BatchExplainer(self.registry, may_be_cut=may_be_cut)
        explainer.run(scope.inside(0), value)
        return True


def explain_message(
    registry: Registry, message: type[Message], version: int, data: bytes, scope: Scope
) -> DecodeError | None:
    """Explain a message without a header that fills the data; may raise `UnsupportedVersion`."""
    return _FrameTrace(data, scope, registry).whole(message, version)


def explain_request(registry: Registry, data: bytes, scope: Scope) -> DecodeError | None:
    """Explain a request with its header, without a length prefix."""
    trace = _FrameTrace(data, scope, registry)
    if len(data) < _KEY_AND_VERSION:
        return trace.refuse(f"{len(data)} bytes are not a request", "", 0)
    api_key = int.from_bytes(data[:2], signed=True)
    version = int.from_bytes(data[2:_KEY_AND_VERSION], signed=True)
    if api_key not in registry.api_keys:
        return trace.refuse(f"no request has API key {api_key}", "request_api_key", 0)
    request = registry.request(api_key)
    valid = request.VALID_VERSIONS
    header_version = request.header_version(min(max(version, valid[0]), valid[-1]))
    error = trace.message(registry.message("RequestHeader"), header_version)
    if error is not None:
        return error
    if version not in valid:
        reason = str(UnsupportedVersion(request.__name__, version, valid))
        return trace.refuse(reason, "request_api_version", 2)
    return trace.whole(request, version)


def explain_response(
    registry: Registry, response: type[Message], version: int, data: bytes, scope: Scope
) -> DecodeError | None:
    """Explain a response with its header; may raise `UnsupportedVersion`."""
    is_versions = response.API_KEY == API_VERSIONS
    # A broker that does not know the version of the request answers in version 0 (KIP-511).
    code = int.from_bytes(data[_CORRELATION_ID : _CORRELATION_ID + 2], signed=True)
    answered = 0 if is_versions and code == UNSUPPORTED_VERSION else version
    response.codec(answered)  # raises UnsupportedVersion
    trace = _FrameTrace(data, scope, registry)
    header_version = 0 if is_versions else response.header_version(version)
    error = trace.message(registry.message("ResponseHeader"), header_version)
    if error is not None:
        return error
    return trace.whole(response, answered)
