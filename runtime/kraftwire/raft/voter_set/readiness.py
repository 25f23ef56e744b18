"""Checks that a replica can become a voter: it answers, supports kraft.version, and has caught up.

The leader checks before it adds the voter (KIP-853). A voter that is unreachable or far behind
raises the size of a majority and contributes to none. Under KIP-856 the replica also has to support
the request versions with directory ids.
"""

from __future__ import annotations

from kraftwire.raft.core.connections import VersionsQuery
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.membership import Refusal
from kraftwire.raft.self_description.api_versions import KRAFT_VERSION
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire.raft.voter_set.checks import check_kraft_version
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse
from kraftwire_wire.numbers import ApiKey, ErrorCode


def request_versions(core: Core, voter: Voter) -> bool:
    """Send ApiVersions; return False while another request to the replica is in flight."""
    address = core.address_of(voter.listeners)
    if address is None or not core.connections.is_ready(voter.id, core.now):
        return False
    request = ApiVersionsRequest(client_software_name="kraftwire", client_software_version="1")
    core.send(voter.id, address, request, VersionsQuery(voter.key))
    return True


def check_readiness(
    core: Core, leader: Leader, voter: Voter, response: ApiVersionsResponse | None
) -> Voter | Refusal:
    """Return the voter with the versions that it supports, or why it is not ready."""
    able = check_versions(core, voter, response)
    if isinstance(able, Voter) and not _has_caught_up(core, leader, voter.key):
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, "The new voter has not caught up.")
    return able


def check_versions(
    core: Core, voter: Voter, response: ApiVersionsResponse | None
) -> Voter | Refusal:
    """Return the voter with the versions that it supports, or why these do not suffice."""
    if response is None or response.error_code:
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, "The new voter did not answer ApiVersions.")
    newest = {one.api_key: one.max_version for one in response.api_keys}
    for api, version in core.policy.needed_apis.items():
        if newest.get(api, -1) < version:
            reason = f"The new voter does not support version {version} of {ApiKey(api).name}."
            return Refusal(ErrorCode.INVALID_REQUEST, reason)
    found = [one for one in response.supported_features if one.name == KRAFT_VERSION]
    if not found:
        return Refusal(
            ErrorCode.INVALID_REQUEST, f"The new voter does not support {KRAFT_VERSION}."
        )
    least, most = found[0].min_version, found[0].max_version
    refusal = check_kraft_version(core, least, most)
    return refusal or voter._replace(min_kraft_version=least, max_kraft_version=most)


def has_reached(leader: Leader, key: ReplicaKey, end: int) -> bool:
    """Whether a replica has the log up to an offset."""
    progress = leader.progress.get(key)
    return progress is not None and (progress.end_offset or 0) >= end


def _has_caught_up(core: Core, leader: Leader, key: ReplicaKey) -> bool:
    """Whether a replica has reached the end of the log once, and has fetched recently."""
    progress = leader.progress.get(key)
    return (
        progress is not None
        and progress.last_caught_up_ms > 0
        and progress.last_fetch_ms > core.now - core.config.caught_up_ms
    )
