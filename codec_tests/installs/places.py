"""Where environments are made, and how commands run there: this machine, or another's tree.

A tree is entered in a mount namespace of its own, so that its mounts end with the command; a
command that outlives its time is killed with all that it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

SHORT, LONG = 180, 900
"""Seconds that commands may take."""

# What would make an environment less clean, or choose an engine or a compiler for it.
_LEFT_OUT = ("KRAFTWIRE_ENGINE", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CC", "CXX", "CFLAGS")
_ENTER = """set -e
tree=$1 work=$2 directory=$3; shift 3
mount -t proc proc "$tree/proc"
mount --bind /dev "$tree/dev"
mkdir -p "$tree$work"
mount --bind "$work" "$tree$work"
exec chroot "$tree" env --chdir="$directory" "$@"
"""
NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


class Failed(Exception):
    """Something is not as it must be; the message ends with what the command printed."""


def run(
    command: list[str], environment: dict[str, str], seconds: float, cwd: Path, shown: str
) -> str:
    """What a command prints, errors included; it is killed where its time is over."""
    with subprocess.Popen(  # a session of its own, so that its children can be killed with it
        command,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output = process.communicate(timeout=seconds)[0]
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"took more than {seconds} s: {shown}") from error
            raise
    if process.returncode:
        raise Failed(f"exit code {process.returncode}: {shown}\n{output}")
    return output


@dataclass(frozen=True)
class Place:
    """Where environments are made: this machine, or the tree of another system."""

    name: str
    python: str
    work: Path
    tree: Path | None = None

    @property
    def clone(self) -> Path:
        """The checkout, which has the same path within a tree."""
        return self.work / "clone"

    def run(self, *command: str | Path, seconds: float = SHORT, **settings: str) -> str:
        """Run a command in the checkout, with an environment that chooses nothing."""
        words = [str(word) for word in command]
        shown = " ".join(words)
        environment = {key: text for key, text in os.environ.items() if key not in _LEFT_OUT}
        environment |= {"PIP_CACHE_DIR": f"{self.work}/cache", "TMPDIR": f"{self.work}/tmp"}
        if self.tree is None:
            return run(words, environment | settings, seconds, self.clone, shown)
        environment |= {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "TMPDIR": "/tmp",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        inside = map(str, (self.tree, self.work, self.clone))
        enter = [*NAMESPACE, "sh", "-c", _ENTER, "sh", *inside]
        return run([*enter, *words], environment | settings, seconds, self.work, shown)

    def programs(self, label: str) -> Path:
        """The programs of the virtual environment of that name, which is made if need be."""
        directory = self.work / "environments" / f"{self.name} {label}".replace(" ", "-")
        if not directory.exists():
            self.run(self.python, "-m", "venv", directory)
        return directory / "bin"
