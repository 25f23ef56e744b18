"""The command `log salvage`: copies the readable batches of damaged logs to clean segments."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire.cli.options.stored import paths_argument
from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.output import output_option, pick_fields, print_note, print_rows
from kraftwire.console.progress import progress
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import Partition, find_partitions
from kraftwire.log.errors import UnreadableFile
from kraftwire.log.salvage.partition import Salvage
from kraftwire.log.salvage.small_files import Loss, copy_files
from kraftwire_wire.errors import KraftwireError, count_of

_COLUMNS = ("file", "bytes", "lost offsets", "reason")


@click.command()
@paths_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where to write: a new or an empty directory.",
)
@output_option
def salvage(paths: tuple[Path, ...], out: Path, output: str | None) -> None:
    """Copy the readable batches of damaged logs to clean segments with new indexes.

    Batches whose CRC matches are copied, also those after damage. A line for each lost range
    of bytes gives the offsets that are lost with it. PATH is only read. In DIR, partitions
    keep their names, and a broker can be started on it.

    Exit codes: 0 nothing was lost, 1 something was, 2 could not do it.

    \b
    Examples:
      kraftwire log salvage data/orders-0 --out saved
      kraftwire log salvage /var/kafka/data --out /mnt/saved -o json > lost.jsonl
    """
    _check_target(out, paths)
    losses: list[Loss] = []
    partitions = find_partitions(paths, report=lambda problem: losses.append(_not_read(problem)))
    _check_names(partitions)
    total = sum(file.size for found in partitions for file in found.segments)
    out.mkdir(parents=True, exist_ok=True)
    segments = batches = size = 0
    with progress(total, "salvage") as done:
        for partition in partitions:
            if _is_data_directory(partition):
                losses += copy_files(partition.files, out)
                continue
            work = Salvage(partition, out / _name(partition))
            losses += work.run(done)
            _report_open_transactions(partition, work)
            segments += work.saved.segments
            batches += work.saved.batches
            size += work.saved.size
    _print(losses, output)
    kept = f"{count_of(segments, 'segment')}, {batches} batches, {count_of(size, 'byte')}"
    print_note(f"saved: {kept}; ranges lost: {len(losses)}")
    exit_with_findings(losses)


def _not_read(problem: KraftwireError) -> Loss:
    """Return the loss of a file or directory that cannot be read at all."""
    assert isinstance(problem, UnreadableFile), "a search reports nothing else"
    return Loss(problem.file, 0, 0, f"left out: {problem.reason}", None, None)


def _check_target(out: Path, paths: tuple[Path, ...]) -> None:
    """Refuse a directory that has files, or that is below an input."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CouldNotDoIt(f"{out} exists and is not an empty directory")
    for path in paths:
        if out.resolve().is_relative_to(path.resolve()):
            raise CouldNotDoIt(f"{out} is within {path}, which must not change")


def _is_data_directory(partition: Partition) -> bool:
    """Whether the files are a data directory's own, which go to the top of the output."""
    return partition.name is None and not partition.segments


def _check_names(partitions: list[Partition]) -> None:
    """Refuse inputs whose outputs would overwrite each other."""
    places: dict[str, Partition] = {}
    for partition in partitions:
        name = "" if _is_data_directory(partition) else _name(partition)
        other = places.setdefault(name, partition)
        if other is not partition:
            both = f"{other.directory} and {partition.directory}"
            what = f"the same partition, {name}" if name else "the files of a data directory"
            raise CouldNotDoIt(f"{both} both have {what}; salvage them one by one")
    for partition in partitions:
        segments = [file for file in partition.files if file.kind is FileKind.SEGMENT]
        if len(partition.segments) < sum(file.in_use for file in segments):
            raise CouldNotDoIt(
                f"{partition.directory}: several segments begin with the same offset; "
                "salvage them one by one"
            )


def _report_open_transactions(partition: Partition, work: Salvage) -> None:
    for producer, offset in work.open_transactions.items():
        what = f"the transaction of producer {producer} from offset {offset} on has no end"
        print_note(f"{partition.label}: {what}; read_committed consumers stop there")


def _name(partition: Partition) -> str:
    return partition.directory.resolve().name


def _print(losses: list[Loss], output: str | None) -> None:
    rows = [
        (
            pick_fields(loss, "file start end first_offset last_offset reason"),
            (loss.file, f"{loss.start}-{loss.end}", _lost(loss), loss.reason),
        )
        for loss in losses
    ]
    if rows:
        print_rows(output, _COLUMNS, rows, folded=("file", "reason"))


def _lost(loss: Loss) -> str:
    if loss.first_offset is None:
        return "none"
    if loss.last_offset is None:
        return f"{loss.first_offset} and later"
    return f"{loss.first_offset}-{loss.last_offset}"
