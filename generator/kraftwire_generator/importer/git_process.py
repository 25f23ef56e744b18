"""Runs git in a repository that may be hostile; nothing else starts git.

A repository's settings can name commands to run, and so can attributes, hooks and the user's
environment. Invariants:
- git reads objects and refs, and starts no other program: no transport (so a missing object is
  not fetched), no hook, no file system monitor, no diff, pager, filter or ssh command.
- Settings of the user, the system and `GIT_*` variables are ignored, except `safe.directory`, with
  which a user trusts a repository that belongs to someone else.
- Replacement refs and grafts are ignored: a commit has the content of its id.
- Time (`GIT_SECONDS`), output and git's own memory are bounded, and no process is left running.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

GIT_SECONDS = 60.0
_LARGEST_ALLOCATION = 128 * 2**20
_KEPT_DIAGNOSTICS = 2000
_CHUNK = 2**16

_SETTINGS = (
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.useReplaceRefs=false",
    "credential.helper=",
    "diff.external=",
    "maintenance.auto=false",
    "protocol.allow=never",
)
_VARIABLES = {
    "GIT_ALLOC_LIMIT": str(_LARGEST_ALLOCATION),
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",  # git before 2.45 ignores it, but obeys GIT_ALLOW_PROTOCOL
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": os.devnull,  # git before 2.32 ignores GIT_CONFIG_GLOBAL
    "XDG_CONFIG_HOME": os.devnull,
    "LC_ALL": "C",
}


class GitError(Exception):
    """git failed or exceeded a limit; the message says which."""


def run_git(
    directory: Path, arguments: Sequence[str], *, largest_output: int, stdin: bytes = b""
) -> bytes:
    """Return what `git ARGUMENTS` prints in `directory`; raise `GitError` if it fails.

    A bare repository is read only if `directory` is that repository and is named `*.git`.
    Otherwise a folder that looks like a bare repository could replace the checkout around it.
    """
    bare = directory.absolute().name.endswith(".git") and (directory / "HEAD").is_file()
    settings = (
        *_SETTINGS,
        f"safe.bareRepository={'all' if bare else 'explicit'}",
        *(f"safe.directory={path}" for path in _trusted_directories()),
    )
    options = [word for setting in settings for word in ("-c", setting)]
    command = ["git", "--no-pager", "--literal-pathspecs", *options, "-C", str(directory)]
    environment = {**_clean_environment(), **_VARIABLES}
    try:
        return _output([*command, *arguments], environment, stdin, largest_output)
    except GitError as error:
        if "safe.bareRepository" in str(error):
            raise GitError(
                "a bare repository is read only if PATH is its top and is named *.git"
            ) from None
        raise


def _trusted_directories() -> list[str]:
    command = ["git", "-C", "/", "config", "--null", "--type=path", "--get-all", "safe.directory"]
    try:
        values = _output(command, _clean_environment(), b"", _LARGEST_ALLOCATION)
    except GitError:  # the setting does not exist
        return []
    return [os.fsdecode(value) for value in values.split(b"\0")[:-1]]


def _clean_environment() -> dict[str, str]:
    # In a git hook, GIT_DIR names the hook's repository, not the source.
    return {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}


def _output(
    command: Sequence[str], environment: dict[str, str], stdin: bytes, largest_output: int
) -> bytes:
    with tempfile.TemporaryFile() as stdin_file:
        stdin_file.write(stdin)
        stdin_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell; revisions follow --end-of-options
                command,
                stdin=stdin_file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                process_group=0,
            )
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run: {error}") from None
    with process:
        try:
            output, diagnostics = _drain(process, largest_output)
        except BaseException:
            # Kill the process group: programs that git started may keep the pipes open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        lines = diagnostics.decode("utf-8", "replace").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("hint:")).strip()
        raise GitError(text or f"git exited with status {process.returncode}")
    return output


def _drain(process: subprocess.Popen[bytes], largest_output: int) -> tuple[bytes, bytes]:
    """Wait for git to end; return its output, and the end of its diagnostics."""
    deadline = time.monotonic() + GIT_SECONDS
    assert process.stdout is not None
    assert process.stderr is not None
    output, diagnostics = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, diagnostics)
        while selector.get_map():
            ready = selector.select(_seconds_left(deadline))
            for key, _ in ready:
                if not _read_chunk(key.fileobj, key.data):  # type: ignore[arg-type]
                    selector.unregister(key.fileobj)
            del diagnostics[:-_KEPT_DIAGNOSTICS]
            if len(output) > largest_output:
                raise GitError(f"git prints more than {largest_output} bytes")
    try:
        process.wait(_seconds_left(deadline))
    except subprocess.TimeoutExpired:
        raise _too_slow() from None
    return bytes(output), bytes(diagnostics)


def _read_chunk(pipe: IO[bytes], into: bytearray) -> bool:
    """Append the available bytes of a pipe; return False at its end."""
    chunk = os.read(pipe.fileno(), _CHUNK)
    into += chunk
    return bool(chunk)


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise _too_slow()
    return left


def _too_slow() -> GitError:
    return GitError(f"git took more than {GIT_SECONDS:g} seconds")
