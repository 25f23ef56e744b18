"""Runs `kraftwire capture decode`, and reads what it prints."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result

from codec_tests.cli.running import run


def capture_decode(*args: object, stdin: bytes | None = None) -> Result:
    return run("capture", "decode", *args, stdin=stdin)


def rows_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(text) for text in result.stdout.splitlines()]
