"""`generate` and `check` as a person runs them: output, exit codes, and nothing half done."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from kraftwire_generator.console import progress_bar

from codec_tests.generator_commands import run_generator as run
from codec_tests.spec_files import field_spec, message_spec, write_set

VOTE = message_spec("Vote", field_spec(), validVersions="0-3")
TOPIC = message_spec("Topic")
PROJECT = '[[tool.kraftwire.sets]]\nspecs = "specs"\nout = "mine"\npackage = "mine"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two messages, as the current directory."""
    write_set(tmp_path / "specs", VOTE, TOPIC)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def modules(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*")) if directory.is_dir() else []


# -- generate --------------------------------------------------------------------------------


def test_without_flags_the_project_says_what_to_do(project: Path) -> None:
    result = run("generate")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "mine: 2 messages; 3 files written, 0 deleted, 0 unchanged\n"
    assert modules(project / "mine") == ["__init__.py", "topic.py", "vote.py"]
    again = run("generate")
    assert again.stdout == "mine: 2 messages; 0 files written, 0 deleted, 3 unchanged\n"


def test_a_message_that_is_gone_is_deleted(project: Path) -> None:
    run("generate")
    (project / "specs" / "Topic.json").unlink()
    assert "1 message; 1 file written, 1 deleted, 1 unchanged" in run("generate").stdout
    assert modules(project / "mine") == ["__init__.py", "vote.py"]


def test_with_flags_any_set_goes_into_any_package(project: Path) -> None:
    result = run("generate", "--specs", "specs", "--out", "src/other", "--package", "my.other")
    assert result.exit_code == 0
    index = (project / "src/other/__init__.py").read_text()
    assert "from my.other.vote import Vote as Vote" in index
    run("generate", "--specs", "specs", "--out", "src/third")
    assert "from third.vote import Vote as Vote" in (project / "src/third/__init__.py").read_text()


def test_only_passes_over_the_sets_that_have_no_such_message(project: Path) -> None:
    write_set(project / "more", message_spec("Other"))
    other = PROJECT.replace('"specs"', '"more"').replace('"mine"', '"more_mine"')
    (project / "pyproject.toml").write_text(PROJECT + other)
    result = run("generate", "--only", "Vote")
    assert (result.exit_code, result.stderr) == (0, "")
    assert modules(project / "mine") == ["__init__.py", "vote.py"]
    assert modules(project / "more_mine") == []
    result = run("generate", "--only", "Nothing")
    assert result.exit_code == 2
    assert result.stderr.count("no message of the set is called Nothing") == 2


def test_only_adds_to_the_package_and_deletes_nothing(project: Path) -> None:
    target = ["--specs", "specs", "--out", "other"]
    assert run("generate", "--only", "Vote", *target).exit_code == 0
    assert modules(project / "other") == ["__init__.py", "vote.py"]
    run("generate", "--only", "T*", *target)
    assert modules(project / "other") == ["__init__.py", "topic.py", "vote.py"]
    index = (project / "other/__init__.py").read_text()
    assert '"Topic": "topic"' in index
    assert '"Vote": "vote"' in index
    (project / "specs" / "Topic.json").unlink()
    assert "0 deleted" in run("generate", "--only", "Vote", *target).stdout
    assert "0 deleted" in run("generate", "--versions", "0+", *target).stdout
    assert (project / "other" / "topic.py").exists()


def test_versions_narrow_what_is_generated(project: Path) -> None:
    assert run("generate", "--versions", "2+").exit_code == 0
    assert modules(project / "mine") == ["__init__.py", "vote.py"]
    assert "VALID_VERSIONS: ClassVar[range] = range(2, 4)" in (project / "mine/vote.py").read_text()


def test_a_users_template_takes_the_place_of_ours(project: Path) -> None:
    (project / "mytemplates").mkdir()
    (project / "mytemplates" / "message.py.jinja").write_text("X = {{ plan.module | literal }}\n")
    assert run("generate", "--templates", "mytemplates").exit_code == 0
    assert 'X = "vote"' in (project / "mine/vote.py").read_text()
    assert "registry = Registry(" in (project / "mine/__init__.py").read_text()
    assert run("check", "--templates", "mytemplates").exit_code == 0
    assert run("check").exit_code == 1


def test_a_broken_template_is_an_error_and_writes_nothing(project: Path) -> None:
    (project / "mytemplates").mkdir()
    (project / "mytemplates" / "message.py.jinja").write_text("{{ plan.nothing }}")
    result = run("generate", "--templates", "mytemplates")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: message.py.jinja: ")
    assert modules(project / "mine") == []


def test_warnings_go_to_standard_error(project: Path) -> None:
    write_set(project / "specs", message_spec("Odd", field_spec(versions="7+")))
    result = run("generate")
    assert result.exit_code == 0
    assert result.stderr.startswith("specs/Odd.json:1: warning: Value: versions 7+ are outside 0")


# -- what cannot be done ---------------------------------------------------------------------


BAD_FLAGS = [
    (["--specs", "specs"], "--specs needs --out as well"),
    (["--out", "other"], "--out needs --specs as well"),
    (["--package", "other"], "--package needs --specs and --out"),
    (["--specs", "specs", "--out", "my-package"], "'my-package' is not a valid package name"),
    (["--specs", "specs", "--out", "other", "--package", "a.class"], "not a valid package name"),
    (["--versions", "3-1"], "Invalid value for '--versions'"),
    (["--only", "Nothing"], "no message of the set is called Nothing"),
    (["--specs", "nowhere", "--out", "other"], "nowhere:1: error: is not a directory"),
    (["--specs", "empty", "--out", "other"], "empty:1: error: has no specs"),
    (["--specs", "specs", "--out", "pyproject.toml"], "is a file"),
    (["--specs", "specs", "--out", "pyproject.toml/deep"], "pyproject.toml"),
    (["--specs", "specs", "--out", "blocked"], "Is a directory"),
    (["--templates", "nowhere"], "does not exist"),
]


@pytest.mark.parametrize(("flags", "message"), BAD_FLAGS)
def test_what_cannot_be_done_exits_2_and_says_why(
    project: Path, flags: list[str], message: str
) -> None:
    (project / "empty").mkdir()
    (project / "blocked" / "vote.py").mkdir(parents=True)
    result = run("generate", *flags)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert modules(project / "other") == modules(project / "mine") == []


def test_the_errors_of_all_files_and_sets_come_in_one_run_and_nothing_is_written(
    project: Path,
) -> None:
    write_set(project / "more", message_spec("Fine"), message_spec("Bad3", field_spec(type="x")))
    other = PROJECT.replace('"specs"', '"more"').replace('"mine"', '"more_mine"')
    (project / "pyproject.toml").write_text(PROJECT + other)
    (project / "specs" / "Bad1.json").write_text("{")
    (project / "specs" / "Bad2.json").write_text("[]")
    for command in ("generate", "check"):
        result = run(command)
        assert result.exit_code == 2
        lines = result.stderr.splitlines()
        starts = [line.removeprefix("Error: ").split(":")[0] for line in lines]
        assert starts[:-1] == ["specs/Bad1.json", "specs/Bad2.json", "more/Bad3.json"]
        assert lines[-1] == "3 errors in the specs"
    assert modules(project / "mine") == modules(project / "more_mine") == []


def test_somebodys_own_files_are_never_overwritten(project: Path) -> None:
    (project / "mine").mkdir()
    for name in ("vote.py", "__init__.py"):
        (project / "mine" / name).write_text("MINE = 1\n")
    result = run("generate")
    assert result.exit_code == 2
    assert "mine/vote.py:1: error: kraftwire did not write this file" in result.stderr
    assert "mine/__init__.py:1: error" in result.stderr
    assert modules(project / "mine") == ["__init__.py", "vote.py"]
    assert (project / "mine" / "vote.py").read_text() == "MINE = 1\n"


def test_an_empty_init_is_taken_over(project: Path) -> None:
    (project / "mine").mkdir()
    (project / "mine" / "__init__.py").touch()
    assert run("generate").exit_code == 0


def test_a_file_that_cannot_be_written_is_an_error(project: Path) -> None:
    (project / "mine" / "vote.py").mkdir(parents=True)
    result = run("generate")
    assert result.exit_code == 2
    assert "vote.py" in result.stderr
    assert "Is a directory" in result.stderr


def test_errors_do_not_steer_the_terminal(project: Path) -> None:
    (project / "specs" / "Bad.json").write_text('{"name": "\\u001b[31m\\u202e", "type": "data"}')
    result = run("generate")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr


# -- check -----------------------------------------------------------------------------------


def test_check_is_silent_but_for_one_line_where_nothing_drifted(project: Path) -> None:
    run("generate")
    result = run("check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "all 3 generated files match the specs\n"


def test_check_shows_the_drift_and_the_command_that_mends_it(project: Path) -> None:
    run("generate")
    module = project / "mine" / "vote.py"
    module.write_text(module.read_text().replace("value: int = 0", "value: int = 1"))
    (project / "specs" / "Topic.json").unlink()
    result = run("check")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert "--- mine/vote.py (on disk)" in lines
    assert "-    value: int = 1" in lines
    assert "+    value: int = 0" in lines
    assert lines[-1] == "3 of 3 generated files differ; fix them with: kraftwire generate"
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0


def test_check_changes_nothing(project: Path) -> None:
    assert run("check").exit_code == 1
    assert not (project / "mine").exists()


def test_check_names_the_templates_in_its_command(project: Path) -> None:
    (project / "my templates").mkdir()
    last = run("check", "--templates", "my templates").stdout.splitlines()[-1]
    assert last.endswith("fix them with: kraftwire generate --templates 'my templates'")


# -- the terminal ----------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_a_progress_bar_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("generating mine", 2) as progress:
        progress("Vote")
        progress("Topic")
    assert ("generating mine" in stream.getvalue()) is shown


def test_the_commands_run_alone(project: Path) -> None:
    command = [sys.executable, "-m", "kraftwire_generator", "generate", "--only", "Vote"]
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "mine: 1 message; 2 files written, 0 deleted, 0 unchanged\n"
