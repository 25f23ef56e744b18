"""The small text files that identify a directory: meta.properties, partition.metadata.

`meta.properties` is a Java properties file: `key=value` lines, comments, and backslashes
before special characters. `partition.metadata` has `key: value` lines.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.java_properties import escape, read_entries
from kraftwire_wire.uuids import format_uuid, parse_uuid


class MetaProperties(NamedTuple):
    """The owner of a data directory; ids as Kafka prints them, None if they are not set."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


class PartitionMetadata(NamedTuple):
    """The id of a partition's topic."""

    version: int
    topic_id: UUID


def decode_meta_properties(data: bytes, file: str = "<bytes>") -> MetaProperties:
    """Return the content of `meta.properties`.

    Version 0, from before KRaft, has `broker.id`; the draft of KIP-856 has `storage.id`. Brokers
    that never learned their cluster's id left `cluster.id=` empty, which counts as no id.
    """
    found = decode_properties(data)
    node_id = found.get("node.id", found.get("broker.id"))
    return MetaProperties(
        _number(found.get("version"), "version", file),
        found.get("cluster.id") or None,
        None if node_id is None else _number(node_id, "node.id", file),
        found.get("directory.id", found.get("storage.id")),
    )


def encode_meta_properties(properties: MetaProperties) -> bytes:
    """Return the content of `meta.properties`; the order of Kafka's own lines varies."""
    cluster_id = properties.cluster_id
    lines = {
        "version": properties.version,
        "cluster.id": None if cluster_id is None else escape(cluster_id),
        "node.id": properties.node_id,
        "directory.id": properties.directory_id,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items() if value is not None).encode()


def decode_partition_metadata(data: bytes, file: str = "<bytes>") -> PartitionMetadata:
    """Return the content of `partition.metadata`."""
    found = decode_properties(data)
    version = _number(found.get("version"), "version", file)
    if version != 0:
        raise CorruptBatch(file, 0, f"version {version}; only 0 is known")
    text = found.get("topic_id", "")
    try:
        return PartitionMetadata(version, parse_uuid(text))
    except ValueError:
        raise CorruptBatch(file, 0, f"topic_id {text[:40]!r} is not an id") from None


def encode_partition_metadata(metadata: PartitionMetadata) -> bytes:
    """Return the content of `partition.metadata`, which has no newline at its end."""
    return f"version: {metadata.version}\ntopic_id: {format_uuid(metadata.topic_id)}".encode()


def decode_properties(data: bytes) -> dict[str, str]:
    """Return the entries of a Java properties file; the last of several with one key wins."""
    return {entry.key: entry.value.rstrip(" \t\f") for entry in read_entries(data)}


def _number(text: str | None, key: str, file: str) -> int:
    if text is None:
        raise CorruptBatch(file, 0, f"{key} is missing")
    if not text.removeprefix("-").isdecimal() or len(text) > 20:
        raise CorruptBatch(file, 0, f"{key} {text[:40]!r} is not a number")
    return int(text)
