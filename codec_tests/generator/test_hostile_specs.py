"""Specs are untrusted: whatever they hold, generated modules hold what was planned and work.

Texts cannot leave the literal or the docstring they stand in, and no name can hide one that
generated code refers to.
"""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import kraftwire_wire
from kraftwire_generator.checks.message_rules import MOST_TAGS
from kraftwire_generator.checks.spec_set import SpecSet
from kraftwire_generator.errors import SpecError
from kraftwire_generator.language.names import class_name
from kraftwire_generator.output.package import Selection, generate_package
from kraftwire_generator.output.renderer import Renderer
from kraftwire_generator.output.targets import PackageTarget
from kraftwire_generator.parser.json_text import DEEPEST_NESTING
from kraftwire_generator.parser.set_settings import SetSettings
from kraftwire_generator.plan.planner import plan_message, plan_package

from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec, resolve_json, write_set
from codec_tests.spec_strategies import CLASS_NAMES, FIELD_NAMES, HOSTILE_TEXT, specs
from codec_tests.strategies import random_message, same

thorough = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
quick = settings(max_examples=40, deadline=None)

_TOP_LEVEL = (ast.Expr, ast.ImportFrom, ast.Assign, ast.ClassDef)
_IN_CLASSES = (ast.Expr, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)
_CALLED = {"Array", "Field", "Layout", "StructType"}
_CALLED |= {"UUID", "dataclass", "field", "fixed", "float", "range"}
_MODULES = {"__future__", "dataclasses", "typing", "kraftwire_wire.generated"}


def source_of(spec: dict[str, Any], file: str = "spec.json") -> str:
    return Renderer().message(plan_message(resolve_json(spec), file))


def assert_holds_only_what_was_planned(source: str, name: str) -> None:
    """One class and its structs; nothing that a spec could have brought in beside them."""
    tree = ast.parse(source)
    assert {type(node) for node in tree.body} <= set(_TOP_LEVEL)
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == [name]
    expressions = [node for node in tree.body if isinstance(node, ast.Expr)]
    assert [type(node.value) for node in expressions] == [ast.Constant, ast.Call]
    imports = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert set(imports) == _MODULES
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import | ast.Global | ast.Nonlocal | ast.With | ast.Try)
        if isinstance(node, ast.ClassDef):
            assert {type(child) for child in node.body} <= set(_IN_CLASSES)
            functions = [child.name for child in node.body if isinstance(child, ast.FunctionDef)]
            assert functions == ["_decode", "_encode"]
            called = [
                call.func.id
                for child in node.body
                if isinstance(child, ast.AnnAssign)
                for call in ast.walk(child)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            ]
            assert set(called) <= _CALLED


def assert_works_in_every_version(message: Any) -> None:
    rng = random.Random(1)
    for version in message.VALID_VERSIONS:
        codec = message.codec(version)
        data = codec.encode(message())
        assert codec.encode(codec.decode(data)) == data
        filled = random_message(message, version, rng)
        data = codec.encode(filled)
        assert same(codec.decode(data), filled)


@pytest.mark.slow
@thorough
@given(specs())
def test_every_valid_spec_becomes_a_module_that_works(spec: dict[str, Any]) -> None:
    assert_holds_only_what_was_planned(source_of(spec), class_name(spec["name"]))
    assert_works_in_every_version(compile_spec(spec))


@pytest.mark.slow
@quick
@given(about=HOSTILE_TEXT, default=HOSTILE_TEXT, file=HOSTILE_TEXT)
def test_texts_stay_texts(about: str, default: str, file: str) -> None:
    keys = {"nullableVersions": "0+", "about": about, "default": default}
    spec = message_spec("Vote", field_spec("Name", "string", **keys), validVersions="0-1")
    assert_holds_only_what_was_planned(source_of(spec, file), "Vote")
    message: Any = compile_spec(spec)
    assert message().name == (None if default == "null" else default)


@pytest.mark.slow
@quick
@given(title=HOSTILE_TEXT, release=HOSTILE_TEXT, log=HOSTILE_TEXT)
def test_texts_of_the_set_stay_texts(title: str, release: str, log: str) -> None:
    message = resolve_json(message_spec("Vote", type="metadata", apiKey=1))
    settings = SetSettings(title, release, records={log: "meta"}, control_records={"Vote": 7})
    spec_set = SpecSet(Path("specs"), settings, (("meta", message),))
    tree = ast.parse(Renderer().package(plan_package(spec_set, "mine")))
    expected = [ast.Expr, ast.ImportFrom, ast.ImportFrom, ast.ImportFrom, ast.Assign, ast.If]
    assert [type(node) for node in tree.body] == expected
    registry = tree.body[4]
    assert isinstance(registry, ast.Assign)
    assert isinstance(registry.value, ast.Call)
    values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in registry.value.keywords}
    assert values["release"] == release
    assert values["records"] == {log: {1: (None, "Vote")}}
    assert values["control_records"] == {7: "Vote"}


