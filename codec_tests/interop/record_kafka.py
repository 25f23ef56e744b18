"""Records the committed capture of a real Kafka.

    python -m codec_tests.interop.record_kafka --out codec_tests/captures/kafka.jsonl

Keeps the smallest exchange of every API and version, and the largest one that a person can still
read. Leaves out everything with secrets (logins, delegation tokens, SCRAM credentials, and
forwarded requests with them) and everything that names directories of the machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from kraftwire.capture.cassette import CassetteHeader, write_cassette
from kraftwire.capture.decoding.decoder import DecodedFrame, Exchange, decode_frames, pair
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey

from codec_tests.interop.kafka_server import DIRECTORY_PREFIX, KafkaCluster, kafka_cluster
from codec_tests.interop.kafka_session import drive
from codec_tests.interop.record_capture import exchange_size, frames_of
from codec_tests.interop.recording_proxy import RecordingProxy

Watch = Callable[[KafkaCluster, RecordingProxy], AbstractContextManager[None]]

LARGEST = 4096
"""Bytes of a request and its response together."""

DIRECTORIES = DIRECTORY_PREFIX.encode()

SECRET = {
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
}


def record_kafka(
    watch: Watch = lambda cluster, proxy: nullcontext(),
) -> list[Frame]:
    """Record the traffic of three controllers, two brokers and their clients.

    `watch` is a context around the session, entered when the cluster is ready.
    """
    with (
        RecordingProxy([]) as proxy,
        kafka_cluster(controllers=3, brokers=2, proxy=proxy) as kafka,
        watch(kafka, proxy),
    ):
        drive(kafka)
    if proxy.failures:
        raise proxy.failures[0]
    return proxy.frames


def select_frames(recorded: Iterable[DecodedFrame]) -> list[Frame]:
    """Return the frames to keep, in order."""
    exchanges: defaultdict[tuple[int | None, int | None], list[Exchange]] = defaultdict(list)
    for exchange in pair(recorded):
        if exchange.response is None or DIRECTORIES in exchange.response.frame.data:
            continue
        if not has_secrets(exchange.request) and DIRECTORIES not in exchange.request.frame.data:
            exchanges[exchange.request.api_key, exchange.request.version].append(exchange)
    kept: list[Exchange] = []
    for (api_key, _), same in exchanges.items():
        smallest = min(same, key=exchange_size)
        kept.append(smallest)
        if api_key != ApiKey.FETCH:  # larger ones hold the metadata log, credentials and all
            small = [exchange for exchange in same if exchange_size(exchange) <= LARGEST]
            kept.append(max(small, key=exchange_size, default=smallest))
    return frames_of(kept)


def has_secrets(request: DecodedFrame) -> bool:
    """Whether a request, or one forwarded in it, may have secrets."""
    message: Any = request.message
    if request.api_key == ApiKey.ENVELOPE:
        return int.from_bytes(message.request_data[:2]) in SECRET
    return request.api_key in SECRET


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The cassette.")
def main(out: Path) -> None:
    """Record a session with a real Kafka as a cassette."""
    frames: Sequence[Frame] = select_frames(decode_frames(record_kafka(), registry))
    what = "clients, brokers and controllers of Apache Kafka 4.4.0, driven by the interop tests"
    with out.open("wb") as stream:
        write_cassette(stream, CassetteHeader(what, registry.release), frames)
    print(f"{out}: {len(frames)} frames, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
