"""The numbered rules of the KIP documents: for each there is a test whose docstring names it.

The documents lie outside this repository; how many rules each section has is written out here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

NUMBERED = {
    "KIP-853 early": {
        "AddVoter": {"Handling": 6, "Errors": 5},
        "RemoveVoter": {"Handling": 6, "Errors": 4},
        "Vote": {"Request": 4, "Errors": 1},
        "BeginQuorumEpoch": {"Request": 4, "Errors": 2},
        "EndQuorumEpoch": {"Request": 5},
        "DescribeQuorum": {"Response": 1},
    },
    "KIP-856": {
        "AddVoter": {"Handling": 7, "Errors": 4},
        "RemoveVoter": {"Handling": 7, "Errors": 4},
        "Vote": {"Request": 4, "Errors": 1},
        "BeginQuorumEpoch": {"Request": 4, "Errors": 2},
        "EndQuorumEpoch": {"Request": 5, "Errors": 2},
        "DescribeQuorum": {"Response": 1},
    },
}
_RULE = re.compile(r"(KIP-\d+(?: early)?), (\w+), (\w+) (\d+)(?:-(\d+))?")


def _docstrings() -> Iterator[str]:
    for path in Path(__file__).parent.glob("test_kip_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield ast.get_docstring(node) or ""


def test_every_numbered_rule_of_the_documents_has_a_test_that_names_it() -> None:
    named = {
        (document, section, part, number)
        for text in _docstrings()
        for document, section, part, first, last in _RULE.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }
    wanted = {
        (document, section, part, number)
        for document, sections in NUMBERED.items()
        for section, parts in sections.items()
        for part, count in parts.items()
        for number in range(1, count + 1)
    }
    assert wanted - named == set()
    assert {rule for rule in named - wanted if rule[1] in NUMBERED.get(rule[0], ())} == set()
