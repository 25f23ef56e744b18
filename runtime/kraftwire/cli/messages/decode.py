"""The command `decode`: bytes of a request, a response, a message or a record to fields.

Bytes are named in one of four ways, and each way has its own companions among the options;
`_COMPANIONS` says which. What is not a valid encoding is a finding: the error, with field
path and byte offset in the input, goes to standard error, and the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import click

from kraftwire.cli.messages import envelope
from kraftwire.cli.messages.envelope import Envelope
from kraftwire.cli.messages.input_bytes import (
    INPUT_FORMS,
    Frame,
    parse_input,
    read_input,
    readings,
    request_stream,
)
from kraftwire.cli.messages.spec_sets import (
    check_version,
    find_message,
    find_response,
    load_registry,
    messages_option,
)
from kraftwire.console.failures import EXIT_FINDINGS, Finding
from kraftwire.console.output import output_option, print_json, print_note, print_table, wants_json
from kraftwire.printing import printable
from kraftwire_wire.canonical import summary
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import JsonStyle
from kraftwire_wire.registry import API_VERSIONS, Registry

_COMPANIONS = {
    "request": frozenset[str](),
    "response": frozenset({"name", "version"}),
    "message": frozenset({"version", "file"}),
    "record": frozenset({"file", "key", "value", "id"}),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one call; files are open."""

    request: BinaryIO | None
    response: BinaryIO | None
    message: str | None
    record: str | None
    file: BinaryIO | None
    name: str | None
    version: int | None
    key: BinaryIO | None
    value: BinaryIO | None
    id: int | None
    input: str | None
    prefix: bool | None
    lenient: bool

    def read(self, file: BinaryIO) -> bytes:
        """The bytes that a file holds in the form of `--input`."""
        return parse_input(read_input(file), self.input)


@click.command()
@click.argument("file", required=False, type=click.File("rb"))
@click.option("--request", type=click.File("rb"), metavar="FILE", help="Requests with headers.")
@click.option("--response", type=click.File("rb"), metavar="FILE", help="A response with header.")
@click.option("--name", metavar="API", help="What --response answers: Vote, VoteResponse or 52.")
@click.option("--message", metavar="NAME", help="A bare message; needs --version and FILE.")
@click.option("--version", type=int, metavar="N", help="The version of --response or --message.")
@click.option("--record", metavar="LOG", help="A record's bytes; see below.")
@click.option("--key", type=click.File("rb"), metavar="FILE", help="A coordinator record's key.")
@click.option(
    "--value", type=click.File("rb"), metavar="FILE", help="A coordinator record's value."
)
@click.option(
    "--id", type=int, metavar="N", help="The record id of --value where no --key says it."
)
@click.option(
    "--input", type=click.Choice(INPUT_FORMS), help="The form of FILE; found out if not said."
)
@click.option(
    "--prefix/--no-prefix",
    default=None,
    help="Whether a 4-byte length comes first; found out if not said.",
)
@click.option(
    "--lenient", is_flag=True, help="Read as Kafka's own classes do, trailing bytes included."
)
@click.option(
    "--style",
    type=click.Choice(["lossless", "java"]),
    default="lossless",
    show_default=True,
    help="JSON without loss, or exactly as Kafka prints it.",
)
@click.option("--redact", is_flag=True, help="Leave out secrets: SASL, SCRAM, tokens, settings.")
@messages_option
@output_option
def decode(
    output: str | None, style: JsonStyle, messages: str, *, redact: bool, **given: Any
) -> None:
    """Decode bytes: a table on a terminal, JSON Lines when piped.

    FILE can be - for standard input, and holds hex, base64 or binary. A file of several
    requests, each behind its length, gives a line for each. `kraftwire encode` turns the
    JSON back into the same bytes.

    LOG of --record is cluster-metadata or remote-log, whose records are all value (FILE),
    or group, share or transaction, whose values are of the kind that the id of their key
    says (--key, --value with --id, or both files).

    \b
    Examples:
      kraftwire decode --request vote.bin
      kraftwire decode --response answer.hex --name Vote --version 2
      kraftwire decode --message MetadataRequest --version 12 -
      kraftwire decode --record cluster-metadata value.bin
      kraftwire decode --record group --id 3 --value value.bin
    """
    options = Options(**given)
    mode = _mode(options)
    as_json = wants_json(output)
    registry = load_registry(messages)
    failed = False
    for result in _DECODERS[mode](options, registry):
        if isinstance(result, str):
            click.echo(f"Error: {printable(result)}", err=True)
            failed = True
        else:
            if redact:
                from kraftwire.capture.redacting import redact_message

                redact_message(result.message, registry)
            _show(result, style, as_json)
            if result.deviations:
                print_note(_not_canonical(result))
    if failed:
        raise click.exceptions.Exit(EXIT_FINDINGS)


def _not_canonical(decoded: Envelope) -> str:
    """Return what encoding the message would write differently, and where that begins."""
    first = decoded.deviations[0]
    return f"{decoded.name}: {summary(decoded.deviations)}; first: {first}"


def _show(decoded: Envelope, style: JsonStyle, as_json: bool) -> None:
    if as_json:
        print_json(decoded.to_json(style))
        return
    from kraftwire.cli.messages.message_rows import COLUMNS, envelope_rows, title

    print_table(COLUMNS, envelope_rows(decoded), title(decoded))


