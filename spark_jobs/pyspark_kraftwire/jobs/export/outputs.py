"""Output directories on this machine, or in any file system that pyarrow can open.

A file exists completely or not at all: it is written under a unique temporary name and renamed, so
that tasks that are retried or outlive their job cannot damage each other's files. Spark ignores
names that begin with `_` or `.`.
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
"""The prefix of directories in which Spark writes partitions before it moves them."""


class OutputDirectory:
    """A directory; it is pickled as a pyarrow file system and a path there."""

    def __init__(self, file_system: Any, base: str) -> None:
        """`file_system` is a `pyarrow.fs.FileSystem`."""
        self._fs = file_system
        self._base = base

    def path(self, name: str) -> str:
        """Return the path of a name in the directory."""
        return f"{self._base}/{name}"

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        try:
            with self._fs.open_input_stream(self.path(name)) as stream:
                data: bytes = stream.read()
        except FileNotFoundError:
            return None
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file, replacing an earlier one."""
        with self.create(name) as stream:
            stream.write(data)

    @contextmanager
    def create(self, name: str) -> Iterator[Any]:
        """Yield a `pyarrow.NativeFile` that becomes the file if the block does not raise."""
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
        """Return the sizes of all files below a name, by their names; it need not exist."""
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
        """Remove unfinished files and directories of killed runs."""
        for info in self._infos(""):
            if info.type == fs.FileType.File and info.path.endswith(_TEMPORARY):
                self._fs.delete_file(info.path)
            elif info.type == fs.FileType.Directory and info.base_name.startswith(_STAGING):
                self._fs.delete_dir(info.path)


def open_output(url: str) -> OutputDirectory:
    """Return the directory at a path or URL; raise `KraftwireError` if it cannot be one.

    Credentials for an object store come from the environment or from the URL, as in pyarrow.
    """
    if not _SCHEME.match(url):
        path = Path(url).absolute()
        if path.exists() and not path.is_dir():
            raise KraftwireError(f"{url}: it is a file; name a directory")
        return OutputDirectory(fs.LocalFileSystem(), str(path))
    scheme, rest = url.split("://", 1)
    try:
        file_system, base = fs.FileSystem.from_uri(
            f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"
        )
    except (ValueError, OSError, NotImplementedError) as error:
        place, _, query = url.partition("?")
        reason = str(error).replace(query, "...") if query else str(error)
        text = f"{place}: pyarrow cannot open it: {reason}"
        raise KraftwireError(_CREDENTIALS.sub("//", text)) from None
    return OutputDirectory(file_system, base.rstrip("/"))
