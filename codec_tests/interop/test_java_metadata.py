"""Our image of a cluster equals Kafka's own for the same random records."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kraftwire.metadata.entities.diff import diff_images
from kraftwire.metadata.errors import CannotApply
from kraftwire.metadata.state.image import MetadataImage
from kraftwire_messages.kafka import registry
from kraftwire_wire.records import decode_metadata_record, encode_metadata_record

from codec_tests.interop.kafka_tools import run_oracle
from codec_tests.metadata.random_records import RandomRecords

pytestmark = pytest.mark.interop

RECORDS = 1500


class Outcome(NamedTuple):
    """An image, and the indexes of the records that it refused."""

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
    words = [line.split() for line in run_oracle("MetadataOracle", [one.hex() for one in values])]
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
