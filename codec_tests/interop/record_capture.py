"""Records the committed capture: `python -m codec_tests.interop.record_capture --out FILE`.

Runs the session of `librdkafka_session` and keeps, for every API and version, the smallest
and the largest exchange, of Produce those of every compression. Where the mock brokers wrote
a response that is not Kafka's (see `librdkafka_quirks`), the request stays alone; requests
with a quirk are left out. Frames keep their order and times; connections are numbered anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import confluent_kafka

from kraftwire.capture.cassette import CassetteHeader, write_cassette
from kraftwire.capture.decoding.decoder import DecodedFrame, Exchange, decode_frames, pair
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import registry

from codec_tests.interop.librdkafka_quirks import PRODUCE, find_quirks
from codec_tests.interop.librdkafka_session import record_session


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The cassette.")
def main(out: Path) -> None:
    """Record a session of librdkafka with its mock brokers as a cassette."""
    frames = select_frames(list(decode_frames(record_session(), registry)))
    library = f"librdkafka {confluent_kafka.libversion()[0]}"
    header = CassetteHeader(f"a client and the mock brokers of {library}", registry.release)
    with out.open("wb") as stream:
        write_cassette(stream, header, frames)
    print(f"{out}: {len(frames)} frames, {out.stat().st_size} bytes")


def select_frames(recorded: Sequence[DecodedFrame]) -> list[Frame]:
    """Return the frames to keep, in order."""
    quirks = find_quirks(recorded)
    sound = [decoded for decoded in recorded if decoded.number not in quirks]
    exchanges: defaultdict[tuple[bool, object], list[Exchange]] = defaultdict(list)
    for exchange in pair(sound):
        exchanges[exchange.response is not None, _kind(exchange)].append(exchange)
    kept: list[Exchange] = []
    for (answered, kind), same in exchanges.items():
        if not answered and (True, kind) in exchanges:
            continue  # cut off by the end of the session
        kept += (min(same, key=exchange_size), max(same, key=exchange_size))
    return frames_of(kept)


def _kind(exchange: Exchange) -> object:
    """Return API and version, and for Produce also acks and compression."""
    request = exchange.request
    message: Any = request.message
    if request.api_key != PRODUCE:
        return request.api_key, request.version
    records = message.topic_data[0].partition_data[0].records
    compression = records[22] & 7  # the low byte of a batch's attributes
    return request.api_key, request.version, message.acks, compression


def exchange_size(exchange: Exchange) -> int:
    response = exchange.response
    return len(exchange.request.frame.data) + (len(response.frame.data) if response else 0)


def frames_of(exchanges: Iterable[Exchange]) -> list[Frame]:
    """Return the frames of exchanges, each once and in order; connections are renumbered."""
    kept: dict[int, Frame] = {}
    for exchange in exchanges:
        for decoded in (exchange.request, exchange.response):
            if decoded is not None:
                kept[decoded.number] = decoded.frame
    frames = [frame for _, frame in sorted(kept.items())]
    numbers: dict[int, int] = {}
    return [
        replace(frame, connection=numbers.setdefault(frame.connection, len(numbers) + 1))
        for frame in frames
    ]


if __name__ == "__main__":
    main()
