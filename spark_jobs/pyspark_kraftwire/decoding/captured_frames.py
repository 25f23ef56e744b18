"""Decodes captured requests and responses to structs.

Frames have no length prefix, as in a cassette. A response does not name its API, so it is decoded
with its request. The struct of an unreadable frame has only the error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kraftwire.capture.decoding.decoder import decode_request_body
from kraftwire.columns import message_type
from kraftwire.columns.messages import message_array
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.registry import response_version
from pyspark_kraftwire.columns.record_kinds import message_column
from pyspark_kraftwire.columns.spark_types import cast_array

_HEADER_FIELDS = (
    ("name", pa.string()),
    ("api_key", pa.int32()),
    ("version", pa.int32()),
    ("correlation_id", pa.int32()),
    ("client_id", pa.string()),
)


def rpc_type(message: type[Message] | None) -> pa.DataType:
    """Return the type of a frame: fields of its header, the message, and an error.

    The message is a struct if `message` is given, otherwise JSON as Kafka's converter prints it.
    """
    kind = pa.string() if message is None else message_column(message)
    return pa.struct([*_HEADER_FIELDS, ("message", kind), ("error", pa.string())])


@dataclass(slots=True)
class _FrameRow:
    header: Any = None
    message: Message | None = None
    version: int = 0
    error: str | None = None


def frame_structs(
    requests: pa.Array, responses: pa.Array | None, named: type[Message] | None
) -> pa.StructArray:
    """Decode requests, or the responses to them, to structs of `rpc_type`.

    If `named` is given, frames of other messages have no message and no error.
    """
    is_response = responses is not None
    beside = responses if responses is not None else requests
    rows = [
        _read(request.as_py(), other.as_py(), is_response)
        for request, other in zip(requests, beside, strict=True)
    ]
    headers = [row.header for row in rows]
    columns: dict[str, Any] = {
        "name": [type(row.message).__name__ if row.message is not None else None for row in rows],
        "api_key": [header and header.request_api_key for header in headers],
        "version": [row.version if row.header else None for row in rows],
        "correlation_id": [header and header.correlation_id for header in headers],
        "client_id": [header and header.client_id for header in headers],
        "error": [row.error for row in rows],
    }
    fields = list(rpc_type(named))
    arrays = [
        (
            _messages(rows, named)
            if field.name == "message"
            else pa.array(columns[field.name], field.type)
        )
        for field in fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _read(request: bytes | None, response: bytes | None, is_response: bool) -> _FrameRow:
    row = _FrameRow()
    if request is None or response is None:
        return row
    try:
        row.header, start = registry.decode_request_header(request)
        row.version = row.header.request_api_version
        if is_response:
            _, row.message = registry.decode_response(response, row.header)
            row.version = response_version(row.message, row.version)
        else:
            row.message, _ = decode_request_body(registry, row.header, request, start)
    except KraftwireError as error:
        row.error = str(error)
    return row


def _messages(rows: list[_FrameRow], named: type[Message] | None) -> pa.Array:
    if named is None:
        texts = [
            (
                None
                if row.message is None
                else json.dumps(row.message.to_json(row.version, style="java"))
            )
            for row in rows
        ]
        return pa.array(texts, pa.string())
    found = [row.message if type(row.message) is named else None for row in rows]
    return cast_array(message_array(found, message_type(named)), message_column(named))
