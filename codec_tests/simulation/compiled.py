"""Compiles replica and simulator with mypyc for long runs: same results, more than twice as fast.

    python -m codec_tests.simulation.compiled DIR

Copies the runtime into DIR and compiles `kraftwire.raft` and `kraftwire.simulation` there, which
takes two minutes. Put DIR first on PYTHONPATH to use it. Mutants need the sources, because
compiled functions call each other directly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import kraftwire
import kraftwire_messages
import kraftwire_wire
from kraftwire.simulation.run import simulate

SEEDS = range(8)
PACKAGES = ("raft", "simulation")
_NOT_COMPILED = (
    ("slots=True", "slots=False"),
    (": object", ": Any"),
    ("ClassVar[tuple[Listener, ...]]", "tuple[Listener, ...]"),
    ("ClassVar[None]", "None"),
)
"""Replacements for code that mypyc misreads; its classes always have slots."""
_SETUP = """\
from mypyc.build import mypycify
from setuptools import setup

setup(name="compiled", packages=[], ext_modules=mypycify({files!r}, debug_level="0"))
"""


def build(target: Path) -> bool:
    """Copy and compile; return False, after printing the errors, if mypyc fails."""
    shutil.rmtree(target, ignore_errors=True)
    for package in (kraftwire, kraftwire_messages, kraftwire_wire):
        shutil.copytree(Path(*package.__path__), target / package.__name__)
    files = [
        file
        for folder in PACKAGES
        for file in sorted((target / "kraftwire" / folder).rglob("*.py"))
    ]
    for file in files:
        _adapt(file)
    names = [str(file.relative_to(target)) for file in files]
    (target / "setup.py").write_text(_SETUP.format(files=["--ignore-missing-imports", *names]))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    ended = subprocess.run(command, cwd=target, text=True, capture_output=True)
    if ended.returncode:
        print(ended.stdout, ended.stderr, sep="", file=sys.stderr)
    return ended.returncode == 0


def _adapt(file: Path) -> None:
    text = file.read_text()
    for before, after in _NOT_COMPILED:
        text = text.replace(before, after)
    future = "from __future__ import annotations\n"
    if ": Any" in text and not re.search(r"^from typing import .*\bAny\b", text, re.MULTILINE):
        text = text.replace(future, f"{future}from typing import Any\n", 1)
    file.write_text(text)


def runs() -> str:
    """Return a digest of the steps of some runs."""
    digest = sha256()
    for seed in SEEDS:
        run = simulate(seed)
        digest.update(repr((run.steps, run.events, run.violation)).encode())
    return digest.hexdigest()


def runs_with(target: Path) -> str:
    """Return the digest that the compiled copy computes."""
    path = os.pathsep.join((str(target), *sys.path))
    command = [sys.executable, "-c", f"from {__spec__.name} import runs; print(runs())"]
    ended = subprocess.run(
        command, check=True, text=True, capture_output=True, env=os.environ | {"PYTHONPATH": path}
    )
    return ended.stdout.strip()


def main(target: Path) -> int:
    """Compile the copy, and compare its runs with those of the sources."""
    if not build(target):
        return 1
    is_same = runs_with(target) == runs()
    print(f"{target}: {len(SEEDS)} runs are {'the same' if is_same else 'others'} when compiled")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
