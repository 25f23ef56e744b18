"""The metadata of a cluster, rebuilt from its log and snapshots: the image at any offset.

    image = image_at(Path("data"), 1200)            # brokers, topics, configs, ... at offset 1200
    for change in diff_images(image, image_at(Path("data"))): ...
    for step in changes(Path("data")): ...          # record by record

The subpackages, from the bottom up. Each imports only those above it:

    errors                    the errors, besides those of damaged bytes
    state                     the image, and what each record does to it
    records | entities        files to records to an image; an image as entities with fields
    history                   what each record of the log changed

Nothing here prints. Problems of the data (damage, unknown records, records that do not fit) are
passed to the caller's `report`, and reading goes on; by default they are raised. Everything takes
time linear in the size of the files, except that a record that clears the eligible leader replicas
of all topics visits every partition.
"""

from __future__ import annotations

from kraftwire.metadata.entities.diff import EntityChange, diff_images
from kraftwire.metadata.entities.entity import Entity, EntityKind, EntityRef, entities
from kraftwire.metadata.errors import (
    BadRecord,
    CannotApply,
    ProblemHandler,
    Unreachable,
    raise_problem,
)
from kraftwire.metadata.history import History, HistoryStep, changes
from kraftwire.metadata.records.load import image_at, load_image
from kraftwire.metadata.records.source import MetadataSource, find_metadata
from kraftwire.metadata.state.image import MetadataImage, OpenTransaction, Provenance

__all__ = [
    "BadRecord",
    "CannotApply",
    "EntityChange",
    "Entity",
    "History",
    "EntityKind",
    "MetadataImage",
    "MetadataSource",
    "OpenTransaction",
    "Provenance",
    "EntityRef",
    "ProblemHandler",
    "HistoryStep",
    "Unreachable",
    "changes",
    "diff_images",
    "entities",
    "find_metadata",
    "image_at",
    "load_image",
    "raise_problem",
]
