"""Records the committed files of a real Kafka, in `codec_tests/stored`.

    python -m codec_tests.interop.record_logs --out codec_tests/stored

Runs the session of `log_session` and copies the directories of the controller and of the broker
that stopped cleanly. Files above 100 KB are left out: they are preallocated indexes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from codec_tests.interop.log_session import stored_logs

LARGEST = 100_000


def copy_small_files(source: Path, target: Path) -> tuple[int, int]:
    """Copy a directory without its large files; return how many files and bytes were copied."""
    files = size = 0
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.stat().st_size <= LARGEST:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            files += 1
            size += path.stat().st_size
    return files, size


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The directory.")
def main(out: Path) -> None:
    """Record the data directories of a session with a real Kafka."""
    with stored_logs() as logs:
        for name, directory in (("controller", logs.controller), ("broker", logs.stopped)):
            shutil.rmtree(out / name, ignore_errors=True)
            files, size = copy_small_files(directory, out / name)
            print(f"{out / name}: {files} files, {size} bytes")


if __name__ == "__main__":
    main()
