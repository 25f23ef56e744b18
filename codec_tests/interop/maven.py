"""Finds Java, and Kafka's jars through Maven; if something is missing, says what to install.

Maven resolves the class paths of `java/pom.xml` (Kafka itself), `java/tools/pom.xml` (its command-
line tools) and `java/spark/pom.xml` (Spark's Kafka source) once. The results are cached in
`java/target` until a pom changes or a jar is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JAVA_DIRECTORY = Path(__file__).parent / "java"
TARGET = JAVA_DIRECTORY / "target"

_RESOLVE_SECONDS = 540
_COMPILE_SECONDS = 120
_JAVA_RELEASE = 17
_PACKAGES = {"java": "openjdk-17-jdk-headless", "javac": "openjdk-17-jdk-headless", "mvn": "maven"}


class MissingPart(Exception):
    """These tests need something that is not installed; the message says how to install it."""


def tool(name: str) -> Path:
    """Return the path of `java`, `javac` or `mvn`, from JAVA_HOME first, then from PATH."""
    home = os.environ.get("JAVA_HOME")
    path = f"{home}/bin{os.pathsep}{os.environ.get('PATH', '')}" if home else None
    found = shutil.which(name, path=path)
    if found is None:
        advice = "" if name == "mvn" else ", or name the JDK in JAVA_HOME"
        raise MissingPart(
            f"there is no {name}; install it (Debian: apt-get install {_PACKAGES[name]}){advice}"
        )
    return Path(found)


def class_path() -> list[Path]:
    """Return our compiled programs, then Kafka's jars with their dependencies."""
    tool("java")
    with _locked():
        jars = _jars(JAVA_DIRECTORY / "pom.xml")
        return [_compiled(jars), *jars]


def tools_class_path() -> list[Path]:
    """Return the jars of Kafka's command-line tools with their dependencies."""
    tool("java")
    with _locked():
        return _jars(JAVA_DIRECTORY / "tools" / "pom.xml")


def spark_class_path() -> list[Path]:
    """Return the jars of Spark's Kafka source, except those that pyspark includes."""
    tool("java")
    with _locked():
        return _jars(JAVA_DIRECTORY / "spark" / "pom.xml")


def joined(paths: list[Path]) -> str:
    """Return a class path for `java -cp`."""
    return os.pathsep.join(map(str, paths))


@contextmanager
def _locked() -> Iterator[None]:
    """Let one process at a time resolve and compile."""
    TARGET.mkdir(exist_ok=True)
    with (TARGET / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _jars(pom: Path) -> list[Path]:
    kept = TARGET / f"class_path_{_digest(pom)}.txt"
    jars = _read(kept)
    if not jars or not all(jar.is_file() for jar in jars):
        command: list[object] = [tool("mvn"), "-q", "-B", "-f", pom, "dependency:build-classpath"]
        # Under another name first: Maven may be stopped while it writes.
        fresh = kept.with_suffix(".new")
        command.append(f"-Dmdep.outputFile={fresh}")
        _run(list(map(str, command)), _RESOLVE_SECONDS, "the jars of Kafka")
        fresh.replace(kept)
        jars = _read(kept)
    return jars


def _read(kept: Path) -> list[Path]:
    if not kept.is_file():
        return []
    return [Path(jar) for jar in kept.read_text(encoding="utf-8").strip().split(os.pathsep)]


def _compiled(jars: list[Path]) -> Path:
    """Return the directory of our compiled Java programs."""
    sources = sorted((JAVA_DIRECTORY / "src").glob("*.java"))
    classes = TARGET / f"classes_{_digest(*sources)}"
    if not (classes / "done").is_file():
        command = [str(tool("javac")), "--release", str(_JAVA_RELEASE), "-proc:none"]
        command += ["-Xlint:all,-classfile,-processing"]
        command += ["-d", str(classes), "-cp", joined(jars), *map(str, sources)]
        what = f"our Java programs, compiled by a JDK of {_JAVA_RELEASE} or newer,"
        _run(command, _COMPILE_SECONDS, what)
        (classes / "done").touch()
    return classes


def _digest(*files: Path) -> str:
    content = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:16]


def _run(command: list[str], seconds: int, what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise MissingPart(f"{what} were not ready after {seconds} seconds") from None
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        errors = [line for line in lines if "ERROR" in line or "error:" in line] or lines
        raise MissingPart(f"{what} cannot be had: " + "\n".join(errors[:5]))
