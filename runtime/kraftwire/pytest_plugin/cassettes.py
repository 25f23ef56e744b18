"""The fixture `kafka_cassette`: what it records, and how it replays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pytest

from kraftwire.address import Address
from kraftwire.capture.cassette import (
    CassetteHeader,
    CassetteReader,
    frame_line,
    header_line,
)
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.miss import Miss
from kraftwire.capture.replay.server import ReplayThread
from kraftwire.pytest_plugin.files import file_of, printable_lines, replace_file, shown
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError

_MARKER = "kafka_cassette"
_RECORDED_BY = "kraftwire's pytest plugin"


class KafkaCassette:
    """What a test gets.

    Fields:
        bootstrap: where to connect, as `host:port`.
        mode: `replay`, or `record` where a real broker is behind it.
        path: the file.
        misses: what was asked so far that was not recorded.
    """

    def __init__(
        self,
        bootstrap: str,
        mode: Literal["replay", "record"],
        path: Path,
        misses: list[Miss] | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.mode = mode
        self.path = path
        self.misses = [] if misses is None else misses


@contextmanager
def open_cassette(item: pytest.Item, has_passed: Callable[[], bool]) -> Iterator[KafkaCassette]:
    """Replay a test's cassette, or record it; `has_passed` says whether the test did."""
    name, ignore = _marked(item)
    path = file_of(item, "cassettes", name, ".jsonl")
    record = bool(item.config.getoption("--kafka-record"))
    if path.is_file() and not record:
        opened = _replay(path, ignore)
    else:
        opened = _record(path, _bootstrap(item, path), has_passed)
    with opened as cassette:
        yield cassette


def _marked(item: pytest.Item) -> tuple[str | None, tuple[str, ...]]:
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
        what = "--kafka-record" if path.is_file() else f"no cassette {shown(path)}"
        pytest.fail(f"{what}: say with --kafka-bootstrap HOST:PORT where to record it", False)
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
        pytest.fail(f"{shown(path)} cannot be read: {error.strerror or error}", False)
    except (KraftwireError, ValueError) as error:
        pytest.fail(printable_lines(str(error)), False)
    for problem in thread.replay.tape.problems:
        _tell(f"{path.name}: not replayed: {problem}")
    with thread:
        cassette = KafkaCassette(str(thread.address), "replay", path, thread.replay.misses)
        yield cassette
    if cassette.misses:
        misses = printable_lines("\n".join(str(miss) for miss in cassette.misses))
        pytest.fail(
            f"not on the cassette {shown(path)}:\n{misses}\n"
            "--kafka-record with --kafka-bootstrap HOST:PORT records it anew",
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
            _tell(f"{path.name}: {problem}")
        return
    if proxy.problems:
        pytest.fail(printable_lines("not recorded:\n" + "\n".join(proxy.problems)), False)
    header = CassetteHeader(_RECORDED_BY, registry.release)
    replace_file(path, chain([header_line(header)], map(frame_line, frames)))


def _tell(text: str) -> None:
    """Say what is shown where the test fails."""
    sys.stderr.write(f"{printable_lines(text)}\n")
