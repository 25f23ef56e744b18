"""Builds a node from its settings: directories, disk, listeners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager

from kraftwire.node.disk.directory_lock import DirectoryLock
from kraftwire.node.disk.replica_disk import DiskSettings, DiskStore
from kraftwire.node.node import Node, NodeSettings
from kraftwire.node.settings.properties import NodeProperties, replica_config
from kraftwire.node.state_machine import StateMachine
from kraftwire.node.storage.directories import Identity, open_directories
from kraftwire.node.storage.formatting import LOG_NAME
from kraftwire.raft.membership import policy_of
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import ReplicaKey


class Assembly:
    """Builds the parts of a node."""

    def __init__(self, properties: NodeProperties) -> None:
        """Read the directories, and give an id to those without one.

        Raise `KraftwireError` with all reasons why the node must not start.
        """
        self.properties = properties
        self.identity: Identity = open_directories(properties)
        self.key = ReplicaKey(
            properties.node_id, self.identity.directory_ids[properties.metadata_log_dir]
        )

    def config_of(self, ports: Mapping[str, int]) -> Config:
        """Return the config of the replica, given the ports of its listeners."""
        return replica_config(self.properties, self.key, self.identity.cluster_id, ports)

    @contextmanager
    def open_disk(self) -> Iterator[DiskStore]:
        """Lock the log directories, yield the store, and close it in the end.

        Raise `DirectoryInUse` if another node has locked one of them. The store itself locks the
        directory of the metadata log when it recovers.
        """
        config, log = self.config_of({}), self.properties.log
        store = DiskStore(
            self.properties.metadata_log_dir / LOG_NAME,
            config.static_voters,
            policy_of(config).registry,
            DiskSettings(segment_bytes=log.segment_bytes, segment_ms=log.segment_ms),
        )
        with ExitStack() as opened:
            for directory in self.properties.directories:
                if directory != self.properties.metadata_log_dir:
                    opened.enter_context(DirectoryLock(directory))
            yield opened.enter_context(closing(store))

    def node(self, store: DiskStore, machine: StateMachine) -> Node:
        """Return the node; its `start` recovers the store."""
        properties = self.properties
        settings = NodeSettings(
            endpoints=properties.endpoints,
            limits=properties.limits,
            security=properties.security,
            client_id=f"kraftwire-{properties.node_id}",
            principals=properties.principals,
            snapshot_bytes=properties.log.snapshot_bytes,
            snapshot_interval_ms=properties.log.snapshot_interval_ms,
        )
        return Node(self.config_of, store, machine, settings)
