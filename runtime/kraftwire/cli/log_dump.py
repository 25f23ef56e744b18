"""The command `log dump`: everything that Kafka's files hold, record by record.

In directories, the segments in use are printed; a file that is named is printed whatever it
is. Damage does not end the dump: it goes to standard error with file, position and reason,
reading goes on behind it, and the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.failures import CouldNotDoIt
from kraftwire.cli.log_files import file_rows
from kraftwire.cli.log_forms import BYTES_FORMS, Forms, Found
from kraftwire.cli.log_options import Findings, limit_option, paths_argument, progress, time_option
from kraftwire.cli.log_output import JsonOutput, Output, ParquetOutput, TableOutput
from kraftwire.cli.output import on_terminal
from kraftwire.log.batch import Batch
from kraftwire.log.directory import LogFile, Partition, find_partitions
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.file_names import BATCH_FILES, FileKind
from kraftwire.log.isolation import find_transactions
from kraftwire.log.segment import Damage, scan_headers
from kraftwire.log.selection import Selection, select_batches, select_segments, start_position
from kraftwire.log.typed import LOGS, decode_typed, log_of_topic
from kraftwire_wire.errors import KraftwireError


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one call that say what is read and printed."""

    selection: Selection
    committed: bool
    batches: bool
    headers_only: bool
    log: str | None
    all_files: bool
    limit: int


@click.command()
@paths_argument
@click.option("--records/--batches", default=True, help="A row for each record, or each batch.")
@click.option(
    "--headers-only", is_flag=True, help="Batches by their headers; CRCs are not checked."
)
@click.option("--from-offset", type=int, metavar="N", help="The first offset wanted.")
@click.option("--to-offset", type=int, metavar="N", help="The first offset not wanted any more.")
@time_option("--since", "The earliest timestamp: 2026-11-21T10:00Z, or milliseconds.")
@time_option("--until", "The first timestamp not wanted any more.")
@click.option(
    "--isolation",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="Whether aborted and open transactions are left out.",
)
@click.option(
    "--bytes",
    "bytes_form",
    type=click.Choice(BYTES_FORMS),
    help="How bytes are printed; utf8 in tables and base64 elsewhere unless given.",
)
@click.option(
    "--style",
    type=click.Choice(["lossless", "kafka"]),
    default="lossless",
    show_default=True,
    help="Typed records as `kraftwire decode` prints them, or Kafka's dump-log tool.",
)
@click.option(
    "--as", "log", type=click.Choice(LOGS), help="What the records are, whatever the path."
)
@click.option("--all", "all_files", is_flag=True, help="In directories, every file of Kafka's.")
@click.option("--redact", is_flag=True, help="Leave out secrets: SCRAM, tokens, passwords.")
@click.option("--redact-payloads", is_flag=True, help="Leave out secrets and all untyped bytes.")
@limit_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "table", "parquet"]),
    help="How to print; a table on a terminal and JSON Lines elsewhere unless given.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file for -o parquet.")
def dump(paths: tuple[Path, ...], output: str | None, out: Path | None, **given: Any) -> None:
    """Print what Kafka's files hold: a table on a terminal, JSON Lines when piped.

    PATH is a data directory, a partition directory, or a file: a segment, an index, a
    snapshot, a checkpoint. What records mean is found from the path; records of
    __cluster_metadata, __consumer_offsets and the other topics of Kafka's own are printed as
    the messages that they are.

    \b
    Examples:
      kraftwire log dump /var/kafka/data/orders-0
      kraftwire log dump orders-0 --from-offset 1000 --to-offset 1100 --bytes utf8
      kraftwire log dump data --since 2026-11-21T10:00Z --isolation read_committed
      kraftwire log dump data/__cluster_metadata-0 --redact --style kafka
      kraftwire log dump orders-0 -o parquet --out orders.parquet
    """
    options = _options(given)
    findings = Findings()
    partitions = find_partitions(paths)
    named = {path for path in paths if path.is_file()}
    total = sum(file.path.stat().st_size for p in partitions for file in p.segments)
    printed = _open_output(output, out, options, given)
    with closing(printed), progress(total, "dump", prints=out is None) as done:
        for partition in partitions:
            for file in _files(partition, options, named):
                _dump_file(partition, file, options, printed, findings)
                done(file.path.stat().st_size)
    findings.exit()


