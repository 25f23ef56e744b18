"""Compiling a spec at test time: from its JSON to the generated class, without a file.

The whole generator runs, from parsing to formatting, so that a test of the runtime can use
any message that the spec language can express.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any

from kraftwire_generator.checks.message_rules import check_message
from kraftwire_generator.checks.structs import resolve
from kraftwire_generator.errors import SpecError
from kraftwire_generator.language.names import class_name
from kraftwire_generator.output.renderer import Renderer
from kraftwire_generator.parser.message_parser import parse_message
from kraftwire_generator.plan.planner import plan_message
from kraftwire_wire.message import Message

_numbers = count(1)
_renderer = Renderer()


def compile_spec(spec: dict[str, Any] | str) -> type[Message]:
    """The class generated from a spec, given as a JSON object or as text.

    Raises `SpecError` when the spec has errors. Equal texts give the same class.
    """
    return _compile(spec if isinstance(spec, str) else json.dumps(spec))


@cache
def _compile(text: str) -> type[Message]:
    parsed, findings = parse_message(text, "spec.json")
    if parsed is None:
        raise SpecError(findings)
    resolved, problems = resolve(parsed)
    findings = [*findings, *problems, *check_message(resolved)]
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise SpecError(errors)
    source = _renderer.message(plan_message(resolved, "spec.json"))
    # Dataclasses look their module up, so that it has to be among the imported ones.
    module = ModuleType(f"compiled_spec_{next(_numbers)}")
    sys.modules[module.__name__] = module
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    message: type[Message] = getattr(module, class_name(parsed.name))
    return message
