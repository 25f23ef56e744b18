"""The command `log dump`: prints the content of Kafka's files, record by record.

For a directory it prints the segments in use; a file named on the command line is always printed.
After damage it prints file, position and reason on standard error and goes on, and the exit code
is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.log.files import file_rows
from kraftwire.cli.log.output import DumpOutput, JsonOutput, ParquetOutput, TableOutput, closing
from kraftwire.cli.log.record_format import BYTES_FORMS, RecordContent, RecordFormat
from kraftwire.cli.options.stored import (
    check_range,
    limit_option,
    log_option,
    paths_argument,
    refuse_input_as_output,
    time_option,
)
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import on_terminal, output_choice, print_note
from kraftwire.console.progress import progress
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind
from kraftwire.log.directories.partition import LogFile, Partition, find_partitions
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.selection import (
    Selection,
    select_batches,
    select_segments,
    start_position,
)
from kraftwire.log.queries.transactions import PartitionTransactions, find_transactions
from kraftwire.log.queries.typed_records import decode_typed, log_of_topic
from kraftwire.log.segments.batch_order import in_order
from kraftwire.log.segments.segment import Damage, scan_headers
from kraftwire_wire.errors import KraftwireError


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The options that select what to read and print."""

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
@click.option("--from-offset", type=int, metavar="N", help="The first offset to print.")
@click.option("--to-offset", type=int, metavar="N", help="Stop before this offset.")
@time_option("--since", "The earliest timestamp: 2026-11-21T10:00Z, or milliseconds.")
@time_option("--until", "Stop before this timestamp.")
@click.option(
    "--isolation",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="Whether to leave out aborted and open transactions.",
)
@click.option(
    "--bytes",
    "bytes_form",
    type=click.Choice(BYTES_FORMS),
    help="How to print bytes; the default is utf8 in tables, base64 elsewhere.",
)
@click.option(
    "--style",
    type=click.Choice(["lossless", "kafka"]),
    default="lossless",
    show_default=True,
    help="Typed records as `kraftwire decode` prints them, or Kafka's dump-log tool.",
)
@log_option
@click.option(
    "--all", "all_files", is_flag=True, help="For directories, print every file of Kafka's."
)
@click.option("--redact", is_flag=True, help="Leave out secrets: SCRAM, tokens, passwords.")
@click.option("--redact-payloads", is_flag=True, help="Leave out secrets and all untyped bytes.")
@limit_option
@output_choice("json", "table", "parquet")
@click.option("--out", type=click.Path(path_type=Path), help="The file for -o parquet.")
def dump(paths: tuple[Path, ...], output: str | None, out: Path | None, **given: Any) -> None:
    """Print the content of Kafka's files: a table on a terminal, JSON Lines when piped.

    PATH is a data directory, a partition directory, or a file: a segment, an index, a
    snapshot, a checkpoint. The topic comes from the path: records of __cluster_metadata,
    __consumer_offsets and Kafka's other internal topics are decoded and printed as messages.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire log dump /var/kafka/data/orders-0
      kraftwire log dump orders-0 --from-offset 1000 --to-offset 1100 --bytes utf8
      kraftwire log dump data --since 2026-11-21T10:00Z --isolation read_committed
      kraftwire log dump data/__cluster_metadata-0 --redact --style kafka
      kraftwire log dump orders-0 -o parquet --out orders.parquet
    """
    check_range(given["from_offset"], given["to_offset"])
    options = _options(given)
    findings = Findings()
    partitions = find_partitions(paths, report=findings.add)
    named = {path for path in paths if path.is_file()}
    total = sum(file.size for p in partitions for file in p.segments)
    if out is not None:
        refuse_input_as_output(out, named)
    printed = _open_output(output, out, options, given)
    dump = _Dump(options, printed, findings)
    with closing(printed), progress(total, "dump", prints=out is None) as done:
        for partition in partitions:
            for file in _files(partition, options, named):
                dump.print_file(partition, file)
                done(file.size)
    findings.exit()


