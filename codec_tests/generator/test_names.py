"""Names of generated code: Kafka's case rules, out of the way of everything Python needs."""

from __future__ import annotations

import ast
import keyword
from pathlib import Path

import pytest

from kraftwire_generator.language.names import (
    attribute_name,
    class_name,
    module_name,
    struct_class_name,
    to_snake_case,
)
from kraftwire_wire.message import Message

GOLDEN = Path(__file__).parent / "golden"

ATTRIBUTES = [
    ("TopicName", "topic_name"),
    ("ISR", "isr"),
    ("KRaftVersion", "kraft_version"),
    ("V2Epoch", "v2_epoch"),
    ("Class", "class_"),
    ("Import", "import_"),
    ("Tuple", "tuple_"),
    ("Encode", "encode_"),
    ("UnknownTaggedFields", "unknown_tagged_fields_"),
    ("None", "none"),
    ("Type", "type"),
]

CLASSES = [
    ("VoteRequest", "VoteRequest"),
    ("voteRequest", "VoteRequest"),
    ("None", "None_"),
    ("true", "True_"),
    ("Message", "Message_"),
    ("registry", "Registry_"),
    ("list", "List"),
    ("self", "Self_"),
]

MODULES = [
    ("VoteRequest", "vote_request"),
    ("voteRequest", "vote_request"),
    ("aB", "ab"),
    ("Registry", "registry_"),
    ("Class", "class_"),
    ("Init", "init"),
]


@pytest.mark.parametrize(("name", "expected"), ATTRIBUTES)
def test_attributes_are_snake_case(name: str, expected: str) -> None:
    assert attribute_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), CLASSES)
def test_classes_start_with_a_capital(name: str, expected: str) -> None:
    assert class_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), MODULES)
def test_modules_are_snake_case(name: str, expected: str) -> None:
    assert module_name(name) == expected


@pytest.mark.parametrize("name", ["aB", "AB"])
def test_messages_of_one_class_name_share_a_module_so_that_the_check_finds_them(name: str) -> None:
    assert (class_name(name), module_name(name)) == ("AB", "ab")


def test_a_struct_never_has_the_name_of_its_message() -> None:
    assert struct_class_name("Vote", "Vote") == "Vote_"
    assert struct_class_name("Field", "Field_") == "Field__"
    assert struct_class_name("Vote", "VoteRequest") == "Vote"


@pytest.mark.parametrize("name", keyword.kwlist)
def test_no_keyword_becomes_a_name(name: str) -> None:
    for made in (attribute_name(name), class_name(name), module_name(name)):
        assert made.isidentifier()
        assert not keyword.iskeyword(made)


@pytest.mark.parametrize("name", [name for name in dir(Message) if not name.startswith("_")])
def test_no_field_hides_what_every_message_has(name: str) -> None:
    spelling = "".join(word.capitalize() for word in name.split("_"))
    assert name.isupper() or to_snake_case(spelling) == name
    assert attribute_name(spelling) != name


def test_no_field_or_class_hides_a_name_that_emitted_code_refers_to() -> None:
    for name in sorted(_names_in_emitted_code()):
        assert attribute_name(name) != name, name
        assert class_name(name) != name, name


def _names_in_emitted_code() -> set[str]:
    """Names that the bodies of classes, annotations included, find in module or builtins."""
    found: set[str] = set()
    for file in GOLDEN.glob("*/*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        own = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for statement in node.body:
                if isinstance(statement, ast.ClassDef):
                    continue
                names = {item.id for item in ast.walk(statement) if isinstance(item, ast.Name)}
                found |= names - own - _locals(statement)
    return {name for name in found if not name.startswith("_") and "_" not in name}


def _locals(statement: ast.stmt) -> set[str]:
    """Names that are local to a method, and the attributes that a class body sets."""
    if isinstance(statement, ast.FunctionDef):
        arguments = {argument.arg for argument in statement.args.args}
        return arguments | {"message", "tags", "tag"}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()
