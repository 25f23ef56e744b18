"""Names with control characters: no command prints them as they are, however it fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
import pytest
from click.testing import CliRunner

import kraftwire_generator.commands.group
from kraftwire.cli import main

NAME = "gone\x1b[31m\x07\x9b2J\u202e\x7f\udcff\r\nError: fine"
HARMFUL = ("\x1b", "\x07", "\x9b", "\u202e", "\x7f", "\r", "\nError: fine")
ENDINGS = ("", ".json", ".jar", ".jsonl", ".properties", ".pcap", f"/{NAME}", "@HEAD", ".html")
ROOTS = {"kraftwire": main, "generator": kraftwire_generator.commands.group.main}

FILES = {
    "00000000000000000000.log": bytes(100),
    "00000000000000000000.index": b"\x01" * 9,
    f"{NAME}.log": b"junk",
    "meta.properties": b"cluster.id=\x1b[31m\nversion=\x07\n",
    "quorum-state": b'{"data_version":"\\u001b"}',
    "partition.metadata": b"version: \x1b\ntopic_id: \x07\n",
    "replication-offset-checkpoint": b"0\n1\n\x1b[31m x 1\n",
    "leader-epoch-checkpoint": b"0\n1\n\x1b 1\n",
    "server.properties": b"process.roles=controller\nnode.id=1\nlog.dirs=/no/\\u001b\\u0007\n",
    "spec.json": b'{"type": "data", "name": "\\u001b", "fields": [{"\\u0007": "\\u009b"}]}',
    "session.jsonl": b'{"format":"\\u001b"}\n',
    "packets.pcap": b"\xd4\xc3\xb2\xa1" + b"\x1b" * 40,
}


def walk(
    command: click.Command, context: click.Context, *path: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command and group, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = cast(click.Command, command.get_command(context, name))
            yield from walk(found, click.Context(found, context, name), *path, name)


COMMANDS = [
    pytest.param(root, path, command, id=" ".join((name, *path)))
    for name, root in ROOTS.items()
    for path, command in walk(root, click.Context(root))
]
LEAVES = [case for case in COMMANDS if not isinstance(case.values[2], click.Group)]


def valued_options(command: click.Command) -> Iterator[click.Option]:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.is_flag:
            yield parameter


def arguments(command: click.Command, name: str) -> list[str]:
    return [name for parameter in command.params if isinstance(parameter, click.Argument)]


def wrong_calls(command: click.Command) -> Iterator[list[str]]:
    """Names of nothing in every place: commands, options, arguments, values."""
    if isinstance(command, click.Group):
        yield from ([NAME], [f"--{NAME}"])
        return
    named = arguments(command, NAME)
    yield from ([f"--{NAME}", *named], [*named, NAME, NAME])
    for ending in ENDINGS if named else ():
        yield arguments(command, NAME + ending)
    for option in valued_options(command):
        for ending in ("", ".json", ":9092", f"={NAME}"):
            yield [option.opts[0], NAME + ending, *named]
            if command.name != "simulate":  # it would run for minutes
                yield [option.opts[0], NAME + ending]


def check_is_harmless(root: click.Command, words: list[str]) -> None:
    result = CliRunner().invoke(root, words, prog_name="x", color=True)
    assert result.exception is None or isinstance(result.exception, SystemExit), words
    printed = result.stdout + result.stderr
    assert [part for part in HARMFUL if part in printed] == [], words


@pytest.mark.parametrize(("root", "path", "command"), COMMANDS)
def test_names_of_nothing(
    root: click.Command,
    path: tuple[str, ...],
    command: click.Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in wrong_calls(command):
        check_is_harmless(root, [*path, *words])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a partition of that name, in it one more, and damaged files of every kind."""
    root = tmp_path_factory.mktemp("names")
    partition = root / f"{NAME}-0"
    partition.mkdir()
    for name, data in FILES.items():
        (partition / name).write_bytes(data)
    shutil.copytree(partition, root / "copy")
    shutil.move(root / "copy", partition / f"{NAME}-1")
    return root


def right_calls(command: click.Command, root: Path) -> Iterator[list[str]]:
    """Files that exist in the place of arguments and of options that take a path."""
    partition = root / f"{NAME}-0"
    places = [str(root), str(partition), *(str(partition / name) for name in FILES)]
    forms = [
        ["-o", choice]
        for option in valued_options(command)
        if option.name == "output" and isinstance(option.type, click.Choice)
        for choice in option.type.choices
    ] or [[]]
    for form in forms:
        for place in places:
            named = arguments(command, place)
            if named:
                yield [*form, *named]
            for option in valued_options(command):
                if isinstance(option.type, click.Path | click.File):
                    yield [*form, option.opts[0], place, *named]


@pytest.mark.parametrize(("root", "path", "command"), LEAVES)
def test_files_with_such_names(
    root: click.Command,
    path: tuple[str, ...],
    command: click.Command,
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    for words in right_calls(command, copy):
        check_is_harmless(root, [*path, *words])
