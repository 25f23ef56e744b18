"""Metadata that a real Kafka wrote: its snapshots against its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.metadata.entities.diff import diff_images
from kraftwire.metadata.entities.entity import EntityKind, entities
from kraftwire.metadata.history import History
from kraftwire.metadata.records.load import image_at, load_image
from kraftwire.metadata.records.source import find_metadata
from kraftwire.metadata.state.image import MetadataImage

from codec_tests.stored_files import BROKER, CONTROLLER

NODES = pytest.mark.parametrize("node", [CONTROLLER, BROKER], ids=["controller", "broker"])


def snapshots(node: Path) -> list[Path]:
    """Those that stand for a part of the log; the bootstrap snapshot is before it."""
    return [file.path for file in find_metadata(node).snapshots if file.base_offset]


@pytest.mark.parametrize(
    "snapshot", snapshots(CONTROLLER) + snapshots(BROKER), ids=lambda path: str(path.stem)
)
def test_kafkas_snapshots_are_what_the_log_gives(snapshot: Path) -> None:
    stored = image_at(snapshot)
    offset = stored.provenance.offset
    replayed = image_at(snapshot.parent, offset, use_snapshots=False)
    assert list(diff_images(stored, replayed, secrets=True)) == []
    assert stored == replayed
    assert replayed.provenance.snapshot is None


@NODES
def test_every_base_leads_to_the_same_image(node: Path) -> None:
    source = find_metadata(node)
    end = load_image(source).provenance.offset
    for offset in range(13, end + 1, 7):
        assert load_image(source, offset) == load_image(source, offset, use_snapshots=False)


@NODES
def test_a_history_ends_at_the_image_of_the_end(node: Path) -> None:
    history = History(node)
    steps = list(history)
    image = image_at(node)
    assert history.image == image
    assert [step.offset for step in steps] == list(range(image.provenance.offset))


def test_what_the_session_did_is_there() -> None:
    image = image_at(CONTROLLER)
    counts = {kind: sum(1 for _ in entities(image, [kind])) for kind in EntityKind}
    assert counts[EntityKind.BROKER] == 2
    assert counts[EntityKind.VOTER] == counts[EntityKind.CONTROLLER] == 1
    assert counts[EntityKind.SCRAM] == 2
    assert counts[EntityKind.ACL] == counts[EntityKind.QUOTA] == 1
    assert counts[EntityKind.TOKEN] == 0
    assert image.topics.named("short-lived") is None
    assert image.configs[2, "tea"] == {"segment.ms": "100", "retention.ms": "86400000"}
    assert (image.leader, image.features["kraft.version"]) == (1, 1)
    assert image.provenance.cluster_id is not None


def test_two_nodes_of_a_cluster_have_the_same_metadata() -> None:
    common = min(image_at(node).provenance.offset for node in (CONTROLLER, BROKER))
    assert image_at(CONTROLLER, common) == image_at(BROKER, common)


def test_images_before_the_bootstrap_transaction_ends() -> None:
    image = image_at(CONTROLLER, 6, use_snapshots=False)
    assert image.provenance.transaction is not None
    assert image.features == {"kraft.version": 1}
    assert image.topics == MetadataImage().topics


def test_controller_and_broker_agree_at_every_offset() -> None:
    """Also where only the controller has the checkpoint that formatting wrote."""
    for offset in range(1, 80):
        differences = list(diff_images(image_at(CONTROLLER, offset), image_at(BROKER, offset)))
        assert all(change.kind.value in ("voter", "feature") for change in differences), offset
        named = {change.label for change in differences if change.kind.value == "feature"}
        assert named <= {"kraft.version"}, offset
