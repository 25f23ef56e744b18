"""Small specs, one feature each, and the module that is generated from each of them.

The modules are kept under `golden/` and read in reviews: a change in the emitted code shows
in them first. `KRAFTWIRE_UPDATE_GOLDEN=1` rewrites them.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.spec_set import load_message
from kraftwire_generator.output.renderer import Renderer
from kraftwire_generator.plan.planner import plan_message

from codec_tests.compile_spec import compile_spec
from codec_tests.strategies import random_message, same

GOLDEN = Path(__file__).parent / "golden"
SPECS = sorted(GOLDEN.glob("*/*.json"))

each_spec = pytest.mark.parametrize("spec_file", SPECS, ids=lambda path: path.stem)


@each_spec
def test_the_emitted_module_is_the_one_that_was_reviewed(spec_file: Path) -> None:
    resolved, findings = load_message(spec_file)
    assert resolved is not None
    assert [item for item in findings if item.severity == "error"] == []
    plan = plan_message(resolved, spec_file.name)
    text = Renderer().message(plan)
    module = spec_file.with_name(f"{plan.module}.py")
    if os.environ.get("KRAFTWIRE_UPDATE_GOLDEN") == "1":
        module.write_text(text, encoding="utf-8", newline="\n")
    assert text == module.read_text(encoding="utf-8")


def test_every_golden_module_has_its_spec() -> None:
    modules = sorted(GOLDEN.glob("*/*.py"))
    assert len(modules) == len(SPECS)


@each_spec
def test_messages_of_defaults_and_random_ones_survive_every_version(spec_file: Path) -> None:
    message: Any = compile_spec(spec_file.read_text(encoding="utf-8"))
    rng = random.Random(spec_file.stem)
    for version in message.VALID_VERSIONS:
        codec = message.codec(version)
        data = codec.encode(message())
        assert codec.encode(codec.decode(data)) == data
        for _ in range(20):
            filled = random_message(message, version, rng)
            data = codec.encode(filled)
            assert same(codec.decode(data), filled)
            assert codec.encode(codec.decode(data)) == data
