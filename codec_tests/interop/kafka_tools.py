"""Kafka's command-line tools, each run as a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from codec_tests.interop.kafka_server import KafkaFailed
from codec_tests.interop.maven import JAVA_DIRECTORY, class_path, joined, tool, tools_class_path

_SECONDS = 90
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog.level=error")


def run_tool(main_class: str, *arguments: str, text: str = "", fails: bool = False) -> str:
    """What a tool prints; `text` is its input, `fails` says that it is meant to fail.

    `main_class` is below `org.apache.kafka.tools`, unless it names another package.
    """
    name = main_class if main_class.startswith("kafka.") else f"org.apache.kafka.tools.{main_class}"
    return _run(name, tools_class_path(), *arguments, text=text, fails=fails)


def run_program(main_class: str, *arguments: str) -> str:
    """What a program of ours prints that runs with the libraries of the tools."""
    ours, *_ = class_path()
    return _run(main_class, [ours, *tools_class_path()], *arguments)


def _run(name: str, jars: list[Path], *arguments: str, text: str = "", fails: bool = False) -> str:
    config = f"-Dlog4j2.configurationFile={JAVA_DIRECTORY / 'log4j2.properties'}"
    command = [str(tool("java")), *_JVM, config, "-cp", joined(jars), name]
    done = subprocess.run(
        [*command, *arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if bool(done.returncode) != fails:
        raise KafkaFailed(f"{name} {' '.join(arguments)}: {done.stdout[-3000:]}")
    return done.stdout


def write_config(directory: Path, name: str, **settings: str) -> str:
    """A file of settings; in keys, an underscore stands for a dot."""
    file = directory / f"{name}.properties"
    lines = [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)
