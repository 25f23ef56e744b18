"""The metadata of a cluster, rebuilt from its log and snapshots: the image at any offset.

    image = image_at(Path("data"), 1200)            # brokers, topics, configs, ... at offset 1200
    for change in diff_images(image, image_at(Path("data"))): ...
    for step in changes(Path("data")): ...          # record by record

From the bottom up, each importing only what is above it:

    errors, names                       what can be wrong; names for numbers
    topics, nodes, access, image        the state, and what each record does to it
    source, replay, transactions        files to records, and which of them take effect
    load                                the image at an offset
    views, entities                     an image as things with fields
    diff, touched, describe, history    what differs, and what each record changed

Nothing here prints. Problems of the data (damage, unknown records, records that do not fit)
go to a function that the caller gives as `report`, and reading goes on; by default they are
raised. All take time linear in the files' size, but for records that
clear the eligible leader replicas of all topics, each of which looks at every partition.
"""

from __future__ import annotations

from kraftwire.metadata.diff import Change, diff_images
from kraftwire.metadata.entities import Entity, Kind, Ref, entities
from kraftwire.metadata.errors import BadRecord, CannotApply, Report, Unreachable, strict
from kraftwire.metadata.history import History, Step, changes
from kraftwire.metadata.image import MetadataImage, OpenTransaction, Provenance
from kraftwire.metadata.load import image_at, load_image
from kraftwire.metadata.source import MetadataSource, find_metadata

__all__ = [
    "BadRecord",
    "CannotApply",
    "Change",
    "Entity",
    "History",
    "Kind",
    "MetadataImage",
    "MetadataSource",
    "OpenTransaction",
    "Provenance",
    "Ref",
    "Report",
    "Step",
    "Unreachable",
    "changes",
    "diff_images",
    "entities",
    "find_metadata",
    "image_at",
    "load_image",
    "strict",
]
