"""The group: laziness, help, completion, and how processes end."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kraftwire.cli import main
from kraftwire.cli.commands import COMMANDS
from kraftwire_wire.framing import add_size

from codec_tests.cli.running import SECONDS, done, finish, refused, start
from codec_tests.cli.sample_messages import request_bytes, response_bytes

# -- help ----------------------------------------------------------------------------------


def test_help_lists_the_commands_and_imports_none() -> None:
    before = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))"
    )
    code, out, err = finish("--help", before=before)
    assert code == 0
    for entry in COMMANDS:
        assert f"  {entry.name} " in out
        assert str(entry.help) in out
    assert "_KRAFTWIRE_COMPLETE=bash_source kraftwire" in out
    loaded = err.split()
    assert "kraftwire.cli.messages.decode" not in loaded
    assert not {"rich", "jinja2", "kraftwire_generator", "kraftwire_messages"} & set(loaded)


def test_version() -> None:
    assert done("--version").stdout.startswith("kraftwire, version ")


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    """The words that call each command, groups not among them."""
    for name in group.list_commands(context := click.Context(group)):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        else:
            yield *path, name


@pytest.mark.parametrize("words", [*leaves(main)], ids=" ".join)
def test_every_command_has_help_with_an_example(words: tuple[str, ...]) -> None:
    assert "Example" in done(*words, "--help").stdout


def test_unknown_command_is_suggested() -> None:
    refused("did you mean decode?", "deocde")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("decode", "--request", "-"), "0 bytes are not a request"),
        (("encode",), "the input is empty"),
        (("capture", "decode", "-"), "is empty"),
    ],
)
def test_closed_input_is_empty(args: tuple[str, ...], message: str) -> None:
    code, _, err = finish(*args, before="import sys; sys.stdin = None")
    assert code in (1, 2)
    assert message in err


def test_what_a_message_quotes_is_printable() -> None:
    refused("--messages \\x1b[31m: ", "fields", "Vote", "--messages", "\x1b[31m")


def test_completion_of_commands() -> None:
    words = {
        "_KRAFTWIRE_COMPLETE": "bash_complete",
        "COMP_WORDS": "kraftwire de",
        "COMP_CWORD": "1",
    }
    result = CliRunner().invoke(main, [], env=words, prog_name="kraftwire")
    assert result.stdout == "plain,decode\n"


# -- a missing extra -----------------------------------------------------------------------

HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
"""


@pytest.mark.parametrize("package", ["jinja2", "black"])
def test_missing_extra_is_reported_with_its_cure(package: str) -> None:
    code, out, err = finish("generate", "--help", before=HIDE.format(package=package))
    assert code == 2
    assert out == ""
    assert f"Error: `kraftwire generate` needs {package}: pip install 'kraftwire[generator]'" in err


def test_missing_extra_does_not_touch_the_other_commands() -> None:
    code, out, _ = finish("fields", "Vote", before=HIDE.format(package="jinja2"))
    assert code == 0
    assert out


def test_missing_spec_set_is_reported() -> None:
    code, _, err = finish("fields", "Vote", before=HIDE.format(package="kraftwire_messages"))
    assert code == 2
    assert "Error: --messages kraftwire_messages.kafka: " in err


# -- how processes end ---------------------------------------------------------------------


@pytest.mark.parametrize("output", ["json", "table"])
def test_closed_pipe_ends_quietly(tmp_path: Path, output: str) -> None:
    path = tmp_path / "votes.bin"
    path.write_bytes(add_size(request_bytes("VoteRequest", 2)) * 1000)
    args = ("decode", "--request", str(path), "-o", output)
    process = start(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(SECONDS) == 141


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupt_ends_quietly() -> None:
    # Raised from within, while the command reads its input.
    before = (
        "import os, signal, sys, threading\n"
        # Where tests run in the background of a shell, interrupts are ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Input:\n"
        "    def read(self, size=-1):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        threading.Event().wait(30)\n"
        "import kraftwire.cli.messages.decode as decode\n"
        "decode.DecodeOptions.read = lambda self, file: Input().read()\n"
    )
    code, out, err = finish("decode", "--request", "-", before=before)
    assert (code, out, err) == (130, "", "")


# -- a terminal ----------------------------------------------------------------------------


def on_a_terminal(*args: str) -> tuple[int, str]:
    """The exit code, and what a command writes to a terminal."""
    import pty  # POSIX alone has it

    master, terminal = pty.openpty()
    process = start(*args, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and select.select([master], [], [], SECONDS)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return process.wait(SECONDS), shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_terminal_gets_a_table_without_the_control_characters_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "vote.bin"
    path.write_bytes(response_bytes("VoteResponse", 1))
    code, shown = on_a_terminal("decode", "--response", str(path), "--name", "52", "--version", "1")
    assert code == 0
    assert "UNKNOWN_TOPIC_OR_PARTITION" in shown
    assert "\\u001b[31m [bold]" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_binary_is_not_for_terminals(tmp_path: Path) -> None:
    path = tmp_path / "vote.json"
    path.write_text("{}")
    code, shown = on_a_terminal("encode", str(path), "-o", "binary")
    assert code == 2
    assert "binary is not for terminals" in shown
