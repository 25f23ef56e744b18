"""The fixture `kafka_cassette`: records the traffic of a test, and replays it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pytest

from kraftwire.address import Address
from kraftwire.capture.cassette import CassetteHeader, CassetteReader, frame_line, header_line
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.miss import Miss
from kraftwire.capture.replay.server import ReplayThread
from kraftwire.printing import printable_lines
from kraftwire.pytest_plugin.files import file_of, replace_file, short_path
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError

_MARKER = "kafka_cassette"
_RECORDED_BY = "kraftwire's pytest plugin"


@dataclass
class KafkaCassette:
    """The value of the fixture: a replayed or a recorded broker.

    Fields:
        bootstrap: where to connect, as `host:port`.
        mode: `replay`, or `record` if it forwards to a real broker.
        path: the file.
        misses: requests so far that were not recorded.
    """

    bootstrap: str
    mode: Literal["replay", "record"]
    path: Path
    misses: list[Miss] = field(default_factory=list)


@contextmanager
def open_cassette(item: pytest.Item, has_passed: Callable[[], bool]) -> Iterator[KafkaCassette]:
    """Replay a test's cassette, or record it and keep it if `has_passed` returns True."""
    name, ignore = _read_marker(item)
    path = file_of(item, "cassettes", name, ".jsonl")
    if path.is_file() and not item.config.getoption("--kafka-record"):
        opened = _replay(path, ignore)
    else:
        opened = _record(path, _bootstrap(item, path), has_passed)
    with opened as cassette:
        yield cassette


def _read_marker(item: pytest.Item) -> tuple[str | None, tuple[str, ...]]:
    marker = item.get_closest_marker(_MARKER)
    if marker is None:
        return None, ()
    settings: dict[str, Any] = dict(marker.kwargs)
    name, ignore = settings.pop("name", None), settings.pop("ignore", ())
    if marker.args or settings or isinstance(ignore, str):
        pytest.fail(f"the marker {_MARKER} takes name='...' and ignore=['Message.path']", False)
    return name, tuple(ignore)


def _bootstrap(item: pytest.Item, path: Path) -> Address:
    text = item.config.getoption("--kafka-bootstrap") or item.config.getini("kafka_bootstrap")
    if not text:
        what = "--kafka-record" if path.is_file() else f"no cassette {short_path(path)}"
        pytest.fail(f"{what}: record it with --kafka-bootstrap HOST:PORT", False)
    host, _, port = str(text).rpartition(":")
    if not host or not port.isdecimal():
        pytest.fail(f"--kafka-bootstrap {text}: not HOST:PORT", False)
    return Address(host.strip("[]"), int(port))


@contextmanager
def _replay(path: Path, ignore: tuple[str, ...]) -> Iterator[KafkaCassette]:
    try:
        with path.open("rb") as stream:
            frames = list(CassetteReader(stream, str(path)))
        thread = ReplayThread(frames, ignore=ignore)
    except OSError as error:
        pytest.fail(f"{short_path(path)} cannot be read: {error.strerror or error}", False)
    except (KraftwireError, ValueError) as error:
        pytest.fail(printable_lines(str(error)), False)
    for problem in thread.replay.tape.problems:
        _print(f"{path.name}: not replayed: {problem}")
    with thread:
        yield KafkaCassette(str(thread.address), "replay", path, thread.replay.misses)
    if thread.replay.misses:
        misses = printable_lines("\n".join(map(str, thread.replay.misses)))
        pytest.fail(
            f"not on the cassette {short_path(path)}:\n{misses}\n"
            "record it again with --kafka-record and --kafka-bootstrap HOST:PORT",
            False,
        )


@contextmanager
def _record(
    path: Path, upstream: Address, has_passed: Callable[[], bool]
) -> Iterator[KafkaCassette]:
    from kraftwire.capture.proxy.proxy import ProxyThread

    frames: list[Frame] = []
    with ProxyThread(upstream, record=frames.append) as proxy:
        yield KafkaCassette(str(proxy.address), "record", path)
    if not has_passed():
        for problem in proxy.problems:
            _print(f"{path.name}: {problem}")
        return
    if proxy.problems:
        pytest.fail(printable_lines("not recorded:\n" + "\n".join(proxy.problems)), False)
    header = CassetteHeader(_RECORDED_BY, registry.release)
    replace_file(path, chain([header_line(header)], map(frame_line, frames)))


def _print(text: str) -> None:
    """Print a line that pytest shows if the test fails."""
    sys.stderr.write(f"{printable_lines(text)}\n")
