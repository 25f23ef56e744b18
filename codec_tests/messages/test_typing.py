"""Type checkers see the classes behind the lazy imports, and refuse names that do not exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

SNIPPET = """
from kraftwire_messages.kafka import VoteRequest, registry
vote = VoteRequest.decode(b"", version=2)
reveal_type(vote)
reveal_type(vote.cluster_id)
reveal_type(vote.topics[0].partitions[0].pre_vote)
reveal_type(VoteRequest.codec(2).decode(b""))
reveal_type(registry.message("VoteRequest"))
from kraftwire_wire import ApiKey
reveal_type(ApiKey.VOTE)
"""
REVEALED = (
    "kraftwire_messages.kafka.vote_request.VoteRequest",
    "str | None",
    "bool",
    "kraftwire_messages.kafka.vote_request.VoteRequest",
    "type[kraftwire_wire.message.Message]",
    "Literal[kraftwire_wire.numbers.ApiKey.VOTE]?",
)


def _mypy(code: str, tmp_path: Path) -> str:
    file = tmp_path / "snippet.py"
    file.write_text(code)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(file)]
    return subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=240
    ).stdout


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_mypy_sees_the_types_of_messages_and_fields(tmp_path: Path) -> None:
    wrong = SNIPPET + "from kraftwire_messages.kafka import NoSuchMessage\nvote.no_such_field\n"
    output = _mypy(wrong, tmp_path)
    revealed = [line.split('"')[1] for line in output.splitlines() if "Revealed type" in line]
    assert tuple(revealed) == REVEALED
    assert 'has no attribute "NoSuchMessage"' in output
    assert 'has no attribute "no_such_field"' in output
