"""The fixture `kafka_cassette`: what it records, and how it replays."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from kraftwire.address import Address
from kraftwire.capture.cassette import CassetteHeader, CassetteReader, write_cassette
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.miss import Miss
from kraftwire.capture.replay.server import ReplayThread
from kraftwire.pytest_plugin.files import file_of
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
def open_cassette(item: pytest.Item, has_failed: Callable[[], bool]) -> Iterator[KafkaCassette]:
    """Replay a test's cassette, or record it; `has_failed` says whether the test did."""
    name, ignore = _marked(item)
    path = file_of(item, "cassettes", name, ".jsonl")
    record = bool(item.config.getoption("--kafka-record"))
    if path.is_file() and not record:
        opened = _replay(path, ignore)
    else:
        opened = _record(path, _bootstrap(item, path), has_failed)
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
        shown = "/".join(path.parts[-3:])
        what = "--kafka-record" if path.is_file() else f"no cassette {shown}"
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
    except (KraftwireError, ValueError) as error:
        pytest.fail(str(error), False)
    for problem in thread.replay.tape.problems:
        sys.stderr.write(f"{path.name}: not replayed: {problem}\n")  # shown where the test fails
    with thread:
        cassette = KafkaCassette(str(thread.address), "replay", path, thread.replay.misses)
        yield cassette
    if cassette.misses:
        shown = "\n".join(str(miss) for miss in cassette.misses)
        pytest.fail(
            f"not on the cassette {'/'.join(path.parts[-3:])}:\n{shown}\n"
            "--kafka-record with --kafka-bootstrap HOST:PORT records it anew",
            False,
        )


@contextmanager
def _record(
    path: Path, upstream: Address, has_failed: Callable[[], bool]
) -> Iterator[KafkaCassette]:
    from kraftwire.capture.proxy.proxy import ProxyThread

    frames: list[Frame] = []
    with ProxyThread(upstream, record=frames.append) as proxy:
        yield KafkaCassette(str(proxy.address), "record", path)
    if has_failed():
        return
    if proxy.problems:
        pytest.fail("not recorded:\n" + "\n".join(proxy.problems), False)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("wb") as stream:
        write_cassette(stream, CassetteHeader(_RECORDED_BY, registry.release), frames)
    os.replace(unfinished, path)  # noqa: PTH105
