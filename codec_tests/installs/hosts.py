"""Where environments are created, and how commands run there: this machine, or a directory tree.

A tree is entered in its own mount namespace, so that its mounts end with the command. A command
that runs too long is killed with all its children.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

SHORT, LONG = 180, 900
"""Time limits of commands in seconds."""

# These would select an engine, a compiler or other packages.
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
    """Something is not as expected; the message ends with the output of the command."""


def run(
    command: list[str], environment: dict[str, str], seconds: float, cwd: Path, shown: str
) -> str:
    """Run a command and return its output with standard error; raise `Failed` if it fails."""
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
class Host:
    """This machine, or a directory tree with another system."""

    name: str
    python: str
    work: Path
    tree: Path | None = None

    @property
    def clone(self) -> Path:
        """The checkout, which has the same path in a tree."""
        return self.work / "clone"

    def run(self, *command: str | Path, seconds: float = SHORT, **settings: str) -> str:
        """Run a command in the checkout, without variables that select an engine or a compiler."""
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
        """Return the `bin` directory of a virtual environment; create it if necessary."""
        directory = self.work / "environments" / f"{self.name} {label}".replace(" ", "-")
        if not directory.exists():
            self.run(self.python, "-m", "venv", directory)
        return directory / "bin"