@pytest.mark.slow
def test_all_names_at_once_keep_their_fields_apart() -> None:
    fields = [field_spec(name, "string") for name in FIELD_NAMES]
    structs = [
        field_spec(f"Use{number}", f"[]{name}", fields=[field_spec("Tuple"), field_spec("Range")])
        for number, name in enumerate(CLASS_NAMES)
        if name != "Message"
    ]
    message: Any = compile_spec(
        message_spec("Message", *fields, *structs, validVersions="0-1", flexibleVersions="1+")
    )
    assert_works_in_every_version(message)


@pytest.mark.parametrize("name", [*CLASS_NAMES, "self", "reader", "version", "list", "registry"])
def test_a_message_can_have_any_name(name: str) -> None:
    node = field_spec("Node", "Node", fields=[field_spec("Id", "uuid"), field_spec("At", "int64")])
    own = field_spec("Own", f"[]{name[:1].upper()}{name[1:]}", fields=[field_spec()])
    assert_works_in_every_version(compile_spec(message_spec(name, node, own)))


@pytest.mark.parametrize(
    "name", ["a b", "a-b", "__init__", "__class__", "_private", "x\n", "", "1x", "é", "a;b", "x.y"]
)
@pytest.mark.parametrize("place", ["message", "field", "struct"])
def test_what_is_no_plain_name_is_refused(name: str, place: str) -> None:
    inner = field_spec("Node", name if place == "struct" else "Node", fields=[field_spec()])
    spec = message_spec(
        name if place == "message" else "Vote",
        field_spec(name if place == "field" else "Value"),
        inner,
    )
    with pytest.raises(SpecError, match=r"spec\.json:1: error"):
        compile_spec(spec)


@pytest.mark.slow
def test_messages_with_any_names_are_loaded_from_their_package(tmp_path: Path) -> None:
    """The names include those with which a module could hide a class of the package."""
    names = [*CLASS_NAMES, "lower", "self", "reader", "dataclasses", "typing"]
    unique = {name.lower(): name for name in names}
    specs_dir = write_set(tmp_path / "specs", *map(message_spec, unique.values()))
    package = generate_package(
        PackageTarget(specs_dir, tmp_path / "hostile", "hostile"), Selection()
    )
    (tmp_path / "hostile").mkdir()
    for file, text in package.files.items():
        file.write_text(text, encoding="utf-8")
    script = (
        "import hostile\n"
        "for _ in range(2):\n"
        "    for name in hostile.registry:\n"
        "        message = getattr(hostile, name)\n"
        "        assert message is hostile.registry.message(name)\n"
        "        assert message.__name__ == name and message().encode(0) == b''\n"
        "print(len(hostile.registry))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.stderr, ran.stdout) == ("", f"{len(unique)}\n")


@pytest.mark.slow
def test_the_most_tags_and_the_deepest_nesting_are_generated_and_work() -> None:
    tags = [
        field_spec(f"Tag{number}", "int8", versions="0+", taggedVersions="0+", tag=number)
        for number in range(MOST_TAGS)
    ]
    levels = [
        {
            "name": f"Level{depth}",
            "versions": "0+",
            "fields": [field_spec("In", f"Level{depth + 1}")],
        }
        for depth in range(1, DEEPEST_NESTING)
    ]
    levels.append({"name": f"Level{DEEPEST_NESTING}", "versions": "0+", "fields": [field_spec()]})
    fields = [field_spec("In", "Level1"), *tags]
    assert_works_in_every_version(
        compile_spec(message_spec("Vote", *fields, flexibleVersions="0+", commonStructs=levels))
    )


@pytest.mark.slow
def test_modules_of_hostile_names_pass_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    own = field_spec("Own", "[]Vote", fields=[field_spec(name) for name in FIELD_NAMES])
    fields = [field_spec(name, "[]string") for name in FIELD_NAMES]
    structs = [
        field_spec(f"Use{number}", name, fields=[field_spec("Tuple"), field_spec("Id", "uuid")])
        for number, name in enumerate(CLASS_NAMES)
        if name != "Vote"
    ]
    keys = {"validVersions": "0-1", "flexibleVersions": "1+"}
    spec = message_spec("Vote", own, *fields, *structs, **keys)
    (tmp_path / "vote.py").write_text(source_of(spec), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "vote.py"]
    runtime = Path(kraftwire_wire.__file__).parent.parent
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
