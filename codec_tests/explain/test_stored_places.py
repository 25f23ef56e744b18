"""Places in stored files that have nothing, or zeros."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kraftwire.explain import files
from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.files import explain_file
from kraftwire.explain.rows import ByteRow
from kraftwire.log.directories.partition import find_files
from kraftwire.log.sources.source import FileSource
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError

from codec_tests.explain.explaining import explained
from codec_tests.stored_files import batches_of, segment_of

ENTRY = bytes.fromhex("00000001 00000001")


def rows_of(path: Path, offset: int | None = None) -> list[ByteRow]:
    (file,) = find_files([path])
    reader = BatchExplainer(registry)
    return explained(partial(explain_file, reader, file, offset=offset))[0]


def index(directory: Path, data: bytes) -> Path:
    path = directory / "00000000000000000000.index"
    path.write_bytes(data)
    return path


def test_zeros_before_the_last_entry_are_not_read_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = index(tmp_path, ENTRY + bytes(32_000) + ENTRY)
    sizes: list[int] = []
    read_at = FileSource.read_at

    def counted(source: FileSource, position: int, size: int) -> bytes:
        data = read_at(source, position, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(FileSource, "read_at", counted)
    rows = rows_of(path)
    assert sum(row.role == "struct" for row in rows) == 4002
    assert sum(sizes) < 3 * 32_016


def test_zeros_that_are_not_shown_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MAX_DAMAGE", 64)
    *_, last = rows_of(index(tmp_path, ENTRY + bytes(200)))
    assert (last.start, last.end) == (8, 72)
    assert "136 more bytes not shown" in last.type


def test_zeros_are_one_row(tmp_path: Path) -> None:
    *_, last = rows_of(index(tmp_path, ENTRY * 3 + bytes(801)))
    assert (last.start, last.end, last.type) == (24, 825, "zeros, allocated ahead")


def test_an_offset_before_the_first_batch_is_in_none(tmp_path: Path) -> None:
    source = segment_of("codec-none")
    second = batches_of(source)[1].header
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(source.read_bytes()[second.position :])
    assert rows_of(path, second.base_offset)
    with pytest.raises(KraftwireError, match="no batch with offset 0"):
        rows_of(path, 0)
