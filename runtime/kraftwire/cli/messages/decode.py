"""The command `decode`: decodes the bytes of a request, a response, a message or a record.

An invalid encoding is a finding: the error, with field path and byte offset in the input, goes
to standard error, and the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

import click

from kraftwire.cli.messages import decoded_message
from kraftwire.cli.messages.bytes_options import BytesOptions, Way, bytes_options, choose_way
from kraftwire.cli.messages.decoded_message import DecodedMessage
from kraftwire.cli.messages.input_bytes import InputFrame, readings, request_stream
from kraftwire.cli.messages.message_lookup import (
    check_version,
    find_message,
    find_response,
    load_registry,
)
from kraftwire.console.failures import Finding, exit_with_findings
from kraftwire.console.output import output_option, print_json, print_note, print_table, wants_json
from kraftwire_wire.canonical import summary
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.json_form import JsonStyle
from kraftwire_wire.registry import API_VERSIONS, Registry

_WAYS = {
    "request": Way("", "prefix lenient"),
    "response": Way("name version", "prefix lenient"),
    "message": Way("version file", "prefix lenient"),
    "record": Way("", "file key value id"),
}
_RECORD_PARTS = ({"file"}, {"key"}, {"key", "value"}, {"value", "id"})


@dataclass(frozen=True, slots=True)
class DecodeOptions(BytesOptions):
    """The options of one call; files are open."""

    file: BinaryIO | None
    lenient: bool


@click.command()
@click.argument("file", required=False, type=click.File("rb"))
@bytes_options
@click.option(
    "--lenient", is_flag=True, help="Read like Kafka's own classes, which ignore trailing bytes."
)
@click.option(
    "--style",
    type=click.Choice(["lossless", "java"]),
    default="lossless",
    show_default=True,
    help="JSON without loss, or exactly as Kafka prints it.",
)
@click.option("--redact", is_flag=True, help="Leave out secrets: SASL, SCRAM, tokens, settings.")
@output_option
def decode(
    output: str | None, style: JsonStyle, messages: str, *, redact: bool, **given: Any
) -> None:
    """Decode bytes: a table on a terminal, JSON Lines when piped.

    FILE can be - for standard input, and is hex, base64 or binary. If a file has several
    requests, each after its length, each gets a line. `kraftwire encode` turns the JSON back
    into the same bytes.

    LOG of --record is cluster-metadata or remote-log, whose records have only a value (FILE),
    or group, share or transaction, where the id in the key is needed to decode the value
    (--key, --value with --id, or both files).

    \b
    Examples:
      kraftwire decode --request vote.bin
      kraftwire decode --response answer.hex --name Vote --version 2
      kraftwire decode --message MetadataRequest --version 12 -
      kraftwire decode --record cluster-metadata value.bin
      kraftwire decode --record group --id 3 --value value.bin
    """
    options = DecodeOptions(**given)
    decoder = _DECODERS[choose_way(options, _WAYS)]
    as_json = wants_json(output)
    registry = load_registry(messages)
    failed = False
    for result in decoder(options, registry):
        if isinstance(result, str):
            print_note(f"Error: {result}")
            failed = True
            continue
        if redact:
            from kraftwire.capture.frame_redaction import redact_message

            redact_message(result.message, registry)
        _show(result, style, as_json)
        if result.deviations:
            print_note(_not_canonical(result))
    exit_with_findings(failed)


def _not_canonical(decoded: DecodedMessage) -> str:
    """Return how encoding would write the message differently, and the first place."""
    first = decoded.deviations[0]
    return f"{decoded.name}: {summary(decoded.deviations)}; first: {first}"


def _show(decoded: DecodedMessage, style: JsonStyle, as_json: bool) -> None:
    if as_json:
        print_json(decoded.to_json(style))
        return
    from kraftwire.cli.messages.message_rows import COLUMNS, message_rows, title

    print_table(COLUMNS, message_rows(decoded), title(decoded))


# -- the four ways; each yields messages, and the error of a message if others follow -----


def _requests(options: DecodeOptions, registry: Registry) -> Iterator[DecodedMessage | str]:
    assert options.request is not None
    data = options.read(options.request)
    frames = [] if options.prefix is False else request_stream(data)

    def decode_one(frame: bytes) -> DecodedMessage:
        try:
            return decoded_message.decode_request(registry, frame, options.lenient)
        except DecodeError as error:
            for hint in _lenient_hints(registry, frame, error):
                error.add_note(hint)
            raise

    decoder = _FrameDecoder(registry, decode_one, options.lenient)
    if len(frames) < 2:
        try:
            yield decoder.first(readings(data, options.prefix))
        except DecodeError as error:
            raise Finding(_with_hints(error)) from None
        return
    for number, frame in enumerate(frames, 1):
        try:
            yield decoder.decode(frame)
        except DecodeError as error:
            yield f"request {number}: {_with_hints(error)}"


def _lenient_hints(registry: Registry, frame: bytes, refusal: DecodeError) -> Iterator[str]:
    """Yield hints about a request that only a broker would read."""
    try:
        message = decoded_message.decode_request(registry, frame, True).message
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


def _response(options: DecodeOptions, registry: Registry) -> Iterator[DecodedMessage | str]:
    assert options.response is not None
    assert options.name is not None
    assert options.version is not None
    version, lenient = options.version, options.lenient
    response = find_response(registry, options.name)
    data = options.read(options.response)

    def decode_one(frame: bytes) -> DecodedMessage:
        return decoded_message.decode_response(registry, response, version, frame, lenient)

    yield _FrameDecoder(registry, decode_one, lenient).first(readings(data, options.prefix))


def _message(options: DecodeOptions, registry: Registry) -> Iterator[DecodedMessage | str]:
    assert options.message is not None
    assert options.file is not None
    assert options.version is not None
    version, lenient = options.version, options.lenient
    message = find_message(registry, options.message)
    check_version(message, version)
    data = options.read(options.file)

    def decode_one(frame: bytes) -> DecodedMessage:
        return DecodedMessage(message.decode(frame, version, lenient=lenient), version)

    # A bare message often starts with a length of its own: try it without a prefix first.
    frames = readings(data, options.prefix)[::-1]
    yield _FrameDecoder(registry, decode_one, lenient).first(frames)


def _record(options: DecodeOptions, registry: Registry) -> Iterator[DecodedMessage | str]:
    log, record_id = options.record, options.id
    assert log is not None
    parts = {name for name in ("file", "key", "value", "id") if getattr(options, name) is not None}
    if parts not in _RECORD_PARTS:
        raise click.UsageError(
            "--record needs FILE, --key, --value with --id, or --key and --value"
        )
    options.check_record(registry, has_file=options.file is not None)
    if options.file is not None:
        yield decoded_message.decode_metadata(registry, log, options.read(options.file))
        return
    if options.key is not None:
        key = decoded_message.decode_key(registry, log, options.read(options.key))
        record_id = key.message.API_KEY
        yield key
    if options.value is not None:
        assert record_id is not None
        registry.record(log, record_id)  # a wrong --id is not a finding
        yield decoded_message.decode_value(registry, log, record_id, options.read(options.value))


_DECODERS: dict[str, Callable[[DecodeOptions, Registry], Iterator[DecodedMessage | str]]] = {
    "request": _requests,
    "response": _response,
    "message": _message,
    "record": _record,
}


class _FrameDecoder(NamedTuple):
    """Decodes frames, and finds where they are not canonical."""

    registry: Registry
    decode_one: Callable[[bytes], DecodedMessage]
    lenient: bool

    def first(self, frames: list[InputFrame]) -> DecodedMessage:
        """Decode the first frame that can be decoded, or raise the error of the first one."""
        errors: list[DecodeError | UnsupportedVersion] = []
        for frame in frames:
            try:
                return self.decode(frame)
            except (DecodeError, UnsupportedVersion) as error:
                errors.append(error)
        raise errors[0]

    def decode(self, frame: InputFrame) -> DecodedMessage:
        """Decode a frame; count offsets from the start of the input."""
        try:
            decoded = self.decode_one(frame.data)
            decoded = decoded_message.with_deviations(
                self.registry, decoded, frame.data, self.lenient
            )
        except DecodeError as error:
            if error.offset is not None:
                error.offset += frame.start
            raise
        found = [replace(one, offset=one.offset + frame.start) for one in decoded.deviations]
        return replace(decoded, deviations=tuple(found)) if found else decoded
