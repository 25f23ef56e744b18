"""What is missing is said, with how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop import maven
from interop.maven import MissingPart, tool


@pytest.mark.parametrize(("name", "package"), [("java", "openjdk"), ("mvn", "maven")])
def test_a_missing_tool(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingPart, match=f"there is no {name}; install it .*{package}"):
        tool(name)


def test_java_home_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    ours = tmp_path / "bin/java"
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert tool("java") == ours


def test_a_missing_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in [
        ("mvn", "echo '[ERROR] Could not find artifact tea:cup:jar:1'; exit 1"),
        ("java", "exit 0"),
    ]:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    (tmp_path / "pom.xml").write_text("<project/>")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(maven, "JAVA_DIRECTORY", tmp_path)
    monkeypatch.setattr(maven, "TARGET", tmp_path / "target")
    with pytest.raises(MissingPart, match=r"the jars of Kafka cannot be had: .*Could not find"):
        maven.class_path()
