"""Steps survive their text form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.simulation.steps import NEVER, Action, Step, format_step, parse_step
from kraftwire_wire.errors import KraftwireError

NUMBERS = st.integers(0, 1 << 40)


@given(
    st.builds(
        Step,
        at=NUMBERS,
        action=st.sampled_from(Action),
        node=NUMBERS,
        other=NUMBERS,
        value=NUMBERS,
        crash=st.just(NEVER) | NUMBERS,
    )
)
def test_a_step_survives_its_line(step: Step) -> None:
    assert parse_step(format_step(step)) == step


def test_a_line_reads_as_what_happens() -> None:
    step = Step(2210, Action.DELIVER, 1, 3, 2, crash=0)
    assert format_step(step) == "2210 deliver 1<3 #2 crash 0"


@pytest.mark.parametrize("line", ["", "x", "1 deliver", "1 explode 2", "1 tick 1 #", "-1 tick 1"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(KraftwireError, match="not a step of a run"):
        parse_step(line)
