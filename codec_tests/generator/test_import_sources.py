"""Specs are found in jars, source trees and git revisions; bad sources are clear errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kraftwire_generator.importer import sources as import_sources
from kraftwire_generator.importer.sources import SourceError, read_source

from codec_tests.generator_commands import run_git as _git
from codec_tests.spec_files import write_jar

_SPEC = '{"type": "data", "name": "Beacon", "validVersions": "0", "flexibleVersions": "none"}'
_ERRORS_JAVA = """
public enum Errors {
    // OLD_NAME(9, "gone"),
    UNKNOWN_SERVER_ERROR(-1, "text",
            Example::new),
    NONE(0, null, message -> null),
    LAMP_OUT(1, "see OTHER(7, for more", Example::new);
"""
_TREE = {
    "gradle.properties": "group=example\nversion=9.2.0\n",
    "clients/src/main/resources/common/message/Beacon.json": _SPEC,
    "clients/src/test/resources/common/message/Sample.json": _SPEC,
    "clients/src/main/java/org/apache/kafka/common/protocol/Errors.java": _ERRORS_JAVA,
    "metadata/src/main/resources/common/metadata/LampRecord.json": _SPEC,
    "storage/src/main/resources/message/Shelf.json": _SPEC,
    "generator/src/test/resources/common/message/Odd.json": _SPEC,
    "core/src/main/resources/common/message/OffsetCommitKey.json": _SPEC,
    "tests/spec/plan.json": "{}",
}
_TREE_SPECS = [
    ("clients", "clients/src/main/resources/common/message/Beacon.json"),
    ("group-coordinator", "core/src/main/resources/common/message/OffsetCommitKey.json"),
    ("metadata", "metadata/src/main/resources/common/metadata/LampRecord.json"),
    ("storage", "storage/src/main/resources/message/Shelf.json"),
]


def _write_tree(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def _found(source: str) -> list[tuple[str, str]]:
    specs = read_source(source).specs
    return [(spec.module, spec.origin.removeprefix(f"{source}:")) for spec in specs]


def test_a_jar_by_its_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "common/message/Beacon.json": _SPEC,
        "common/metadata/LampRecord.json": _SPEC,
        "message/Shelf.json": _SPEC,
        "META-INF/notes.json": _SPEC,
        "common/message/deep/Beacon.json": _SPEC,
        "common/message/../../../Escape.json": _SPEC,
        "/common/message/Rooted.json": _SPEC,
    }
    path = write_jar(tmp_path / "kafka-group-coordinator-9.1.0.jar", files)
    source = read_source(path)
    assert source.release == "9.1.0"
    assert source.error_codes is None
    assert _found(path) == [
        ("group-coordinator", "common/message/Beacon.json"),
        ("group-coordinator", "common/metadata/LampRecord.json"),
        ("group-coordinator", "message/Shelf.json"),
    ]


def test_the_core_jar_of_an_older_release(tmp_path: Path) -> None:
    names = ("GroupMetadataKey", "TransactionLogValue", "Other")
    path = write_jar(
        tmp_path / "kafka_2.13-3.1.0.jar", {f"common/message/{n}.json": _SPEC for n in names}
    )
    modules = [module for module, _ in _found(path)]
    assert modules == ["group-coordinator", "core", "transaction-coordinator"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("kafka/kafka-version.properties", "commitId=abc\nversion=9.3.1"),
        ("kafka/kafka-streams-version.properties", "version=9.3.1\n"),
        ("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nVersion: 9.3.1\r\n"),
    ],
)
def test_a_jar_whose_name_has_no_release(tmp_path: Path, path: str, text: str) -> None:
    source = read_source(write_jar(tmp_path / "kafka-streams.jar", {path: text}))
    assert source.release == "9.3.1"


@pytest.mark.parametrize("name", ["other-1.0.jar", "kafka-clients-9.1.0-test.jar", "kafka.zip"])
def test_a_jar_that_names_no_module(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="name it as published"):
        read_source(write_jar(tmp_path / name, {"common/message/Beacon.json": _SPEC}))


def test_no_release_anywhere(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="which release"):
        read_source(write_jar(tmp_path / "kafka-raft.jar", {"common/message/Beacon.json": _SPEC}))


def test_a_source_tree(tmp_path: Path) -> None:
    _write_tree(tmp_path, _TREE)
    source = read_source(str(tmp_path))
    assert source.release == "9.2.0"
    assert source.is_whole
    assert source.error_codes == {"UNKNOWN_SERVER_ERROR": -1, "NONE": 0, "LAMP_OUT": 1}
    assert _found(str(tmp_path)) == _TREE_SPECS


def test_a_sparse_tree_is_not_whole(tmp_path: Path) -> None:
    _write_tree(tmp_path, {path: text for path, text in _TREE.items() if "clients" not in path})
    assert not read_source(str(tmp_path)).is_whole


def test_links_in_a_tree_are_not_followed(tmp_path: Path) -> None:
    _write_tree(tmp_path, _TREE)
    link = tmp_path / "clients/src/main/resources/common/message/Linked.json"
    link.symlink_to(tmp_path / "gradle.properties")
    assert _found(str(tmp_path)) == _TREE_SPECS


def test_a_git_revision_is_read_without_its_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_tree(tmp_path, _TREE)
    link = tmp_path / "clients/src/main/resources/common/message/Linked.json"
    link.symlink_to("Beacon.json")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-q", "-m", "one")
    _git(tmp_path, "tag", "9.2.0")
    _git(tmp_path, "rm", "-q", "-r", ".")
    _git(tmp_path, "commit", "-q", "-m", "two")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    source = read_source(f"{tmp_path}@9.2.0")
    assert source.release == "9.2.0"
    assert [spec.text for spec in source.specs] == [_SPEC] * 4
    assert source.error_codes == {"UNKNOWN_SERVER_ERROR": -1, "NONE": 0, "LAMP_OUT": 1}
    assert _found(f"{tmp_path}@9.2.0") == _TREE_SPECS
    for revision in ("nope", "", "--help", "HEAD"):
        with pytest.raises(SourceError):
            read_source(f"{tmp_path}@{revision}")


def test_a_directory_that_is_no_git_repository(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="name a tag, a branch or a commit"):
        read_source(f"{tmp_path}@trunk")


def test_missing_and_empty_sources(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the file or directory does not exist"):
        read_source(str(tmp_path / "kafka-clients-9.1.0.jar"))
    (tmp_path / "gradle.properties").write_text("version=9.2.0\n")
    with pytest.raises(SourceError, match="has no message specs"):
        read_source(str(tmp_path))


def test_a_file_that_is_no_jar(tmp_path: Path) -> None:
    path = tmp_path / "kafka-clients-9.1.0.jar"
    path.write_bytes(b"not a zip file")
    with pytest.raises(SourceError, match="download it again"):
        read_source(str(path))


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = write_jar(tmp_path / "kafka-raft-9.1.0.jar", {"common/message/Beacon.json": b"{\xff}"})
    with pytest.raises(SourceError, match="not UTF-8 at byte 1"):
        read_source(path)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = bytes(import_sources.LARGEST_FILE + 1)
    path = write_jar(tmp_path / "kafka-raft-9.1.0.jar", {"common/message/Beacon.json": bomb})
    with pytest.raises(SourceError, match="bytes; no more than"):
        read_source(path)


def test_many_large_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_sources, "LARGEST_SOURCE", 300)
    files: dict[str, str | bytes] = {f"message/Shelf{n}.json": _SPEC for n in range(4)}
    with pytest.raises(SourceError, match="bytes in total"):
        read_source(write_jar(tmp_path / "kafka-raft-9.1.0.jar", files))


@pytest.mark.slow
def test_a_damaged_jar_raises_nothing_but_source_errors(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "common/message/Beacon.json": _SPEC,
        "message/Shelf.json": _SPEC,
    }
    path = Path(write_jar(tmp_path / "kafka-raft-9.1.0.jar", files))
    data = path.read_bytes()
    chance = random.Random(11)
    problems = []
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            read_source(str(path))
        except SourceError as error:
            problems.append(str(error))
    assert problems
    assert [problem for problem in problems if not problem.startswith(str(path))] == []
