"""Record batches: those of a real Kafka as `kraftwire.log` reads them, and damaged ones."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from functools import partial

import pytest
from crc32c import crc32c

from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.files import EXPLAINABLE, explain_file
from kraftwire.explain.rows import ByteRow
from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.typed_records import decode_typed, log_of_topic
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, KraftwireError

from codec_tests.explain.explaining import check_cover, explained
from codec_tests.fuzz.mutants import mutants
from codec_tests.stored_files import CODECS, batches_of, segment_of, stored_batches, stored_files


def rows_of(data: bytes, log: str | None = None) -> tuple[list[ByteRow], list[DecodeError]]:
    return explained(partial(BatchExplainer(registry, log).run, data=data))


def _contents(rows: list[ByteRow], name: str) -> list[object]:
    """The keys or values of all records, null where they have none."""
    return [
        row.value
        for row in rows
        if row.name == name
        and (row.role == "value" or (row.role == "length" and row.value is None))
    ]


@pytest.mark.slow
def test_every_stored_batch_has_the_records_of_the_log_reader() -> None:
    count = 0
    for batch in stored_batches():
        rows, findings = rows_of(batch.data)
        assert not findings
        check_cover(rows, batch.data)
        if not batch.header.is_control:  # whose keys and values are opened
            for name in ("key", "value"):
                wanted = [getattr(record, name) for record in batch.records]
                assert _contents(rows, name) == wanted
        offsets = [row.note for row in rows if row.name == "offset_delta"]
        assert offsets == [f"offset {record.offset}" for record in batch.records]
        times = [row.time_ms for row in rows if row.name == "timestamp_delta"]
        if not batch.header.has_log_append_time:
            assert times == [record.timestamp for record in batch.records]
        count += 1
    assert count > 100


def test_the_stored_batches_have_every_codec() -> None:
    for codec in CODECS:
        batch = batches_of(segment_of(f"codec-{codec}"))[0]
        rows, findings = rows_of(batch.data)
        assert not findings
        views = {row.view for row in rows if row.name == "offset_delta"}
        assert views == ({""} if codec == "none" else {"the batch at byte 0"})
        (bits,) = (row for row in rows if row.role == "bits" and row.name == "codec")
        assert bits.note == codec


def _explain(
    file: LogFile, *, position: int | None = None, offset: int | None = None
) -> tuple[list[ByteRow], list[DecodeError]]:
    reader = BatchExplainer(registry, log_of_topic(file.topic))
    return explained(partial(explain_file, reader, file, position=position, offset=offset))


@pytest.mark.slow
def test_every_stored_file_is_covered_and_its_typed_records_are_opened() -> None:
    for file in stored_files(*EXPLAINABLE):
        rows, findings = _explain(file)
        assert not findings, file
        with file.open() as source:
            data = source.read_at(0, source.size)
        check_cover(rows, data)
        if file.kind not in BATCH_FILES:
            continue
        names = [row.type for row in rows if row.role == "message"]
        for message in _typed_names(file):
            assert message in names, (file, message)


def _typed_names(file: LogFile) -> set[str]:
    from kraftwire.log.segments.segment import read_batches

    with file.open() as source:
        found = [
            decode_typed(log_of_topic(file.topic), batch, record)
            for batch in read_batches(source)
            for record in batch.records
        ]
    return {type(one.value.message).__name__ for one in found if one and one.value}


def test_positions_and_offsets_of_a_file_are_shown() -> None:
    (file,) = (
        file for file in stored_files(FileKind.SEGMENT) if file.path == segment_of("codec-none")
    )
    whole = batches_of(file.path)
    for batch in whole:
        header = batch.header
        places: list[dict[str, int]] = [
            {"position": header.position},
            {"position": header.end - 1},
            {"offset": header.last_offset},
        ]
        for place in places:
            rows, _ = _explain(file, **place)
            assert (rows[0].start, rows[0].end) == (header.position, header.end)
            assert rows[-1].end == header.end
    with pytest.raises(KraftwireError, match="no batch with offset"):
        _explain(file, offset=1 << 40)
    with pytest.raises(KraftwireError, match="has no byte"):
        _explain(file, position=1 << 40)


def test_a_wrong_crc_is_marked_and_the_view_continues() -> None:
    batch = batches_of(segment_of("codec-none"))[0]
    damaged = bytearray(batch.data)
    damaged[43] ^= 1  # the producer id, which is nothing to the records
    good, _ = rows_of(batch.data)
    rows, findings = rows_of(bytes(damaged))
    assert [(one.offset, one.path) for one in findings] == [(17, "batches[0].crc")]
    (crc,) = (row for row in rows if row.name == "crc")
    assert (crc.start, crc.end, crc.at) == (17, 21, 17)
    assert f"0x{crc32c(bytes(damaged)[21:]):08x}" in crc.problem
    assert len(rows) == len(good)


def _mended(data: bytes) -> bytes:
    """Damaged records behind a header whose length and CRC are right."""
    head = bytearray(data[:61])
    struct.pack_into(">i", head, 8, len(data) - 12)
    struct.pack_into(">I", head, 17, crc32c(bytes(head[21:]) + data[61:]))
    return bytes(head) + data[61:]


@pytest.mark.slow
def test_damaged_records_are_refused_as_by_the_log_reader() -> None:
    rng = random.Random(10)
    verdicts = set()
    for codec in CODECS:
        batch = batches_of(segment_of(f"codec-{codec}"))[0]
        for damaged in mutants(batch.data[61:], 150, rng):
            data = _mended(batch.data[:61] + damaged)
            rows, findings = rows_of(data)
            check_cover(rows, data)
            is_readable = _is_readable(decode_batch(data))
            verdicts.add(is_readable)
            assert is_readable == (not findings), data.hex()
    assert verdicts == {True, False}


def _is_readable(batch: Batch) -> bool:
    try:
        assert batch.records is not None
    except CorruptBatch:
        return False
    return True


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_record_length_is_an_error(change: int) -> None:
    """The length is one byte too small, or too large; the fields are whole."""
    batch = batches_of(segment_of("codec-none"))[0]
    data = bytearray(batch.data)
    assert data[61] < 0x70, "one byte says the length"
    data[61] += 2 * change
    mended = _mended(bytes(data))
    assert not _is_readable(decode_batch(mended))
    rows, findings = rows_of(mended)
    check_cover(rows, mended)
    assert [(one.offset, one.path) for one in findings] == [(61, "batches[0].records[0]")]
    assert f"a record of {data[61] // 2} bytes is announced" in findings[0].reason


@pytest.mark.slow
def test_damaged_headers_never_crash_and_every_byte_is_shown() -> None:
    rng = random.Random(11)
    data = b"".join(batch.data for batch in batches_of(segment_of("codec-none"))[:2])
    for damaged in mutants(data, 300, rng):
        rows, _ = rows_of(damaged)
        check_cover(rows, damaged)


@pytest.mark.parametrize(
    ("at", "raw", "offset"),
    [(8, "7fffffff", 8), (8, "00000001", 8), (16, "09", 16), (57, "ffffffff", 57)],
)
def test_impossible_headers_mark_the_field(at: int, raw: str, offset: int) -> None:
    data = bytearray(batches_of(segment_of("codec-none"))[0].data)
    data[at : at + len(raw) // 2] = bytes.fromhex(raw)
    rows, findings = rows_of(bytes(data))
    assert [one.offset for one in findings if not one.path.endswith(".crc")] == [offset]
    check_cover(rows, bytes(data))


# -- magic 0 and 1, written down from the format -----------------------------------------------


def _message(offset: int, magic: int, attributes: int, key: bytes | None, value: bytes) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", 1_700_000_000_000)
    for part in (key, value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_shown(magic: int) -> None:
    inner = _message(0, magic, 0, None, b"a") + _message(1, magic, 0, b"k", b"b")
    data = _message(7, magic, 0, b"key", b"v") + _message(9, magic, 1, None, gzip.compress(inner))
    rows, findings = rows_of(data)
    assert not findings
    check_cover(rows, data)
    plain = [row.value for row in rows if row.name == "value" and row.role == "value"]
    assert (plain[0], plain[2:]) == (b"v", [b"a", b"b"])
    inside = [row for row in rows if row.view]
    assert [row.start for row in inside if row.name == "offset"] == [
        0,
        len(inner) - 15 - 8 * magic - 13,
    ]
    assert ("timestamp" in {row.name for row in rows}) == bool(magic)


def test_a_compressed_message_within_another_is_not_opened() -> None:
    inner = _message(0, 1, 1, None, gzip.compress(_message(0, 1, 0, None, b"a")))
    _, findings = rows_of(_message(0, 1, 1, None, gzip.compress(inner)))
    assert "within a compressed message" in findings[0].reason


def test_a_batch_over_the_memory_limit_is_refused() -> None:
    data = _message(0, 1, 1, None, gzip.compress(bytes(1 << 20)))
    rows, findings = explained(partial(BatchExplainer(registry, limit=1000).run, data=data))
    assert len(findings) == 1
    check_cover(rows, data)
