"""Segments of magic 0 and 1, written by Kafka's own classes and read by its dump tool and us."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from kraftwire.log import find_files
from kraftwire.log.batches.compression import Compression, compress

from codec_tests.interop.java_dump import compare_dumps
from codec_tests.interop.kafka_tools import run_oracle
from codec_tests.log.legacy_messages import message

pytestmark = pytest.mark.interop


def test_kafka_and_we_read_the_formats_of_before_0_11_alike(tmp_path: Path) -> None:
    run_oracle("LegacyLogs", [], str(tmp_path))
    files = [file for path in sorted(tmp_path.iterdir()) for file in find_files([path])]
    assert len(files) == 8
    assert compare_dumps([file.path for file in files], "--print-data-log") > 8 * 21


def test_kafka_and_we_read_messages_within_messages_of_another_magic(tmp_path: Path) -> None:
    log = tmp_path / "mixed-0" / f"{0:020}.log"
    log.parent.mkdir()
    inner = message(0, b"a", magic=0) + message(1, b"b", time=5)
    codecs = Compression.GZIP, Compression.SNAPPY, Compression.LZ4
    log.write_bytes(
        b"".join(
            message(2 * n + 1, compress(codec, inner), attributes=codec | append_time, time=99)
            for n, (codec, append_time) in enumerate(product(codecs, (0, 8)))
        )
    )
    assert compare_dumps([log], "--print-data-log") > 2 * 6
