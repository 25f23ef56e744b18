"""The committed capture of a real Kafka, its controllers included: every frame, byte for byte.

`interop/record_kafka.py` recorded it.
"""

from __future__ import annotations

import io
from pathlib import Path

from kraftwire.capture.cassette import CassetteReader, write_cassette
from kraftwire.capture.decoding.decoder import pair
from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey

from codec_tests.capture.sample_frames import decoded_frames

CAPTURE = Path(__file__).resolve().parent.parent / "captures" / "kafka.jsonl"
KRAFT = {"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "DescribeQuorum", "BrokerRegistration"}
KRAFT |= {"BrokerHeartbeat", "ControllerRegistration", "Envelope", "AlterPartition"}
KRAFT |= {"AddRaftVoter", "RemoveRaftVoter", "Fetch", "AllocateProducerIds"}


def test_every_frame_encodes_back_to_the_same_bytes() -> None:
    for one in decoded_frames(CAPTURE):
        assert one.encode(registry) == one.frame.data, f"frame {one.number}"


def test_it_has_at_least_200_frames_of_40_apis_including_krafts() -> None:
    apis = {one.api for one in decoded_frames(CAPTURE)}
    assert len(apis) >= 70
    assert apis >= KRAFT
    assert len(decoded_frames(CAPTURE)) >= 200
    assert CAPTURE.stat().st_size < 300_000
    assert all(exchange.response is not None for exchange in pair(decoded_frames(CAPTURE)))


def test_it_has_no_secrets() -> None:
    keys = {one.api_key for one in decoded_frames(CAPTURE)}
    assert ApiKey.SASL_AUTHENTICATE not in keys
    assert not any("TOKEN" in ApiKey(key).name for key in keys if key is not None)
    assert ApiKey.ALTER_USER_SCRAM_CREDENTIALS not in keys
    for one in decoded_frames(CAPTURE):
        assert b"password" not in one.frame.data.lower().replace(b"password.encoder", b"")


def test_the_recorder_would_write_the_same_bytes() -> None:
    with CAPTURE.open("rb") as stream:
        reader = CassetteReader(stream, CAPTURE.name)
        header, frames = reader.header, list(reader)
    again = io.BytesIO()
    write_cassette(again, header, frames)
    assert again.getvalue() == CAPTURE.read_bytes()
