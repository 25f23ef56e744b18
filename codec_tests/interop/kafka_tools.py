"""Runs Java programs: Kafka's command-line tools, and our own in `java/src`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from codec_tests.interop.maven import JAVA_DIRECTORY, class_path, joined, tool, tools_class_path

_SECONDS = 90
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")


class KafkaFailed(Exception):
    """A node or tool of Kafka failed; the message ends with its output."""


def run_tool(main_class: str, *arguments: str, text: str = "", fails: bool = False) -> str:
    """Run one of Kafka's tools and return its output; with `fails` it must fail.

    `main_class` is in `org.apache.kafka.tools`, unless it begins with `kafka.`; `text` is the
    input.
    """
    name = main_class if main_class.startswith("kafka.") else f"org.apache.kafka.tools.{main_class}"
    return run_java(tools_class_path(), name, *arguments, text=text, fails=fails)


def run_program(main_class: str, *arguments: str) -> str:
    """Run one of our programs with the libraries of the tools and return its output."""
    ours, *_ = class_path()
    return run_java([ours, *tools_class_path()], main_class, *arguments)


def run_oracle(main_class: str, lines: list[str], *arguments: str, heap: str = "256m") -> list[str]:
    """Run one of our programs with Kafka's classes and return the lines it prints."""
    text = "".join(f"{line}\n" for line in lines)
    printed = run_java(
        class_path(), main_class, *arguments, text=text, heap=heap, seconds=300, with_errors=False
    )
    return printed.splitlines()


def run_java(
    jars: list[Path],
    main_class: str,
    *arguments: str,
    text: str = "",
    heap: str = "256m",
    seconds: int = _SECONDS,
    fails: bool = False,
    with_errors: bool = True,
) -> str:
    """Run a class and return its output; raise `KafkaFailed` if its exit code is not expected.

    With `with_errors` the output includes standard error.
    """
    command = jvm_command(jars, main_class, *arguments, heap=heap, log_level="error")
    done = subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if with_errors else subprocess.PIPE,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )
    if bool(done.returncode) != fails:
        printed = done.stdout + (done.stderr or "")
        raise KafkaFailed(f"{main_class} {' '.join(arguments)}: {printed[-3000:]}")
    return done.stdout


def jvm_command(jars: list[Path], *arguments: str, heap: str, log_level: str = "") -> list[str]:
    """Return the command that runs a class."""
    options = [f"-Xmx{heap}", *_JVM]
    options.append(f"-Dlog4j2.configurationFile={JAVA_DIRECTORY / 'log4j2.properties'}")
    if log_level:
        options.append(f"-Dlog.level={log_level}")
    return [str(tool("java")), *options, "-cp", joined(jars), *arguments]


def write_config(directory: Path, name: str, **settings: str) -> str:
    """Write a properties file and return its path; in keys, an underscore stands for a dot."""
    file = directory / f"{name}.properties"
    write_properties(file, {key.replace("_", "."): value for key, value in settings.items()})
    return str(file)


def write_properties(file: Path, settings: dict[str, str]) -> None:
    """Write a properties file."""
    lines = [f"{key}={value}\n" for key, value in settings.items()]
    file.write_text("".join(lines), encoding="utf-8")