def _open_output(
    output: str | None, out: Path | None, options: DumpOptions, given: dict[str, Any]
) -> DumpOutput:
    if (output == "parquet") != (out is not None):
        raise CouldNotDoIt("-o parquet and --out FILE go together")
    as_table = output == "table" or (output is None and on_terminal())
    record_format = RecordFormat(
        given["bytes_form"] or ("utf8" if as_table else "base64"),
        kafka_style=given["style"] == "kafka",
        redact=given["redact"] or given["redact_payloads"],
        redact_payloads=given["redact_payloads"],
    )
    if out is None:
        return TableOutput(record_format) if as_table else JsonOutput(record_format)
    if options.batches or options.all_files:
        raise CouldNotDoIt(
            "-o parquet writes records only; print the rest with -o json or -o table"
        )
    return ParquetOutput(out, record_format)


def _options(given: dict[str, Any]) -> DumpOptions:
    bounds = {name: given[name] for name in ("from_offset", "to_offset", "since", "until")}
    return DumpOptions(
        Selection(**bounds),
        committed=given["isolation"] == "read_committed",
        batches=not given["records"] or given["headers_only"],
        headers_only=given["headers_only"],
        log=given["log"],
        all_files=given["all_files"],
        limit=given["limit"],
    )


def _files(partition: Partition, options: DumpOptions, named: set[Path]) -> Iterator[LogFile]:
    """Yield the files to print, in the order of their offsets."""
    selected = set(select_segments(partition, options.selection))
    for file in partition.files:
        whole = options.all_files or file.path in named
        if file in selected or (whole and (file.kind is not FileKind.SEGMENT or not file.in_use)):
            yield file


class _Dump:
    """Prints file by file, and remembers the transactions of each directory."""

    def __init__(self, options: DumpOptions, output: DumpOutput, findings: Findings) -> None:
        self._options = options
        self._output = output
        self._findings = findings
        self._transactions: dict[Path, PartitionTransactions] = {}

    def print_file(self, partition: Partition, file: LogFile) -> None:
        try:
            if file.kind in BATCH_FILES:
                self._batches(partition, file)
            else:
                for obj in file_rows(file):
                    self._output.entry(obj)
        except CorruptBatch as error:
            self._findings.add(error)

    def _batches(self, partition: Partition, file: LogFile) -> None:
        options, selection = self._options, self._options.selection
        is_segment = file.kind is FileKind.SEGMENT and file.in_use
        if options.committed and is_segment:
            selection = replace(selection, committed=self._transactions_of(partition, file))
        with file.open() as source:
            index = partition.beside(file, FileKind.OFFSET_INDEX) if is_segment else None
            start = start_position(source, index, selection.from_offset)
            order = partition.order(file, start)
            if options.headers_only:
                self._headers(file, in_order(scan_headers(source, start), order))
                return
            for item in select_batches(source, selection, start, order=order, limit=options.limit):
                if isinstance(item, Damage):
                    self._findings.add(item.error(str(file.path)))
                elif options.batches:
                    self._output.batch(file, item.header, True)
                else:
                    self._records(file, item, selection)

    def _headers(self, file: LogFile, headers: Iterable[BatchHeader | Damage]) -> None:
        for header in headers:
            if isinstance(header, Damage):
                self._findings.add(header.error(str(file.path)))
            elif self._options.selection.may_have(header):
                self._output.batch(file, header, None)

    def _transactions_of(self, partition: Partition, file: LogFile) -> PartitionTransactions:
        """Return the transactions of the whole partition: they may end in a later segment."""
        directory = file.path.parent
        if directory not in self._transactions:
            beside = find_partitions([directory], report=lambda _: None) if partition.name else []
            whole = beside[0] if beside else partition
            found = self._transactions[directory] = find_transactions(whole.segments)
            for problem in found.problems:
                self._findings.add(f"{problem} (while looking for transactions)")
            for producer, offset in found.open.items():
                what = f"producer {producer} has an open transaction from offset {offset} on"
                print_note(f"{directory}: {what}")
        return self._transactions[directory]

    def _records(self, file: LogFile, batch: Batch, selection: Selection) -> None:
        try:
            records = selection.records(batch)
        except CorruptBatch as error:
            self._findings.add(error)
            return
        schema = self._options.log or log_of_topic(file.topic)
        # Without a topic, the bytes may be messages with secrets.
        has_schema = schema is not None or file.topic is None or batch.header.is_control
        for record in records:
            typed = None
            try:
                typed = decode_typed(schema, batch, record)
            except KraftwireError as error:
                self._findings.add(f"{file.path}, offset {record.offset}: {error}")
            self._output.record(file, batch, record, RecordContent(typed, has_schema))
