"""Segments of magic 0 and 1, written by Kafka's own classes and read by its dump tool and us."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest

from kraftwire.log import find_files, read_batches
from kraftwire.log.batches.compression import Compression, compress

from codec_tests.interop.java_dump import java_dump, our_lines, their_lines
from codec_tests.interop.maven import class_path, joined, tool
from codec_tests.log.legacy_messages import message

pytestmark = pytest.mark.interop

_SECONDS = 60


def test_kafka_and_we_read_the_formats_of_before_0_11_alike(tmp_path: Path) -> None:
    command = [str(tool("java")), "-cp", joined(class_path()), "LegacyLogs", str(tmp_path)]
    subprocess.run(command, check=True, timeout=_SECONDS)
    files = [file for path in sorted(tmp_path.iterdir()) for file in find_files([path])]
    assert len(files) == 8
    theirs = java_dump([file.path for file in files], "--print-data-log")
    compared = 0
    for file in files:
        with file.open() as source:
            ours = list(our_lines(read_batches(source), None))
        assert ours == list(their_lines(theirs[file.path])), file.path
        compared += len(ours)
    assert compared > 8 * 21


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
    (file,) = find_files([log])
    with file.open() as source:
        ours = list(our_lines(read_batches(source), None))
    assert ours == list(their_lines(java_dump([log], "--print-data-log")[log]))
    assert len(ours) > 2 * 6
