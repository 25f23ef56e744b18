"""`kraftwire storage`, as a person or a script uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from kraftwire.cli import main
from kraftwire.node.storage.directories import is_reserved
from kraftwire_wire.uuids import parse_uuid

from codec_tests.node.storage.settings import write_settings

ONE = "EQPUsqKWQIyKC26pBQfc5Q"


def run(*args: object) -> Result:
    arguments = ["storage", *map(str, args)]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_format_tells_what_it_has_done(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    result = run("format", "-t", "tea", "-c", config, "-I", f"1@127.0.0.1:9093:{ONE}")
    assert result.exit_code == 0
    *_, last = rows(result)
    assert last["directory"] == str(tmp_path / "m")
    assert last["done"] == "formatted"
    assert last["directoryId"] == ONE
    assert last["files"][-1] == "meta.properties"


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    result = run("format", "-t", "tea", "-c", config, "-s", "--dry-run")
    assert [row["done"] for row in rows(result)] == ["would be formatted"] * 3
    assert list(tmp_path.iterdir()) == [config]


def test_format_twice_is_refused_and_leaves_formatted_directories_with_g(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    run("format", "-t", "tea", "-c", config, "-s")
    again = run("format", "-t", "tea", "-c", config, "-s")
    assert again.exit_code == 2
    assert again.stderr.count("it is already formatted; -g skips it") == 3
    left = run("format", "-t", "tea", "-c", config, "-s", "-g")
    assert [row["done"] for row in rows(left)] == ["was formatted already"] * 3


def test_the_three_ways_to_name_voters_exclude_one_another(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    result = run("format", "-t", "tea", "-c", config, "-s", "-N")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_what_an_option_says_is_checked(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    for option, text in [("-I", "1@h"), ("-r", "9.9"), ("-f", "tea"), ("-f", "a=x"), ("-t", "")]:
        result = run("format", "-t", "tea", "-c", config, option, text)
        assert result.exit_code == 2
        assert f"Invalid value for {option}" in result.stderr


def test_releases_and_features_reach_the_files(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    result = run("format", "-t", "tea", "-c", config, "-N", "-r", "4.3", "-f", "group.version=0")
    assert result.exit_code == 0
    content = (tmp_path / "a/bootstrap.checkpoint").read_bytes()
    assert b"share.version" in content
    assert b"group.version" not in content


def test_without_a_release_there_are_no_features(tmp_path: Path) -> None:
    run("format", "-t", "tea", "-c", write_settings(tmp_path), "-N", "-r", "none")
    assert not list(tmp_path.rglob("*.checkpoint"))


def test_all_that_is_wrong_with_the_settings_is_told(tmp_path: Path) -> None:
    config = write_settings(tmp_path, node_id="x", process_roles="tea")
    result = run("format", "-t", "tea", "-c", config, "-s")
    assert result.exit_code == 2
    assert result.stderr.count("Error: ") == 2
    assert f"{config}, line 2, node.id: 'x' is not a number" in result.stderr


def test_settings_that_are_not_there(tmp_path: Path) -> None:
    result = run("info", "-c", tmp_path / "none")
    assert result.exit_code == 2
    assert "No such file" in result.stderr


def test_info_of_directories_that_can_be_used(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    run("format", "-t", "tea", "-c", config, "-I", f"1@127.0.0.1:9093:{ONE}")
    result = run("info", "-c", config)
    assert result.exit_code == 0
    assert rows(result)[2] == {
        "directory": str(tmp_path / "m"),
        "holds": "metadata log",
        "formatted": True,
        "version": 1,
        "clusterId": "tea",
        "nodeId": 1,
        "directoryId": ONE,
        "problems": [],
    }


def test_info_of_directories_with_problems_is_a_finding(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    for name, text in [
        ("a", "version=1\ncluster.id=tea\nnode.id=2\n"),
        ("b", "version=0\nbroker.id=1\n"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.properties").write_text(text)
    result = run("info", "-c", config)
    assert result.exit_code == 1
    assert [row["problems"] for row in rows(result)] == [
        [
            "it belongs to node 2, not to 1",
            "it has no directory.id; a node adds one when it starts",
        ],
        ["it is from before KRaft (version 0), which kraftwire cannot read"],
        ["it does not exist"],
    ]


def test_info_as_a_table(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    run("format", "-t", "tea", "-c", config, "-s")
    result = run("info", "-c", config, "-o", "table")
    assert result.stdout.splitlines()[0].split()[:2] == ["directory", "holds"]
    assert "metadata log  tea" in result.stdout


def test_random_uuid_prints_an_id() -> None:
    ids = {run("random-uuid").stdout.strip() for _ in range(3)}
    assert len(ids) == 3
    assert not any(is_reserved(parse_uuid(text)) for text in ids)
