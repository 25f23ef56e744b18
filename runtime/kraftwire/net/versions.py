"""Chooses the version of a message from what ApiVersions reports (KIP-35)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import NamedTuple

from kraftwire.net.errors import NoCommonVersion
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey


class Encoded(NamedTuple):
    """An encoded message and its version."""

    version: int
    body: bytes


def api_versions_request() -> ApiVersionsRequest:
    """Return a request with the name and version of this software."""
    return ApiVersionsRequest(
        client_software_name="kraftwire", client_software_version=_software_version()
    )


@cache
def _software_version() -> str:
    try:
        return metadata.version("kraftwire")
    except metadata.PackageNotFoundError:
        return "0"


def spoken_versions(response: ApiVersionsResponse) -> dict[int, range]:
    """Return the versions of a server, by API key."""
    return {one.api_key: range(one.min_version, one.max_version + 1) for one in response.api_keys}


def retry_version(response: ApiVersionsResponse) -> int:
    """Return the version for another ApiVersions, if the first was not supported (KIP-511)."""
    theirs = spoken_versions(response).get(ApiKey.API_VERSIONS, range(1))
    return _common(ApiVersionsRequest, theirs)[-1]


def encode_newest(message: Message, spoken: Mapping[int, range]) -> Encoded:
    """Encode a message in the newest common version that has all of its fields."""
    theirs = spoken.get(message.API_KEY) if message.API_KEY is not None else None
    reason = ""
    for version in reversed(_common(type(message), theirs)):
        try:
            return Encoded(version, message.encode(version))
        except EncodeError as error:
            reason = reason or str(error)
    raise NoCommonVersion(type(message).__name__, message.VALID_VERSIONS, theirs, reason)


def _common(message: type[Message], theirs: range | None) -> range:
    """Return the versions that both ends speak; raise `NoCommonVersion` if there are none."""
    ours = message.VALID_VERSIONS
    if theirs is not None:
        common = range(max(ours.start, theirs.start), min(ours.stop, theirs.stop))
        if common:
            return common
    raise NoCommonVersion(message.__name__, ours, theirs)
