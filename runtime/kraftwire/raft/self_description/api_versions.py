"""What a replica speaks: its APIs and their versions, and ApiVersions, which tells them.

Whoever runs a replica hands it requests of these versions only, and sends requests in none that
is newer. Older versions lack what KIP-853 needs: the directories of replicas, and where a leader
listens.
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
"""Clients of earlier versions of ApiVersions take no feature that begins at 0 (KAFKA-17011)."""


def handle_api_versions(core: Core, request: Request, message: ApiVersionsRequest) -> None:
    """Tell what this replica speaks, and that it has kraft.version."""
    del message  # it says which software asks
    versions = core.config.supported_kraft_versions
    feature = ApiVersionsResponse.SupportedFeatureKey(
        name=KRAFT_VERSION, min_version=versions[0], max_version=versions[-1]
    )
    is_taken = request.version >= _FIRST_WITH_ZERO or versions[0] > 0
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(
                api_key=key, min_version=spoken[0], max_version=spoken[-1]
            )
            for key, spoken in APIS.items()
        ],
        supported_features=[feature] if is_taken else [],
    )
    reply(core, request, response)
