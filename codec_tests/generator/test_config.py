"""`[tool.kraftwire]`: which sets go into which packages, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire_generator.errors import SpecError
from kraftwire_generator.output.targets import PackageTarget, find_targets, is_package_name

ENTRY = '[[tool.kraftwire.sets]]\nspecs = "specs"\nout = "src/mine"\npackage = "mine"\n'
WITH_NUMBERS = ENTRY + 'numbers = "src/n.py"\n'


def write(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pyproject.toml").write_text(text)
    return directory


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    write(tmp_path, ENTRY + 'numbers = "src/numbers.py"\n')
    expected = PackageTarget(
        tmp_path / "specs", tmp_path / "src/mine", "mine", tmp_path / "src/numbers.py"
    )
    assert find_targets(tmp_path) == (expected,)


def test_several_sets_are_several_targets(tmp_path: Path) -> None:
    write(tmp_path, ENTRY + ENTRY.replace("mine", "other"))
    assert [target.package for target in find_targets(tmp_path)] == ["mine", "other"]


def test_the_nearest_file_that_has_sets_counts(tmp_path: Path) -> None:
    write(tmp_path, ENTRY)
    write(tmp_path / "a", "[tool.black]\nline-length = 100\n")
    below = tmp_path / "a" / "b"
    below.mkdir()
    assert find_targets(below)[0].specs == tmp_path / "specs"
    write(tmp_path / "a", ENTRY.replace("mine", "nearer"))
    assert find_targets(below)[0].package == "nearer"


BAD = [
    ("[tool.kraftwire\n", "cannot be read"),
    ("tool = 5\n", "tool must be a table"),
    ("[tool]\nkraftwire = 5\n", "kraftwire must be a table"),
    ("[tool.kraftwire]\nsets = 'x'\n", "write each set under a line"),
    ("[tool.kraftwire]\nsets = ['x']\n", "write each set under a line"),
    ("[tool.kraftwire.sets]\nspecs = 'x'\n", "write each set under a line"),
    ("[[tool.kraftwire.sets]]\nspecs = 'x'\n", "an entry lacks out, package; its keys are specs"),
    (ENTRY + "only = 'x'\n", "an entry has the unknown keys only; its keys are"),
    (ENTRY.replace('"specs"', "5"), "specs must be text in double quotes"),
    (ENTRY.replace('"mine"', '"my-package"'), "'my-package' is not the name of a package"),
    (ENTRY.replace('"mine"', '"a import x"'), "is not the name of a package"),
    (ENTRY + ENTRY, "two sets have the same out"),
    (ENTRY + ENTRY.replace("src/mine", "src/x/../mine"), "two sets have the same out"),
    (WITH_NUMBERS + WITH_NUMBERS.replace("mine", "other"), "two sets have the same numbers"),
    (
        WITH_NUMBERS.replace("src/n.py", "src/other/n.py") + ENTRY.replace("mine", "other"),
        "numbers of mine is in the out directory of another set",
    ),
    ("deep = " + 5000 * "[", "cannot be read"),
]


@pytest.mark.parametrize(("text", "problem"), BAD)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, problem: str) -> None:
    write(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        find_targets(tmp_path)
    (finding,) = caught.value.findings
    assert problem in finding.message
    assert finding.file == (tmp_path / "pyproject.toml").as_posix()


def test_without_any_set_the_flags_are_named(tmp_path: Path) -> None:
    write(tmp_path, "[tool.kraftwire]\n")
    with pytest.raises(SpecError, match=r"has \[\[tool.kraftwire.sets\]\]; name --specs and --out"):
        find_targets(tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mine", True),
        ("company.messages", True),
        ("", False),
        ("a.", False),
        ("a-b", False),
        ("class", False),
        ("a.class", False),
        ("a b", False),
    ],
)
def test_a_package_name_can_be_imported(name: str, expected: bool) -> None:
    assert is_package_name(name) is expected
