"""The generated code in this repository is what its specs say."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftwire_generator.commands.group import main

REPOSITORY = Path(__file__).resolve().parents[2]


def test_generated_code_follows_the_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    result = CliRunner().invoke(main, ["check"])
    assert result.exit_code == 0, result.output[-4000:]
