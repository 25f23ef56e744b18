"""`kraftwire log dump`, `scan`, `fsck` and `salvage` as people call them."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from crc32c import crc32c

from kraftwire.console.times import format_time, parse_time
from kraftwire.log import Record
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire_messages.kafka import UserScramCredentialRecord
from kraftwire_wire.records import encode_metadata_record

from codec_tests.cli.running import done, run
from codec_tests.log.file_mutants import flip
from codec_tests.stored_files import BROKER, CODECS, CONTROLLER, batches_of, copy_of, segment_of

METADATA = CONTROLLER / "__cluster_metadata-0"


def lines(*args: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done("log", *map(str, args)).stdout.splitlines()]


# -- dump ----------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_are_dumped(codec: str) -> None:
    rows = lines("dump", BROKER / f"codec-{codec}-0")
    records = [
        record for batch in batches_of(segment_of(f"codec-{codec}")) for record in batch.records
    ]
    assert len(rows) == len(records) == 120
    for row, record in zip(rows, records, strict=True):
        assert (row["topic"], row["partition"], row["offset"]) == (
            f"codec-{codec}",
            0,
            record.offset,
        )
        for part in ("key", "value"):
            raw = getattr(record, part)
            assert row[part] == (None if raw is None else base64.b64encode(raw).decode())
        assert [name for name, _ in row["headers"]] == [name for name, _ in record.headers]


def test_headers_are_pairs_in_their_order_and_null_is_null() -> None:
    first, *_ = lines("dump", BROKER / "tea-0", "--bytes", "hex")
    assert first["headers"] == [["shape", "726f756e64"], ["shape", None], ["größe", "ff"]]


def test_text_that_is_not_utf8_keeps_its_bytes() -> None:
    first, *_ = lines("dump", BROKER / "tea-0", "--bytes", "utf8")
    assert first["headers"][2][1].encode(errors="surrogateescape") == b"\xff"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--from-offset", "95", "--to-offset", "125"], range(95, 125)),
        (["--to-offset", "3"], range(3)),
        (["--from-offset", "198"], range(198, 200)),
        (["--from-offset", "5000"], range(0)),
    ],
)
def test_offset_bounds_are_exact_to_the_record(options: list[str], wanted: range) -> None:
    rows = lines("dump", BROKER / "tea-0", *options)
    assert [row["offset"] for row in rows] == list(wanted)


def test_time_bounds_are_exact_to_the_record() -> None:
    rows = lines("dump", BROKER / "tea-0")
    times = sorted({row["timestamp"] for row in rows})
    assert len(times) >= 4
    since, until = times[1], times[3]
    cut = lines(
        "dump", BROKER / "tea-0", "--since", str(since), "--until", format_time(until) + "Z"
    )
    assert cut == [row for row in rows if since <= row["timestamp"] < until]


def test_segments_after_the_last_wanted_offset_are_not_opened(tmp_path: Path) -> None:
    copy = copy_of("tea-0", tmp_path)
    (copy / "00000000000000000120.log").write_bytes(b"damage")
    assert len(lines("dump", copy, "--to-offset", "120")) == 120
    assert len(lines("dump", copy, "--from-offset", "160")) == 40


def test_read_committed_prints_only_committed_records() -> None:
    rows = lines("dump", BROKER / "orders-0", "--isolation", "read_committed", "--bytes", "utf8")
    values = [row["value"] for row in rows if (row["value"] or "").startswith("order")]
    assert len(values) == 20
    assert not [value for value in values if value.startswith(("order 1", "order 4"))]
    assert not [row for row in rows if row["control"]]


def test_one_segment_knows_the_markers_of_those_beside_it() -> None:
    """The transaction of the first segment is committed in the second."""
    rows = lines("dump", segment_of("orders"), "--isolation", "read_committed")
    assert len(rows) == 5


def test_one_flipped_bit_does_not_hide_the_rest_of_a_log(tmp_path: Path) -> None:
    """A plain batch that says it is transactional would be an open transaction for ever."""
    path = tmp_path / "tea-0" / f"{0:020}.log"
    path.parent.mkdir()
    parts = [bytearray(encode_batch([Record(n, 0, None, b"x", ())])) for n in range(20)]
    parts[3][22] |= 0x10
    path.write_bytes(b"".join(parts))
    result = run("log", "dump", path, "--isolation", "read_committed", "--from-offset", "10")
    assert (len(result.stdout.splitlines()), result.exit_code) == (10, 1)
    assert "while looking for transactions" in result.stderr


def test_segments_outside_a_partition_directory_know_their_own_markers(tmp_path: Path) -> None:
    path = tmp_path / "copy.log"
    shutil.copyfile(segment_of("orders", 1), path)
    (tmp_path / "meta.properties").write_bytes((BROKER / "meta.properties").read_bytes())
    assert len(lines("dump", path, "--isolation", "read_committed")) == 0


def test_typed_records_are_found_from_the_path() -> None:
    rows = lines("dump", METADATA)
    names = {row["value"]["name"] for row in rows}
    assert {"TopicRecord", "PartitionRecord", "ConfigRecord", "LeaderChangeMessage"} <= names
    groups = lines("dump", BROKER / "__consumer_offsets-0", BROKER / "__consumer_offsets-1")
    names = {row["key"]["name"] for row in groups if row["key"]}
    assert {"OffsetCommitKey", "GroupMetadataKey", "ConsumerGroupMetadataKey"} <= names


def test_remote_log_metadata() -> None:
    rows = lines("dump", BROKER / "__remote_log_metadata-0")
    names = {row["value"]["name"] for row in rows}
    assert {"RemoteLogSegmentMetadataRecord", "RemoteLogSegmentMetadataUpdateRecord"} <= names


def test_dumped_records_can_be_encoded_again() -> None:
    records = [
        record for batch in batches_of(METADATA / f"{0:020}.log") for record in batch.records
    ]
    rows = lines("dump", METADATA)
    encoded = 0
    for row, record in zip(rows, records, strict=True):
        if row["control"] is None and encoded < 50:
            result = done("encode", "-o", "binary", stdin=json.dumps(row["value"]))
            assert result.stdout_bytes == record.value
            encoded += 1
    assert encoded == 50


def test_records_are_printed_in_kafkas_style() -> None:
    rows = lines("dump", METADATA, "--style", "kafka")
    topic = next(row["value"] for row in rows if (row["value"] or {}).get("type") == "TOPIC_RECORD")
    assert set(topic) == {"type", "version", "data"}
    commit, *_ = [
        row
        for row in lines("dump", BROKER / "__consumer_offsets-0", "--style", "kafka")
        if row["key"] and row["key"]["type"] == "1"
    ]
    assert set(commit["key"]["data"]) == {"group", "topic", "partition"}


def test_secrets_are_left_out_by_schema() -> None:
    for style in ("lossless", "kafka"):
        open_text = done("log", "dump", METADATA, "--style", style).stdout
        text = done("log", "dump", METADATA, "--style", style, "--redact").stdout
        assert text.count("(redacted)") >= 6
        assert len(text.splitlines()) == len(open_text.splitlines())
        for line in open_text.splitlines():
            value = json.loads(line)["value"]
            data = value.get("message") or value.get("data") or {} if value else {}
            for secret in ("salt", "storedKey", "serverKey", "tokenId"):
                if data.get(secret):
                    assert data[secret] not in text


def test_typed_records_that_cannot_be_read_keep_their_secrets(tmp_path: Path) -> None:
    """A credential with a byte too many is no message, and is not printed as bytes either."""
    record = UserScramCredentialRecord(name="guest", mechanism=1, stored_key=b"a secret key")
    value = encode_metadata_record(record, 0) + b"\0"
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    path = directory / "00000000000000000000.log"
    path.write_bytes(encode_batch([Record(0, 0, None, value, ())]))
    for form in (
        ["--bytes", "utf8"],
        ["-o", "table"],
        ["-o", "parquet", "--out", str(tmp_path / "p")],
    ):
        result = run("log", "dump", path, "--redact", *form)
        assert result.exit_code == 1
        assert "secret key" not in result.stdout + result.stderr
    assert pyarrow.parquet.read_table(tmp_path / "p").column("value").to_pylist() == [None]
    assert "secret key" in run("log", "dump", path, "--bytes", "utf8").stdout


def test_records_of_unknown_partitions_are_redacted(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    shutil.copyfile(METADATA / path.name, path)
    first, *_ = lines("dump", path, "--redact", "--from-offset", "3")
    assert first["value"].startswith("(redacted)")


def test_payloads_are_omitted_on_request() -> None:
    rows = lines("dump", BROKER / "tea-0", "--redact-payloads")
    assert rows[1]["value"] == "(redacted) 34 bytes"
    assert rows[0]["headers"][0] == ["shape", "(redacted) 5 bytes"]
    assert rows[0]["value"] is None


def test_batches() -> None:
    rows = lines("dump", BROKER / "codec-lz4-0", "--batches")
    batches = batches_of(segment_of("codec-lz4"))
    assert [(row["position"], row["size"], row["crc"]) for row in rows] == [
        (batch.header.position, batch.header.size, batch.header.crc) for batch in batches
    ]
    assert {(row["codec"], row["crcValid"]) for row in rows} == {("lz4", True)}
    headers = lines("dump", BROKER / "codec-lz4-0", "--headers-only")
    assert [row | {"crcValid": True} for row in headers] == rows


def test_every_file_of_a_directory() -> None:
    rows = lines("dump", BROKER, "--all")
    kinds = {row["kind"] for row in rows if "kind" in row}
    assert kinds == {
        "offset index",
        "time index",
        "transaction index",
        "producer snapshot",
        "offset checkpoint",
        "leader epochs",
        "partition metadata",
        "meta properties",
        "quorum state",
        "clean shutdown",
    }


def test_a_snapshot_of_metadata_that_is_named() -> None:
    path = sorted(METADATA.glob("*.checkpoint"))[-1]
    rows = lines("dump", path)
    assert rows[0]["control"] == "SNAPSHOT_HEADER"
    assert rows[-1]["control"] == "SNAPSHOT_FOOTER"


def test_tables() -> None:
    text = done("log", "dump", BROKER / "tea-0", "-o", "table").stdout
    assert "tea-0" in text.splitlines()[1]
    assert len(text.splitlines()) == 201
    text = done("log", "dump", BROKER / "orders-0", "--batches", "-o", "table").stdout
    assert "transactional, control" in text


def test_parquet(tmp_path: Path) -> None:
    out = tmp_path / "tea.parquet"
    done("log", "dump", BROKER / "tea-0", "-o", "parquet", "--out", out)
    table = pyarrow.parquet.read_table(out)
    records = [
        record
        for number in range(5)
        for batch in batches_of(segment_of("tea", number))
        for record in batch.records
    ]
    assert table.column("offset").to_pylist() == list(range(200))
    assert table.column("value").to_pylist() == [record.value for record in records]
    assert table.column("headers")[0].as_py()[2] == {"key": "größe", "value": b"\xff"}


def test_parquet_does_not_overwrite_its_input(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    shutil.copyfile(segment_of("tea"), path)
    before = path.read_bytes()
    result = run("log", "dump", path, "-o", "parquet", "--out", path)
    assert (result.exit_code, path.read_bytes()) == (2, before)


def test_unfinished_parquet_is_removed(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(encode_batch([Record(0, (1 << 63) - 1, None, b"", ())]))
    data = bytearray(path.read_bytes())
    data[27:35] = (1 << 62).to_bytes(8)  # the base timestamp: the sum does not fit
    data[62] = 0x02
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4)
    path.write_bytes(data)
    out = tmp_path / "out.parquet"
    run("log", "dump", path, "-o", "parquet", "--out", out)
    assert not list(tmp_path.glob("*.part"))


def test_parquet_without_secrets(tmp_path: Path) -> None:
    out = tmp_path / "metadata.parquet"
    done("log", "dump", METADATA, "-o", "parquet", "--out", out, "--redact")
    table = pyarrow.parquet.read_table(out)
    assert table.column("value").null_count == table.num_rows
    assert "(redacted)" in "".join(filter(None, table.column("value_json").to_pylist()))


def test_damage_is_reported_and_does_not_end_the_dump(tmp_path: Path) -> None:
    copy = copy_of("codec-none-0", tmp_path)
    (path,) = copy.glob("*.log")
    flip(path, 3000)
    result = run("log", "dump", copy)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 80
    assert f"{path}, byte 2156: corrupt, 2156 bytes not readable" in result.stderr


def test_a_bomb_is_reported_with_its_place(tmp_path: Path) -> None:
    records = [Record(0, 0, None, bytes(40 << 20), ())]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(encode_batch(records, BatchSettings(codec=Compression.ZSTD)))
    result = run("log", "dump", path, "--max-batch-bytes", "1000000")
    assert result.exit_code == 1
    assert (
        f"{path}, byte 0: zstd: decompresses to more than the limit of 1000000 bytes"
        in result.stderr
    )


def test_records_of_another_log_are_reported_and_printed() -> None:
    result = run("log", "dump", BROKER / "tea-0", "--as", "group", "--to-offset", "2")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert "offset 0: a record of group without a key" in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["dump", "missing"], "does not exist"),
        (["dump", str(Path(__file__).parent)], "no file of Kafka's"),
        (["dump", __file__], "not a file name of a data directory"),
        (["dump", str(BROKER), "-o", "parquet"], "-o parquet and --out FILE go together"),
        (["dump", str(BROKER), "--out", "x"], "-o parquet and --out FILE go together"),
        (["dump", str(BROKER), "--since", "yesterday"], "neither milliseconds nor like"),
        (["salvage", str(BROKER)], "--out"),
        (["fsck"], "PATHS"),
    ],
)
def test_impossible_requests_are_errors_with_exit_code_2(args: list[str], words: str) -> None:
    result = run("log", *args)
    assert result.exit_code == 2
    assert words in result.stderr


def test_an_empty_segment_is_not_a_finding(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").touch()
    for command in ("dump", "scan", "fsck"):
        assert run("log", command, tmp_path).exit_code == 0


def test_times() -> None:
    assert parse_time("1795244038909") == 1795244038909
    assert parse_time("2026-11-21T06:53:58.909Z") == 1795244038909
    assert parse_time("2026-11-21 07:53:58.909+01:00") == 1795244038909
    assert format_time(1795244038909) == "2026-11-21 06:53:58.909"
    assert format_time(-1) == "-1"
    assert format_time(1 << 62) == str(1 << 62)


# -- scan ----------------------------------------------------------------------------------


def test_scan_counts_what_dump_prints() -> None:
    rows = {f"{row['topic']}-{row['partition']}": row for row in lines("scan", BROKER)}
    for name in ("tea-0", "orders-0", "temperatures-0", "__consumer_offsets-0"):
        records = lines("dump", BROKER / name)
        row = rows[name]
        assert row["records"] == len(records)
        assert (row["firstOffset"], row["nextOffset"]) == (
            records[0]["offset"],
            records[-1]["offset"] + 1,
        )
        assert row["lastTimestamp"] == max(record["timestamp"] for record in records)
        assert row["producerCount"] == len(
            {record["producerId"] for record in records if record["producerId"] >= 0}
        )
        assert row["bytes"] == sum(path.stat().st_size for path in (BROKER / name).glob("*.log"))
    assert rows["orders-0"]["codecs"] == {"none": 13, "zstd": 1}


def test_scan_reports_gaps(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(
        b"".join(encode_batch([Record(offset, 5, None, b"", ())]) for offset in (0, 1, 7, 8, 20))
    )
    (row,) = lines("scan", path)
    assert (row["gaps"], row["gapCount"], row["missingOffsets"]) == ([[2, 6], [9, 19]], 2, 16)


def test_scan_prints_a_table() -> None:
    text = done("log", "scan", BROKER, "-o", "table").stdout
    assert len(text.splitlines()) == 1 + len(lines("scan", BROKER))


# -- fsck and salvage ----------------------------------------------------------------------


def test_fsck_of_a_sound_directory_prints_only_ids_and_infos() -> None:
    rows = lines("fsck", BROKER, CONTROLLER)
    assert {row["severity"] for row in rows if row["type"] != "identity"} == {"info"}
    text = done("log", "fsck", BROKER, "-o", "table").stdout
    assert text.splitlines()[1].startswith("cluster ")


def test_fsck_exits_with_1_on_findings(tmp_path: Path) -> None:
    copy = copy_of("tea-0", tmp_path)
    (copy / "leader-epoch-checkpoint").write_bytes(b"?")
    result = run("log", "fsck", copy)
    assert result.exit_code == 1
    findings = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["check"] for row in findings if row["type"] == "finding"] == ["leader epochs"]


def test_salvage_of_a_data_directory(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(BROKER, tmp_path / "data"))
    damaged = copy / "tea-0" / segment_of("tea", 2).name
    flip(damaged, 100)
    out = tmp_path / "saved"
    result = run("log", "salvage", copy, "--out", out)
    assert result.exit_code == 1
    (lost,) = map(json.loads, result.stdout.splitlines())
    assert (lost["file"], lost["firstOffset"], lost["lastOffset"]) == (str(damaged), 80, 119)
    assert (out / "meta.properties").read_bytes() == (BROKER / "meta.properties").read_bytes()
    assert run("log", "fsck", out).exit_code == 0


def test_salvage_refuses_an_existing_target(tmp_path: Path) -> None:
    copy = copy_of("tea-0", tmp_path)
    for out in (tmp_path, copy / "saved", copy):
        result = run("log", "salvage", copy, "--out", out)
        assert result.exit_code == 2, out
    assert run("log", "salvage", copy, "--out", tmp_path / "new").exit_code == 0
    again = run("log", "salvage", copy, "--out", tmp_path / "new")
    assert "exists and is not an empty" in again.stderr
