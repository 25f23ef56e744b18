"""The committed files of a real Kafka; `interop/record_logs.py` makes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from kraftwire.log import Batch, FileSource, LogFile, find_files, read_batches
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind

STORED = Path(__file__).parent / "stored"
BROKER = STORED / "broker"
CONTROLLER = STORED / "controller"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def stored_files(*kinds: FileKind) -> list[LogFile]:
    """All committed files of some kinds, those on their way out among them."""
    return [file for file in find_files([BROKER, CONTROLLER]) if file.kind in kinds]


def stored_batches() -> Iterator[Batch]:
    """Every committed batch."""
    for file in stored_files(*BATCH_FILES):
        with file.open() as source:
            yield from read_batches(source)


def copy_of(name: str, directory: Path) -> Path:
    """A copy of a partition of the broker's, below a directory."""
    return Path(shutil.copytree(BROKER / name, directory / name))


def segment_of(topic: str, number: int = 0) -> Path:
    """A segment of partition 0 of a topic."""
    return sorted((BROKER / f"{topic}-0").glob("*.log"))[number]


def batches_of(path: Path) -> list[Batch]:
    """The batches of a file."""
    with FileSource(path) as source:
        return list(read_batches(source))
