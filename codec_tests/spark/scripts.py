"""The scripts of `spark_jobs`, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from spark_session import spark_environment

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
