"""Finds the bytes to explain, which options name in one of several ways.

Each way becomes a function that adds rows to a scope. If bytes can be read with and without a
length prefix, the first reading without an error is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click
import construct as c  # type: ignore[import-untyped]

from kraftwire.cli.messages.bytes_options import BytesOptions, Way, choose_way
from kraftwire.cli.messages.input_bytes import (
    PREFIX_SIZE,
    InputFrame,
    parse_input,
    read_input,
    readings,
    request_stream,
)
from kraftwire.cli.messages.message_lookup import check_version, find_message, find_response
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.output import print_note
from kraftwire.construct_schema import Part
from kraftwire.explain.batches import BatchExplainer
from kraftwire.explain.files import EXPLAINABLE, explain_file
from kraftwire.explain.message_trace import number
from kraftwire.explain.messages import explain_message, explain_request, explain_response
from kraftwire.explain.rows import RowReport, Scope
from kraftwire.explain.trace import Trace
from kraftwire.explain.typed import RecordOpener
from kraftwire.log.directories.partition import find_files
from kraftwire.log.queries.typed_records import KEYLESS, log_of_topic
from kraftwire_wire.registry import Registry

Explain = Callable[[Scope], None]
_ExplainFrame = Callable[[InputFrame, Scope], None]

WAYS = {
    "path": Way("", "log position offset"),
    "request": Way("", "prefix"),
    "response": Way("name version", "prefix"),
    "message": Way("version path", "prefix"),
    "batch": Way("", "log"),
    "record": Way("", "path key value id"),
}


@dataclass(frozen=True, slots=True)
class ExplainOptions(BytesOptions):
    """The options of one call; files other than FILE are open."""

    path: str | None
    batch: BinaryIO | None
    position: int | None
    offset: int | None
    log: str | None
    limit: int

    def read_argument(self) -> bytes:
        """Return the bytes of FILE, which has the form of `--input`."""
        assert self.path is not None
        with click.open_file(self.path, "rb") as file:
            return parse_input(read_input(file), self.input)

    @property
    def files(self) -> list[str]:
        """The names of the existing files among the inputs."""
        opened = (self.request, self.response, self.batch, self.key, self.value)
        names = [str(file.name) for file in opened if file is not None]
        names += [self.path] if self.path is not None else []
        return [name for name in names if Path(name).exists()]


def find_explain(options: ExplainOptions, registry: Registry) -> Explain:
    """Return the function that adds the rows; raise immediately if the options are wrong."""
    return _EXPLAINERS[choose_way(options, WAYS)](options, registry)


def _request(options: ExplainOptions, registry: Registry) -> Explain:
    assert options.request is not None
    data = options.read(options.request)
    frames = [] if options.prefix is False else request_stream(data)

    def explain(frame: InputFrame, scope: Scope) -> None:
        explain_request(registry, frame.data, scope)

    if len(frames) < 2:
        return _first_without_error(data, readings(data, options.prefix), explain)

    def explain_all(scope: Scope) -> None:
        for frame in frames:
            _explain_frame(data, frame, explain, scope)

    return explain_all


def _response(options: ExplainOptions, registry: Registry) -> Explain:
    assert options.response is not None
    assert options.name is not None
    assert options.version is not None
    response, version = find_response(registry, options.name), options.version
    data = options.read(options.response)

    def explain(frame: InputFrame, scope: Scope) -> None:
        explain_response(registry, response, version, frame.data, scope)

    return _first_without_error(data, readings(data, options.prefix), explain)


def _message(options: ExplainOptions, registry: Registry) -> Explain:
    assert options.message is not None
    assert options.version is not None
    message, version = find_message(registry, options.message), options.version
    check_version(message, version)
    data = options.read_argument()

    def explain(frame: InputFrame, scope: Scope) -> None:
        explain_message(registry, message, version, frame.data, scope)

    # A bare message often starts with a length of its own: try it without a prefix first.
    return _first_without_error(data, readings(data, options.prefix)[::-1], explain)


def _first_without_error(data: bytes, frames: list[InputFrame], explain: _ExplainFrame) -> Explain:
    chosen = frames[0]
    if len(frames) > 1:
        chosen = next((frame for frame in frames if not _has_errors(frame, explain)), chosen)
    return lambda scope: _explain_frame(data, chosen, explain, scope)


def _has_errors(frame: InputFrame, explain: _ExplainFrame) -> bool:
    report = RowReport(lambda _: None)
    explain(frame, Scope(report))
    return bool(report.findings)


def _explain_frame(data: bytes, frame: InputFrame, explain: _ExplainFrame, scope: Scope) -> None:
    """Explain a frame after its length prefix, if it has one."""
    if frame.start:
        start = frame.start - PREFIX_SIZE
        prefix = Trace(data[start : frame.start], scope.inside(start, deeper=0))
        prefix.parse(number("frame_size", "int32", c.Int32sb))
    explain(frame, scope.inside(frame.start, deeper=0))


def _batch(options: ExplainOptions, registry: Registry) -> Explain:
    assert options.batch is not None
    data = options.read(options.batch)
    if not data:
        raise CouldNotDoIt("the input is empty")
    reader = BatchExplainer(registry, options.log, options.limit)
    return lambda scope: reader.run(scope, data)


def _record(options: ExplainOptions, registry: Registry) -> Explain:
    log = options.record
    assert log is not None
    opener = RecordOpener(registry, log, is_control=False)
    options.check_record(registry, has_file=options.path is not None)
    if log in KEYLESS:
        parts = [("value", options.read_argument())]
    else:
        if options.value and not options.key and options.id is None:
            raise click.UsageError("--value needs --key or --id, which identify its type")
        if options.id is not None:
            registry.record(log, options.id)
            opener.begin(options.id)
        files = [("key", options.key), ("value", options.value)]
        parts = [(name, options.read(file)) for name, file in files if file is not None]

    def explain(scope: Scope) -> None:
        for name, data in parts:
            view = f"the record's {name}" if len(parts) > 1 else ""
            inside = Scope(scope.report, 0, scope.depth, name, view)
            opener.opens(Part("value", "bytes", name, name), data, inside)

    return explain


def _file(options: ExplainOptions, registry: Registry) -> Explain:
    assert options.path is not None
    if options.path == "-":
        raise CouldNotDoIt(
            "name the stored file; only record batches can come from a pipe, with --batch -"
        )
    if options.position is not None and options.offset is not None:
        raise click.UsageError("--position and --offset do not go together")
    path = Path(options.path)
    path.stat()
    if path.is_dir():
        raise CouldNotDoIt(f"{path} is a directory; name one of its files")
    (file,) = find_files([path])
    if file.kind not in EXPLAINABLE:
        raise CouldNotDoIt(f"{path} is text ({file.kind.value}); try: kraftwire log dump {path}")
    if not path.stat().st_size:
        print_note(f"{path} is empty")
    reader = BatchExplainer(registry, options.log or log_of_topic(file.topic), options.limit)
    return lambda scope: explain_file(
        reader, file, scope, position=options.position, offset=options.offset
    )


_EXPLAINERS: dict[str, Callable[[ExplainOptions, Registry], Explain]] = {
    "request": _request,
    "response": _response,
    "message": _message,
    "batch": _batch,
    "record": _record,
    "path": _file,
}
