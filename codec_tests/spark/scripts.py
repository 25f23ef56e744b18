"""The scripts of `spark_jobs`, run as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from codec_tests.spark_session import spark_environment

SCRIPTS = Path(__file__).parents[2] / "spark_jobs"
SECONDS = 240


def script_command(name: str, *arguments: object) -> list[str]:
    """The command line of a script."""
    return [sys.executable, str(SCRIPTS / f"{name}.py"), *map(str, arguments)]


def script_environment() -> dict[str, str]:
    """What a script finds around it: no session of the tests', two cores."""
    given = {name: text for name, text in os.environ.items() if not name.startswith("PYSPARK")}
    given |= spark_environment() | {"PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"}
    del given["PYSPARK_PYTHON"]  # the script sets it
    return given


def start_script(name: str, *arguments: object) -> subprocess.Popen[str]:
    """Begin to run a script, which can be interrupted."""
    return subprocess.Popen(
        script_command(name, *arguments),
        env=script_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What runs in the background of a shell has interrupts ignored, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_files(process: subprocess.Popen[str], out: Path, pattern: str, count: int) -> None:
    """Wait until a script has written some files; an error where it ends before."""
    deadline = time.monotonic() + SECONDS
    while len(list(out.rglob(pattern))) < count:
        assert process.poll() is None, "it ended before it had written them"
        assert time.monotonic() < deadline, "no files came"
        time.sleep(0.02)


def run_script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script to its end."""
    return subprocess.run(
        script_command(name, *arguments),
        env=script_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
