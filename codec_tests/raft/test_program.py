"""The program at the top of `kraftwire.raft`, which shows how to drive a replica."""

from __future__ import annotations

from textwrap import dedent

import pytest

import kraftwire.raft


def test_the_program_commits_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    text = kraftwire.raft.__doc__ or ""
    begin, end = text.index("    from collections"), text.index("With other voters")
    exec(compile(dedent(text[begin:end]), "kraftwire.raft", "exec"), {})
    assert capsys.readouterr().out == "[b'hello']\n"
