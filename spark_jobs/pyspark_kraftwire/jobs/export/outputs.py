"""Directories that files are written to: of this machine, or of what else pyarrow can open.

A file is there as a whole or not at all: it is written under a temporary name of its own and
renamed, so that tasks which are tried twice, or outlive their job, cannot spoil one another.
Names that begin with `_` or `.` are none of the data to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyarrow import fs

from kraftwire_wire.errors import KraftwireError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
_TEMPORARY = ".tmp"
_STAGING = ".spark-staging-"
"""How the directories begin that Spark writes partitions to before they are put in place."""


class OutputDirectory:
    """A directory; it is pickled as the file system of pyarrow and the path there."""

    def __init__(self, file_system: Any, base: str) -> None:
        """`file_system` is a `pyarrow.fs.FileSystem`."""
        self._fs = file_system
        self._base = base

    def path(self, name: str) -> str:
        """The path of what has a name in the directory."""
        return f"{self._base}/{name}"

    def read(self, name: str) -> bytes | None:
        """All of a file; None where there is none."""
        try:
            with self._fs.open_input_stream(self.path(name)) as stream:
                data: bytes = stream.read()
        except FileNotFoundError:
            return None
        return data

    def write(self, name: str, data: bytes) -> None:
        """A file, in the place of an earlier one."""
        with self.create(name) as stream:
            stream.write(data)

    @contextmanager
    def create(self, name: str) -> Iterator[Any]:
        """A `pyarrow.NativeFile` that becomes the file when all went well."""
        directory, _, last = self.path(name).rpartition("/")
        self._fs.create_dir(directory, recursive=True)
        temporary = f"{directory}/_{last}.{uuid4().hex[:12]}{_TEMPORARY}"
        try:
            with self._fs.open_output_stream(temporary) as stream:
                yield stream
            self._fs.move(temporary, self.path(name))
        except BaseException:
            with suppress(OSError):
                self._fs.delete_file(temporary)
            raise

    def sizes(self, below: str = "") -> Mapping[str, int]:
        """The bytes of all files below a name, by their names; none where nothing is there."""
        return {
            info.path.removeprefix(f"{self._base}/"): info.size
            for info in self._infos(below)
            if info.type == fs.FileType.File
        }

    def _infos(self, below: str) -> list[Any]:
        at = self.path(below).rstrip("/")
        found: list[Any] = self._fs.get_file_info(
            fs.FileSelector(at, allow_not_found=True, recursive=True)
        )
        return found

    def clean(self) -> None:
        """Remove what killed runs have left half-written."""
        for info in self._infos(""):
            if info.type == fs.FileType.File and info.path.endswith(_TEMPORARY):
                self._fs.delete_file(info.path)
            elif info.type == fs.FileType.Directory and info.base_name.startswith(_STAGING):
                self._fs.delete_dir(info.path)


def open_output(url: str) -> OutputDirectory:
    """The directory that a path or URL names; `KraftwireError` where it is none.

    Credentials for an object store come from the environment, or as pyarrow's URIs have them.
    """
    if not _SCHEME.match(url):
        path = Path(url).absolute()
        if path.exists() and not path.is_dir():
            raise KraftwireError(f"{url}: a file, and the output is a directory")
        return OutputDirectory(fs.LocalFileSystem(), str(path))
    scheme, rest = url.split("://", 1)
    try:
        file_system, base = fs.FileSystem.from_uri(
            f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"
        )
    except (ValueError, OSError, NotImplementedError) as error:
        place, _, query = url.partition("?")
        reason = str(error).replace(query, "...") if query else str(error)
        told = f"{place}: pyarrow cannot open it: {reason}"
        raise KraftwireError(_CREDENTIALS.sub("//", told)) from None
    return OutputDirectory(file_system, base.rstrip("/"))