def _mode(options: Options) -> str:
    """Which of the four ways was used; a usage error where the options do not fit it."""
    modes = [mode for mode in _COMPANIONS if getattr(options, mode) is not None]
    if len(modes) != 1:
        raise click.UsageError("say one of --request, --response, --message and --record")
    mode = modes[0]
    given = {
        name
        for name in ("name", "version", "file", "key", "value", "id")
        if getattr(options, name) is not None
    }
    for name in sorted(given - _COMPANIONS[mode]):
        raise click.UsageError(f"{_shown(name)} does not go with --{mode}")
    if mode != "record":
        for name in sorted(_COMPANIONS[mode] - given):
            raise click.UsageError(f"--{mode} needs {_shown(name)}")
        return mode
    if options.lenient or options.prefix:
        raise click.UsageError("--lenient and --prefix do not go with --record")
    if given not in ({"file"}, {"key"}, {"key", "value"}, {"value", "id"}):
        raise click.UsageError(
            "--record needs FILE, --key, --value with --id, or --key and --value"
        )
    return mode


def _shown(name: str) -> str:
    return "FILE" if name == "file" else f"--{name}"


# -- the four ways; each gives envelopes, and the text of an error where decoding goes on --


def _requests(options: Options, registry: Registry) -> Iterator[Envelope | str]:
    assert options.request is not None
    data = options.read(options.request)
    frames = [] if options.prefix is False else request_stream(data)

    def decode_one(frame: bytes) -> Envelope:
        try:
            decoded = envelope.decode_request(registry, frame, options.lenient)
            return envelope.with_deviations(registry, decoded, frame, options.lenient)
        except DecodeError as error:
            for hint in _lenient_hints(registry, frame, error):
                error.add_note(hint)
            raise

    if len(frames) < 2:
        try:
            yield _first_success(readings(data, options.prefix), decode_one)
        except DecodeError as error:
            raise Finding(_with_hints(error)) from None
        return
    for number, frame in enumerate(frames, 1):
        try:
            yield _decode_frame(frame, decode_one)
        except DecodeError as error:
            yield f"request {number}: {_with_hints(error)}"


def _lenient_hints(registry: Registry, frame: bytes, refusal: DecodeError) -> Iterator[str]:
    """Yield what to say of a request that only a broker reads; nothing if none does."""
    try:
        message = envelope.decode_request(registry, frame, True).message
    except KraftwireError:
        return
    end = refusal.offset
    if not refusal.path and end is not None:  # bytes after the message
        if message.API_KEY == API_VERSIONS and frame[end:] == bytes(4):
            yield "old versions of librdkafka write an int32 0 there"
        yield "brokers do not read them"
    yield "--lenient reads the request as a broker does"


def _with_hints(error: DecodeError) -> str:
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def _response(options: Options, registry: Registry) -> Iterator[Envelope | str]:
    assert options.response is not None
    assert options.name is not None
    assert options.version is not None
    name, version = options.name, options.version
    response = find_response(registry, name)

    def decode_one(frame: bytes) -> Envelope:
        lenient = options.lenient
        decoded = envelope.decode_response(registry, response, version, frame, lenient)
        return envelope.with_deviations(registry, decoded, frame, lenient)

    yield _first_success(readings(options.read(options.response), options.prefix), decode_one)


def _message(options: Options, registry: Registry) -> Iterator[Envelope | str]:
    assert options.message is not None
    assert options.file is not None
    assert options.version is not None
    version = options.version
    message = find_message(registry, options.message)
    check_version(message, version)

    def decode_one(frame: bytes) -> Envelope:
        lenient = options.lenient
        decoded = Envelope(message.decode(frame, version, lenient=lenient), version)
        return envelope.with_deviations(registry, decoded, frame, lenient)

    # A bare message often starts with a length of its own: it is read as it is first.
    yield _first_success(readings(options.read(options.file), options.prefix)[::-1], decode_one)


def _record(options: Options, registry: Registry) -> Iterator[Envelope | str]:
    log, record_id = options.record, options.id
    assert log is not None
    if options.file is not None:
        _require_keys(registry, log, False)
        yield envelope.decode_metadata(registry, log, options.read(options.file))
        return
    _require_keys(registry, log, True)
    if options.key is not None:
        key = envelope.decode_key(registry, log, options.read(options.key))
        record_id = key.message.API_KEY
        yield key
    if options.value is not None:
        assert record_id is not None
        registry.record(log, record_id)  # an id that the user got wrong is no finding
        yield envelope.decode_value(registry, log, record_id, options.read(options.value))


def _require_keys(registry: Registry, log: str, wanted: bool) -> None:
    """Refuse options that are not for the records of a log."""
    record_id = next(iter(registry.record_ids.get(log, ())), 0)
    has_keys = registry.record(log, record_id).key is not None
    if has_keys and not wanted:
        raise click.UsageError(f"{log} records have keys; say --key, --value or both")
    if wanted and not has_keys:
        raise click.UsageError(f"{log} records have no keys; say FILE alone")


_DECODERS: dict[str, Callable[[Options, Registry], Iterator[Envelope | str]]] = {
    "request": _requests,
    "response": _response,
    "message": _message,
    "record": _record,
}


def _first_success(frames: list[Frame], decode_one: Callable[[bytes], Envelope]) -> Envelope:
    """What the first reading gives that can be decoded, or else the first one's error."""
    errors: list[DecodeError | UnsupportedVersion] = []
    for frame in frames:
        try:
            return _decode_frame(frame, decode_one)
        except (DecodeError, UnsupportedVersion) as error:
            errors.append(error)
    raise errors[0]


def _decode_frame(frame: Frame, decode_one: Callable[[bytes], Envelope]) -> Envelope:
    """Decode one frame; offsets of errors count from the start of the input."""
    try:
        decoded = decode_one(frame.data)
        found = [replace(one, offset=one.offset + frame.start) for one in decoded.deviations]
        return replace(decoded, deviations=tuple(found)) if found else decoded
    except DecodeError as error:
        if error.offset is not None:
            error.offset += frame.start
        raise
