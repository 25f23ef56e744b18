"""Our image of a cluster beside Kafka's own, out of the same random records."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

import pytest

from kraftwire.metadata.entities.diff import diff_images
from kraftwire.metadata.errors import CannotApply
from kraftwire.metadata.state.image import MetadataImage
from kraftwire_messages.kafka import registry
from kraftwire_wire.records import decode_metadata_record, encode_metadata_record

from codec_tests.interop.maven import class_path, joined, tool
from codec_tests.metadata.random_records import RandomRecords

pytestmark = pytest.mark.interop

RECORDS = 1500
_SECONDS = 120


class Outcome(NamedTuple):
    """An image, and the numbers of the records that it refused."""

    image: MetadataImage
    refused: list[int]


def ours(values: list[bytes]) -> Outcome:
    image = MetadataImage()
    refused = []
    for number, value in enumerate(values):
        try:
            image.apply(decode_metadata_record(registry, "cluster-metadata", value).message)
        except CannotApply:
            refused.append(number)
    return Outcome(image, refused)


def kafkas(values: list[bytes]) -> Outcome:
    command = [str(tool("java")), "-Xmx256m", "-XX:TieredStopAtLevel=1"]
    done = subprocess.run(
        [*command, "-cp", joined(class_path()), "MetadataOracle"],
        input="\n".join(value.hex() for value in values),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    words = [line.split() for line in done.stdout.splitlines()]
    snapshot = [bytes.fromhex(rest) for word, rest in words if word == "record"]
    return Outcome(ours(snapshot).image, [int(rest) for word, rest in words if word == "refused"])


@pytest.mark.parametrize("seed", range(12))
def test_kafkas_image_and_ours_are_the_same(seed: int) -> None:
    records = RandomRecords(seed).take(RECORDS)
    values = [encode_metadata_record(record, record.VALID_VERSIONS[-1]) for record in records]
    wanted, found = kafkas(values), ours(values)
    assert found.refused == wanted.refused
    assert 0 < len(found.refused) < RECORDS // 2
    assert list(diff_images(wanted.image, found.image, secrets=True)) == []
    assert found.image == wanted.image
