"""Read a file of batches in one of many ways, in a process of its own, and say what it took.

    python -m codec_tests.log.hostile_reading WAY DIRECTORY

The last line of standard output is JSON: the peak of resident memory in bytes, and seconds of
the processor.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kraftwire.log.errors import CorruptBatch

_ADDRESS_SPACE = 6 << 30
"""What went wrong must not take the machine with it."""


def _command(*arguments: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        from kraftwire.cli import main

        with open("/dev/null", "w") as nowhere:  # noqa: PTH123
            before, sys.stdout = sys.stdout, nowhere
            try:
                sys.argv = ["kraftwire", *arguments, str(path)]
                main()
            except SystemExit:
                pass
            finally:
                sys.stdout = before

    return run


def _columns(path: Path) -> None:
    from kraftwire.columns import decode_batches
    from kraftwire.columns.schema import RECORD_COLUMNS
    from kraftwire.log import FileSource

    with FileSource(_segment(path)) as source:
        rows = sum(one.num_rows for one in decode_batches(source, RECORD_COLUMNS, control=True))
    print(f"{rows} rows", file=sys.stderr)


def _segment(path: Path) -> Path:
    return next(path.rglob("*.log"))


def _proxy(path: Path) -> None:
    from uuid import UUID

    from kraftwire.capture.decoding.decoder import decode_frames
    from kraftwire.capture.frame import Frame
    from kraftwire.capture.frame_redaction import redact_frame
    from kraftwire_messages.kafka import FetchRequest, FetchResponse, registry

    partition = FetchResponse.PartitionData(records=_segment(path).read_bytes())
    topic = FetchResponse.FetchableTopicResponse(topic_id=UUID(int=1), partitions=[partition])
    answer = FetchResponse(responses=[topic])
    asked = registry.request_header(FetchRequest(), 17, correlation_id=1)
    frames = [
        Frame(1, "request", 0.0, registry.encode_request(asked, FetchRequest())),
        Frame(1, "response", 0.0, registry.encode_response(asked, answer)),
    ]
    for decoded in decode_frames(frames, registry):
        print(redact_frame(decoded, registry).paths[:3], file=sys.stderr)


def _replay(path: Path) -> None:
    from kraftwire.capture.replay.partition_logs import contents_of

    print(len(contents_of(_segment(path).read_bytes())), file=sys.stderr)


def _difference(path: Path) -> None:
    from kraftwire.difference import as_tree
    from kraftwire_messages.kafka import FetchResponse

    partition = FetchResponse.PartitionData(records=_segment(path).read_bytes())
    print(str(as_tree(partition)["records"])[:100], file=sys.stderr)


def _follower(path: Path) -> None:
    from kraftwire.raft.core.messages import METADATA_TOPIC_ID
    from kraftwire.raft.replication.fetch_client import handle_fetch_response
    from kraftwire.raft.state.election_state import Election
    from kraftwire_messages.kafka import FetchResponse

    from codec_tests.raft.replicas import TWO, core_of

    core = core_of(Election(4, leader_id=TWO.id))
    partition = FetchResponse.PartitionData(
        records=_segment(path).read_bytes(),
        high_watermark=1,
        current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=TWO.id, leader_epoch=4),
    )
    topic = FetchResponse.FetchableTopicResponse(
        topic_id=METADATA_TOPIC_ID, topic="__cluster_metadata", partitions=[partition]
    )
    print(
        handle_fetch_response(core, FetchResponse(responses=[topic])), core.refused, file=sys.stderr
    )


WAYS: dict[str, Callable[[Path], None]] = {
    "dump-json": _command("log", "dump", "-o", "json"),
    "dump-table": _command("log", "dump", "-o", "table"),
    "fsck": _command("log", "fsck"),
    "groups": _command("groups", "show"),
    "metadata": _command("metadata", "show"),
    "read-committed": _command("log", "dump", "--isolation", "read_committed", "--batches"),
    "explain": lambda path: _command("explain", "-o", "json")(_segment(path)),
    "columns": _columns,
    "proxy": _proxy,
    "replay": _replay,
    "difference": _difference,
    "follower": _follower,
}


def main(way: str, path: str) -> None:
    """Read, and print what it took."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    try:
        WAYS[way](Path(path))
    except CorruptBatch as error:
        print(error, file=sys.stderr)
    print(json.dumps({"peak": _peak(), "seconds": time.process_time()}))


def _peak() -> int:
    """The most memory of this process; `getrusage` has that of its parent too, on Linux."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) << 10


if __name__ == "__main__":
    main(*sys.argv[1:])
