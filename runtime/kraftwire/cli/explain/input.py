"""What `explain` is asked to explain: bytes that are named in one of several ways.

Each way becomes a function that makes the rows in a scope. Where bytes can be read in two
ways, with and without a length prefix, the first one without an error is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click
import construct as c  # type: ignore[import-untyped]

from kraftwire.cli.messages.decode import Options
from kraftwire.cli.messages.input_bytes import (
    Frame,
    parse_input,
    read_input,
    readings,
    request_stream,
)
from kraftwire.cli.messages.spec_sets import check_version, find_message, find_response
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.construct_schema import Part
from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.files import EXPLAINED, explain_file
from kraftwire.explain.message_trace import number
from kraftwire.explain.messages import explain_message, explain_request, explain_response
from kraftwire.explain.rows import Report, Row, Scope
from kraftwire.explain.trace import Trace
from kraftwire.explain.typed import RecordOpener
from kraftwire.log.directory import find_files
from kraftwire.log.typed import KEYLESS, log_of_topic
from kraftwire.printing import printable
from kraftwire_wire.registry import Registry

Explain = Callable[[Scope], None]

_PREFIX_SIZE = 4

COMPANIONS = {
    "request": (frozenset[str](), frozenset({"prefix", "input"})),
    "response": (frozenset({"name", "version"}), frozenset({"prefix", "input"})),
    "message": (frozenset({"version", "path"}), frozenset({"prefix", "input"})),
    "batch": (frozenset[str](), frozenset({"log", "input"})),
    "record": (frozenset[str](), frozenset({"path", "key", "value", "id", "input"})),
    "path": (frozenset[str](), frozenset({"log", "position", "offset"})),
}
"""What each way to name bytes needs beside it, and what else goes with it."""


@dataclass(frozen=True, slots=True)
class Asked(Options):
    """The options of `decode` that name bytes, and those that only `explain` has."""

    path: str | None
    batch: BinaryIO | None
    position: int | None
    offset: int | None
    log: str | None
    limit: int

    def read_argument(self) -> bytes:
        """The same for FILE."""
        assert self.path is not None
        with click.open_file(self.path, "rb") as file:
            return parse_input(read_input(file), self.input)

    @property
    def files(self) -> list[str]:
        """The names of the files that are read."""
        opened = (self.request, self.response, self.batch, self.key, self.value)
        names = [str(file.name) for file in opened if file is not None]
        names += [self.path] if self.path is not None else []
        return [name for name in names if Path(name).exists()]

    @property
    def mode(self) -> str:
        """Which way was used; a usage error where the options do not fit it."""
        ways = [way for way in COMPANIONS if way != "path" and getattr(self, way) is not None]
        if len(ways) > 1 or (not ways and self.path is None):
            raise click.UsageError(
                "say FILE, or one of --request, --response, --message, --batch and --record"
            )
        way = ways[0] if ways else "path"
        needed, also = COMPANIONS[way]
        shown = f"--{way}" if way != "path" else "FILE"
        for name in sorted(needed):
            if getattr(self, name) is None:
                raise click.UsageError(f"{shown} needs {_shown(name)}")
        for name in sorted(frozenset().union(*(a | b for a, b in COMPANIONS.values()))):
            if name not in needed | also | {way} and getattr(self, name) is not None:
                raise click.UsageError(f"{_shown(name)} does not go with {shown}")
        return way


def _shown(name: str) -> str:
    return {"path": "FILE", "log": "--as"}.get(name, f"--{name}")


def find_explain(asked: Asked, registry: Registry) -> Explain:
    """The function that makes the rows; everything that can be refused before is."""
    return _WAYS[asked.mode](asked, registry)


def _request(asked: Asked, registry: Registry) -> Explain:
    assert asked.request is not None
    data = asked.read(asked.request)
    frames = [] if asked.prefix is False else request_stream(data)

    def one(frame: Frame, scope: Scope) -> None:
        explain_request(registry, frame.data, scope)

    if len(frames) < 2:
        return _first_without_error(data, readings(data, asked.prefix), one)

    def all_of_them(scope: Scope) -> None:
        for frame in frames:
            _explain_frame(data, frame, one, scope)

    return all_of_them


def _response(asked: Asked, registry: Registry) -> Explain:
    assert asked.response is not None
    assert asked.name is not None
    assert asked.version is not None
    response, version = find_response(registry, asked.name), asked.version
    data = asked.read(asked.response)

    def one(frame: Frame, scope: Scope) -> None:
        explain_response(registry, response, version, frame.data, scope)

    return _first_without_error(data, readings(data, asked.prefix), one)


def _message(asked: Asked, registry: Registry) -> Explain:
    assert asked.message is not None
    assert asked.version is not None
    message, version = find_message(registry, asked.message), asked.version
    check_version(message, version)
    data = asked.read_argument()

    def one(frame: Frame, scope: Scope) -> None:
        explain_message(registry, message, version, frame.data, scope)

    # A bare message often starts with a length of its own: it is read as it is first.
    return _first_without_error(data, readings(data, asked.prefix)[::-1], one)


def _first_without_error(
    data: bytes, frames: list[Frame], one: Callable[[Frame, Scope], None]
) -> Explain:
    chosen = frames[0]
    if len(frames) > 1:
        chosen = next((frame for frame in frames if not _has_errors(frame, one)), chosen)
    return lambda scope: _explain_frame(data, chosen, one, scope)


def _has_errors(frame: Frame, one: Callable[[Frame, Scope], None]) -> bool:
    report = Report(_nowhere)
    one(frame, Scope(report))
    return bool(report.findings)


def _nowhere(_row: Row) -> None:
    """A sink for rows that nobody wants."""


def _explain_frame(
    data: bytes, frame: Frame, one: Callable[[Frame, Scope], None], scope: Scope
) -> None:
    """A frame behind its length, where it has one."""
    if frame.start:
        start = frame.start - _PREFIX_SIZE
        prefix = Trace(data[start : frame.start], scope.inside(start, deeper=0))
        prefix.parse(number("frame_size", "int32", c.Int32sb))
    one(frame, scope.inside(frame.start, deeper=0))


def _batch(asked: Asked, registry: Registry) -> Explain:
    assert asked.batch is not None
    data = asked.read(asked.batch)
    if not data:
        raise CouldNotDoIt("there are no bytes to be explained")
    reader = BatchExplainer(registry, asked.log, asked.limit)
    return lambda scope: reader.run(scope, data, "batches")


def _record(asked: Asked, registry: Registry) -> Explain:
    log = asked.record
    assert log is not None
    if log not in registry.record_ids:
        registry.record(log, 0)  # says which logs there are
    opener = RecordOpener(registry, log, is_control=False)
    if log in KEYLESS:
        if asked.path is None or asked.key or asked.value or asked.id is not None:
            raise click.UsageError(f"{log} records have no keys; say FILE alone")
        parts = [("value", asked.read_argument())]
    else:
        if asked.path is not None or not (asked.key or asked.value):
            raise click.UsageError(f"{log} records have keys; say --key, --value or both")
        if asked.value and not asked.key and asked.id is None:
            raise click.UsageError("--value needs --key or --id, which say what it is")
        if asked.id is not None:
            registry.record(log, asked.id)
            opener.begin(asked.id)
        files = [("key", asked.key), ("value", asked.value)]
        parts = [(name, asked.read(file)) for name, file in files if file is not None]

    def explain(scope: Scope) -> None:
        for name, data in parts:
            view = f"the record's {name}" if len(parts) > 1 else ""
            inside = Scope(scope.report, 0, scope.depth, name, view)
            opener.opens(Part("value", "bytes", name, name), data, inside)

    return explain


def _file(asked: Asked, registry: Registry) -> Explain:
    assert asked.path is not None
    if asked.path == "-":
        raise CouldNotDoIt("a stored file needs its name; say --batch - for record batches")
    if asked.position is not None and asked.offset is not None:
        raise click.UsageError("say one of --position and --offset")
    path = Path(asked.path)
    path.stat()
    if path.is_dir():
        raise CouldNotDoIt(f"{path} is a directory; name one of its files")
    (file,) = find_files([path])
    if file.kind not in EXPLAINED:
        raise CouldNotDoIt(f"{path} is text ({file.kind.value}); try: kraftwire log dump {path}")
    if not path.stat().st_size:
        click.echo(f"{printable(str(path))} is empty: there is nothing to explain", err=True)
    reader = BatchExplainer(registry, asked.log or log_of_topic(file.topic), asked.limit)
    return lambda scope: explain_file(
        reader, file, scope, position=asked.position, offset=asked.offset
    )


_WAYS: dict[str, Callable[[Asked, Registry], Explain]] = {
    "request": _request,
    "response": _response,
    "message": _message,
    "batch": _batch,
    "record": _record,
    "path": _file,
}
