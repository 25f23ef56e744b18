"""Compiles a spec at test time: from its JSON to the generated class, without a file.

The whole generator runs, from the parser to black, so that a test of the runtime can use any
message that the spec language can express.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any

from kraftwire_generator.errors import raise_errors
from kraftwire_generator.language.names import class_name
from kraftwire_generator.output.renderer import Renderer
from kraftwire_generator.plan.planner import plan_message
from kraftwire_wire.message import Message

from codec_tests.spec_files import check_json

_numbers = count(1)
_renderer = Renderer()


def compile_spec(spec: dict[str, Any] | str) -> type[Message]:
    """Return the class generated from a spec, given as a JSON object or as text.

    Raises `SpecError` if the spec has errors. Equal texts give the same class.
    """
    return _compile(spec if isinstance(spec, str) else json.dumps(spec))


@cache
def _compile(text: str) -> type[Message]:
    resolved, findings = check_json(text)
    raise_errors(findings)
    assert resolved is not None
    source = _renderer.message(plan_message(resolved, "spec.json"))
    # Dataclasses look up their module in `sys.modules`.
    module = ModuleType(f"compiled_spec_{next(_numbers)}")
    sys.modules[module.__name__] = module
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    message: type[Message] = getattr(module, class_name(resolved.spec.name))
    return message
