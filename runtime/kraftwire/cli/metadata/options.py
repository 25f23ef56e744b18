"""Arguments and options of the commands of `metadata`, and loading an image."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import print_note
from kraftwire.console.progress import progress
from kraftwire.metadata.entities.entity import EntityKind
from kraftwire.metadata.records.load import load_image
from kraftwire.metadata.records.source import find_metadata
from kraftwire.metadata.state.image import MetadataImage, OpenTransaction
from kraftwire_wire.errors import count_of

KINDS = {kind.section: kind for kind in EntityKind}
PATH = click.Path(exists=True, path_type=Path)
OFFSET = click.IntRange(min=0)

secrets_option = click.option(
    "--show-secrets",
    "secrets",
    is_flag=True,
    help="Print SCRAM salts and keys, and settings like passwords.",
)
topic_option = click.option(
    "--topic", "topics", multiple=True, metavar="NAME", help="Only this topic; repeatable."
)


only_option = click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(KINDS)),
    metavar="SECTION",
    help=f"Only this section: {', '.join(KINDS)}.",
)


def kinds_of(only: Collection[str]) -> list[EntityKind]:
    """Return the kinds that `--only` names, by default all."""
    return [kind for section, kind in KINDS.items() if not only or section in only]


def load(path: Path, offset: int | None, findings: Findings) -> MetadataImage:
    """Load the image at an offset; add damage to the findings."""
    source = find_metadata(path, findings.add)
    with progress(source.size, "metadata") as done:
        image = load_image(source, offset, report=findings.add, done=done)
    note_open_transaction(image.provenance.transaction)
    return image


def note_open_transaction(transaction: OpenTransaction | None) -> None:
    """Print how many records were not applied, since their transaction is open."""
    if transaction is not None:
        name = f" {transaction.name!r}" if transaction.name else ""
        records = count_of(transaction.records, "record")
        print_note(
            f"not applied: {records} of the transaction{name} that begins at offset"
            f" {transaction.offset} and has not ended before the offset that was reached"
        )


def check_topics(topics: Collection[str], *images: MetadataImage) -> None:
    """Raise `CouldNotDoIt` for a topic that none of the images has."""
    for name in topics:
        if all(image.topics.named(name) is None for image in images):
            offsets = " or ".join(str(image.provenance.offset) for image in images)
            raise CouldNotDoIt(f"there is no topic {name!r} at offset {offsets}")
