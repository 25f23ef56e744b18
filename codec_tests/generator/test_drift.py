"""The generated code in this repository matches its specs."""

from __future__ import annotations

import pytest

from codec_tests.generator_commands import run_generator
from codec_tests.oracle import REPOSITORY


@pytest.mark.slow
def test_generated_code_matches_the_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    result = run_generator("check")
    assert result.exit_code == 0, result.output[-4000:]
