"""The file `quorum-state`: a raft node's vote and leader, as one line of JSON.

It is the JSON form of the message QuorumStateData with one more key, `data_version`, the
version of the message.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from kraftwire.log.errors import CorruptBatch
from kraftwire_messages import kip_856
from kraftwire_messages.kafka import QuorumStateData
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.json_text import RepeatedKey, parse_json

_VERSION_KEY = "data_version"
_VOTE_OF_DRAFT = "votedUuid"


class QuorumState(NamedTuple):
    """The message, and the version in which it was stored."""

    message: QuorumStateData
    version: int


def decode_quorum_state(data: bytes, file: str = "<bytes>") -> QuorumState:
    """Return the content of `quorum-state`, or of KIP-856's `quorum-state.json`."""
    try:
        obj = parse_json(data)
        version = obj.pop(_VERSION_KEY)
    except RepeatedKey as error:
        raise CorruptBatch(file, 0, str(error)) from None
    except (ValueError, AttributeError, KeyError, TypeError):
        raise CorruptBatch(file, 0, f"not a JSON object with {_VERSION_KEY}") from None
    if type(version) is not int:
        raise CorruptBatch(file, 0, f"{_VERSION_KEY} is not a number")
    try:
        read = _read_draft if _VOTE_OF_DRAFT in obj else QuorumStateData.from_json
        return QuorumState(read(obj, version), version)
    except KraftwireError as error:
        raise CorruptBatch(file, 0, str(error)) from None


def _read_draft(obj: object, version: int) -> QuorumStateData:
    """Read version 1 of the draft, whose cluster and applied offset the shipped one lacks."""
    draft = kip_856.QuorumStateData.from_json(obj, version)
    return QuorumStateData(
        leader_id=draft.leader_id,
        leader_epoch=draft.leader_epoch,
        voted_id=draft.voted_id,
        voted_directory_id=draft.voted_uuid,
    )


def encode_quorum_state(state: QuorumState) -> bytes:
    """Return the content of `quorum-state`."""
    obj = state.message.to_json(state.version) | {_VERSION_KEY: state.version}
    return json.dumps(obj, separators=(",", ":")).encode()