def _open_output(
    output: str | None, out: Path | None, options: Options, given: dict[str, Any]
) -> Output:
    """Where the rows go; a combination of options that makes no sense is refused."""
    if (output == "parquet") != (out is not None):
        raise CouldNotDoIt("-o parquet and --out FILE go together")
    as_table = output == "table" or (output is None and on_terminal())
    forms = Forms(
        given["bytes_form"] or ("utf8" if as_table else "base64"),
        kafka_style=given["style"] == "kafka",
        redact=given["redact"] or given["redact_payloads"],
        redact_payloads=given["redact_payloads"],
    )
    if out is None:
        return TableOutput(forms) if as_table else JsonOutput(forms)
    if options.batches or options.all_files:
        raise CouldNotDoIt("-o parquet holds records; the rest is printed as json or table")
    return ParquetOutput(out, forms)


def _options(given: dict[str, Any]) -> Options:
    bounds = {name: given[name] for name in ("from_offset", "to_offset", "since", "until")}
    return Options(
        Selection(**bounds),
        committed=given["isolation"] == "read_committed",
        batches=not given["records"] or given["headers_only"],
        headers_only=given["headers_only"],
        log=given["log"],
        all_files=given["all_files"],
        limit=given["limit"],
    )


def _files(partition: Partition, options: Options, named: set[Path]) -> Iterator[LogFile]:
    """The files to print, in the order of their offsets."""
    wanted = set(select_segments(partition, options.selection))
    for file in partition.files:
        whole = options.all_files or file.path in named
        if file in wanted or (whole and (file.kind is not FileKind.SEGMENT or not file.in_use)):
            yield file


def _dump_file(
    partition: Partition, file: LogFile, options: Options, output: Output, findings: Findings
) -> None:
    if file.kind in BATCH_FILES:
        _dump_batches(partition, file, options, output, findings)
        return
    try:
        for row in file_rows(file):
            output.row(row)
    except CorruptBatch as error:
        findings.add_error(error)


def _dump_batches(
    partition: Partition, file: LogFile, options: Options, output: Output, findings: Findings
) -> None:
    selection = options.selection
    if options.committed:
        selection = _committed(partition, file, selection)
    with file.open() as source:
        index = partition.beside(file, FileKind.OFFSET_INDEX)
        start = start_position(source, index, selection.from_offset)
        if options.headers_only:
            for header in scan_headers(source, start):
                if isinstance(header, Damage):
                    _add_damage(findings, file, header)
                elif selection.may_have(header):
                    output.batch(file, header, None)
            return
        for item in select_batches(source, selection, start, limit=options.limit):
            if isinstance(item, Damage):
                _add_damage(findings, file, item)
            elif options.batches:
                output.batch(file, item.header, True)
            else:
                _dump_records(file, item, selection, options.log, output, findings)


def _committed(partition: Partition, file: LogFile, selection: Selection) -> Selection:
    """The selection without what a reader with read_committed does not see.

    A segment's transactions may end in a later one: all that lie beside it are looked at.
    """
    if selection.committed is not None or file.kind is not FileKind.SEGMENT:
        return selection
    whole = find_partitions([file.path.parent])[0]
    return replace(selection, committed=find_transactions(whole.segments))


def _dump_records(
    file: LogFile,
    batch: Batch,
    selection: Selection,
    log: str | None,
    output: Output,
    findings: Findings,
) -> None:
    try:
        records = selection.records(batch)
    except CorruptBatch as error:
        findings.add_error(error)
        return
    schema = log or log_of_topic(file.topic)
    for record in records:
        typed = None
        try:
            typed = decode_typed(schema, batch, record)
        except KraftwireError as error:
            findings.add(f"{file.path}, offset {record.offset}: {error}")
        has_schema = schema is not None or batch.header.is_control
        output.record(file, batch, record, Found(typed, has_schema))


def _add_damage(findings: Findings, file: LogFile, damage: Damage) -> None:
    reason = f"{damage.kind.value}, {damage.size} bytes not readable: {damage.reason}"
    findings.add_error(CorruptBatch(str(file.path), damage.start, reason))
