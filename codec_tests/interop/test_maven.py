"""Errors say what is missing and how to install it; the jars have the release of the specs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from codec_tests.interop import maven
from codec_tests.interop.maven import JAVA_DIRECTORY, MissingPart, tool

SPEC_SET = Path(__file__).resolve().parents[2] / "message_specs/kafka/set.toml"


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


def test_an_interrupted_maven_leaves_no_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """#!/bin/sh
for word; do case $word in -Dmdep.outputFile=*) echo half > "${word#*=}";; esac; done
exit 1
"""
    mvn = tmp_path / "mvn"
    mvn.write_text(script)
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "pom.xml").write_text("<project/>")
    target = tmp_path / "target"
    target.mkdir()
    monkeypatch.setattr(maven, "TARGET", target)
    with pytest.raises(MissingPart):
        maven._jars(tmp_path / "pom.xml")
    assert list(target.glob("*.new"))
    assert not list(target.glob("*.txt"))


def test_the_jars_are_of_the_release_of_the_specs() -> None:
    specs = tomllib.loads(SPEC_SET.read_text(encoding="utf-8"))
    pom = ElementTree.parse(JAVA_DIRECTORY / "pom.xml").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    version = {
        tag: pom.findtext(f"m:properties/m:{tag}", namespaces=space)
        for tag in ("kafka.version", "kafka.older.version")
    }
    assert version["kafka.version"] == specs["release"]
    assert version["kafka.older.version"] == specs.get("modules", {}).get(
        "streams", specs["release"]
    )
