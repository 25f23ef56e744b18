"""The APIs that a replica supports, and ApiVersions, which reports them.

The caller of a replica passes it only requests of these versions, and sends no newer ones. Older
versions lack what KIP-853 needs: directory ids, and the endpoints of leaders.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.replies import reply
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse
from kraftwire_wire.numbers import ApiKey

KRAFT_VERSION = "kraft.version"

APIS: dict[int, range] = {
    ApiKey.FETCH: range(17, 19),
    ApiKey.API_VERSIONS: range(5),
    ApiKey.VOTE: range(1, 3),
    ApiKey.BEGIN_QUORUM_EPOCH: range(1, 2),
    ApiKey.END_QUORUM_EPOCH: range(1, 2),
    ApiKey.DESCRIBE_QUORUM: range(3),
    ApiKey.FETCH_SNAPSHOT: range(1, 2),
    ApiKey.DESCRIBE_CLUSTER: range(1, 3),
    ApiKey.ADD_RAFT_VOTER: range(2),
    ApiKey.REMOVE_RAFT_VOTER: range(1),
    ApiKey.UPDATE_RAFT_VOTER: range(1),
}

_FIRST_WITH_ZERO = 4
"""Clients that send earlier versions reject a feature that starts at 0 (KAFKA-17011)."""


def handle_api_versions(core: Core, request: Request, message: ApiVersionsRequest) -> None:
    """Report the APIs of this replica, and its range of kraft.version."""
    del message  # it only names the software of the client
    versions = core.config.supported_kraft_versions
    feature = ApiVersionsResponse.SupportedFeatureKey(
        name=KRAFT_VERSION, min_version=versions[0], max_version=versions[-1]
    )
    is_accepted = request.version >= _FIRST_WITH_ZERO or versions[0] > 0
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(
                api_key=key, min_version=supported[0], max_version=supported[-1]
            )
            for key, supported in APIS.items()
        ],
        supported_features=[feature] if is_accepted else [],
    )
    reply(core, request, response)
