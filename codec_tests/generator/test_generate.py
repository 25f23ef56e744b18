"""From a spec set on disk to the files of its package: what is selected, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kraftwire_wire
from kraftwire_generator.errors import SpecError
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.output.package import Package, Selection, count_specs, generate_package
from kraftwire_generator.output.package_files import find_changes
from kraftwire_generator.output.targets import PackageTarget

from codec_tests.spec_files import field_spec, message_spec, write_set

VOTE = message_spec("VoteRequest", field_spec(), type="request", apiKey=52, validVersions="0-3")
VOTED = message_spec("VoteResponse", type="response", apiKey=52, validVersions="0-3")
TOPIC = message_spec("TopicRecord", type="metadata", apiKey=2)
GONE = message_spec("GoneRecord", type="metadata", apiKey=3, validVersions="none")


@pytest.fixture
def target(tmp_path: Path) -> PackageTarget:
    specs = write_set(tmp_path / "specs", VOTE, VOTED, TOPIC, GONE)
    return PackageTarget(specs, tmp_path / "mine", "mine")


def generate(target: PackageTarget, *only: str, versions: str | None = None) -> Package:
    wanted = None if versions is None else VersionRange.parse(versions)
    return generate_package(target, Selection(only, wanted))


def write(package: Package) -> None:
    find_changes(package, keep_others=True).apply()


def names(package: Package) -> list[str]:
    return sorted(path.name for path in package.files)


def test_every_message_with_a_version_has_a_module(target: PackageTarget) -> None:
    package = generate(target)
    assert names(package) == [
        "__init__.py",
        "topic_record.py",
        "vote_request.py",
        "vote_response.py",
    ]
    assert package.message_count == 3


@pytest.mark.slow
def test_many_messages_are_rendered_by_several_processes_in_order(tmp_path: Path) -> None:
    specs = write_set(tmp_path, *(message_spec(f"Message{number}") for number in range(20)))
    seen: list[str] = []
    package = generate_package(
        PackageTarget(specs, tmp_path / "mine", "mine"), Selection(), progress=seen.append
    )
    assert package.message_count == len(seen) == 20
    assert sorted(seen) == sorted(f"Message{number}" for number in range(20))
    assert count_specs(specs, Selection()) == 20
    assert count_specs(specs, Selection(only=("A*",))) == 0


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["Vote*"], ["vote_request.py", "vote_response.py"]),
        (["*Record", "VoteRequest"], ["topic_record.py", "vote_request.py"]),
        (["vote*", "TopicRecord"], ["topic_record.py"]),
    ],
)
def test_only_takes_patterns_of_message_names(
    target: PackageTarget, patterns: list[str], expected: list[str]
) -> None:
    assert names(generate(target, *patterns)) == ["__init__.py", *expected]


@pytest.mark.slow
def test_two_runs_for_different_messages_leave_both_in_the_package(target: PackageTarget) -> None:
    write(generate(target, "VoteRequest"))
    package = generate(target, "TopicRecord")
    index = package.files[target.out / "__init__.py"]
    assert '"VoteRequest": "vote_request"' in index
    assert '"TopicRecord": "topic_record"' in index
    assert "VoteResponse" not in index


def test_a_users_own_module_is_not_taken_for_a_message_of_an_earlier_run(
    target: PackageTarget,
) -> None:
    target.out.mkdir()
    (target.out / "vote_request.py").write_text("MINE = 1\n")
    index = generate(target, "TopicRecord").files[target.out / "__init__.py"]
    assert "VoteRequest" not in index


def test_versions_narrow_every_message_and_leave_out_those_without_any(
    target: PackageTarget,
) -> None:
    package = generate(target, versions="1-2")
    assert names(package) == ["__init__.py", "vote_request.py", "vote_response.py"]
    text = package.files[target.out / "vote_request.py"]
    assert "VALID_VERSIONS: ClassVar[range] = range(1, 3)" in text


@pytest.mark.parametrize(
    ("only", "versions", "problem"),
    [
        (["Nothing*", "None"], None, "no message of the set is called Nothing* or None"),
        ([], "9+", "no message of the set has a version within versions 9+"),
        (["Vote*"], "9", "no message of the set is called Vote* within versions 9"),
    ],
)
def test_a_selection_of_nothing_is_an_error(
    target: PackageTarget, only: list[str], versions: str | None, problem: str
) -> None:
    with pytest.raises(SpecError) as caught:
        generate(target, *only, versions=versions)
    assert [finding.message for finding in caught.value.findings] == [problem]


def test_a_set_of_removed_messages_has_nothing_to_generate(tmp_path: Path) -> None:
    specs = write_set(tmp_path, GONE)
    with pytest.raises(SpecError, match=r"no message of the set has a version$"):
        generate(PackageTarget(specs, tmp_path / "mine", "mine"))


def test_the_errors_of_all_files_come_at_once(target: PackageTarget) -> None:
    write_set(target.specs, message_spec("Bad1", field_spec(type="int33")))
    (target.specs / "Bad2.json").write_text("{")
    (target.specs / "Bad3.json").write_bytes(b"\xff")
    (target.specs / "set.toml").write_text("title = 5\n= 3\n")
    with pytest.raises(SpecError) as caught:
        generate(target)
    files = [Path(finding.file).name for finding in caught.value.findings]
    assert files == ["set.toml", "Bad1.json", "Bad2.json", "Bad3.json"]


NUMBERS = [
    ("", "the table error_codes is missing"),
    ("error_codes = 5", "the table error_codes is missing"),
    ("= 1", "cannot be read"),
    ("deep = " + 5000 * "[", "cannot be read"),
    ("[error_codes]\nnone = 0", "an error code is an int16"),
    ("[error_codes]\n'A\\nimport os' = 0", "an error code is an int16"),
    ("[error_codes]\nNONE = '0\\nimport os'", "an error code is an int16"),
    ("[error_codes]\nNONE = true", "an error code is an int16"),
    ("[error_codes]\nNONE = 1.5", "an error code is an int16"),
    ("[error_codes]\nNONE = 32768", "an error code is an int16"),
]


@pytest.mark.parametrize(("text", "problem"), NUMBERS)
def test_a_bad_table_of_error_codes_is_an_error(
    target: PackageTarget, text: str, problem: str
) -> None:
    (target.specs / "error_codes.toml").write_text(text)
    with_numbers = PackageTarget(target.specs, target.out, "mine", target.out / "numbers.py")
    with pytest.raises(SpecError, match=problem):
        generate(with_numbers, "VoteRequest")


def test_numbers_do_not_take_the_place_of_a_message(target: PackageTarget) -> None:
    (target.specs / "error_codes.toml").write_text("[error_codes]\nNONE = 0\n")
    numbers = target.out / "vote_request.py"
    with pytest.raises(SpecError, match="numbers and a message share this module"):
        generate(PackageTarget(target.specs, target.out, "mine", numbers))


def test_error_codes_and_api_keys_are_named(target: PackageTarget) -> None:
    write_set(
        target.specs,
        message_spec("Request", type="request", apiKey=900),
        message_spec("Odd", type="request", apiKey=901),
        settings="draft = true",
    )
    (target.specs / "error_codes.toml").write_text("[error_codes]\nUNKNOWN = -1\nNONE = 0\n")
    numbers = target.out / "numbers.py"
    text = generate(PackageTarget(target.specs, target.out, "mine", numbers)).files[numbers]
    namespace: dict[str, Any] = {"__name__": "numbers"}
    exec(text, namespace)
    assert {item.name: item.value for item in namespace["ErrorCode"]} == {"UNKNOWN": -1, "NONE": 0}
    keys = {item.name: item.value for item in namespace["ApiKey"]}
    assert keys == {"VOTE": 52, "REQUEST": 900, "ODD": 901}


def test_two_sets_in_one_package_leave_the_second(target: PackageTarget, tmp_path: Path) -> None:
    """A package belongs to one set: the other one's files are stale."""
    write(generate(target))
    other = PackageTarget(write_set(tmp_path / "other", message_spec("Other")), target.out, "mine")
    package = generate(other)
    changes = find_changes(package, keep_others=False)
    changes.apply()
    assert sorted(path.name for path in target.out.iterdir()) == ["__init__.py", "other.py"]


SCRIPT = """
import sys
import mine
from mine import VoteRequest, registry
assert VoteRequest is registry.request(52) is registry.message("VoteRequest")
assert list(registry) == ["TopicRecord", "VoteRequest", "VoteResponse"]
assert registry.record("specs", 2).value.__name__ == "TopicRecord"
vote = VoteRequest(value=7)
assert VoteRequest.decode(vote.encode(3), 3) == vote
assert sorted(dir(mine)) == ["TopicRecord", "VoteRequest", "VoteResponse", "registry"]
try:
    mine.Nothing
except AttributeError:
    pass
else:
    raise AssertionError
try:
    import kraftwire_messages
except ImportError:
    print("alone")
"""


def test_a_package_of_ones_own_needs_the_runtime_and_nothing_else(
    target: PackageTarget, tmp_path: Path
) -> None:
    write(generate(target))
    runtime = Path(kraftwire_wire.__file__).parent
    shutil.copytree(runtime, tmp_path / "kraftwire_wire")
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-S", "-s", "-c", SCRIPT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.stdout) == ("", "alone\n")
