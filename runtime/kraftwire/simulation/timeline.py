"""Draws a run as SVG: a lane for each node, with its roles as colours and its faults as marks.

Time goes from left to right. Cut links to a node are drawn under its lane. A graph above the lanes
shows the committed offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from kraftwire.raft.core.roles import Leader
from kraftwire.simulation.replay import replay
from kraftwire.simulation.scenario import Scenario
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.world import World
from kraftwire_wire.errors import count_of

_COLOURS = {
    "Unattached": "#c9ced6",
    "Prospective": "#f2d16b",
    "Candidate": "#ee9a3a",
    "Leader": "#2f8f5b",
    "Follower": "#8fb8de",
    "Resigned": "#a98fc0",
    "stopped": "#ffffff",
}
_CUT, _MARK, _INK, _VOTERS = "#c0392b", "#7b241c", "#2b2f36", "#5b3f8c"
_WIDTH, _LEFT, _RIGHT = 1160, 90, 20
_TOP, _LANE, _BAR = 120, 46, 20
_GRAPH = 56
_MARKS = {
    Action.CRASH: "x",
    Action.FAIL: "f",
    Action.WIPE: "w",
    Action.FLIP: "b",
    Action.RESET: "r",
}


@dataclass
class _Span:
    """A node's role, or a cut link to it, over some time."""

    node: int
    label: str
    begin: int
    end: int
    epoch: int = 0


class _Timeline:
    """The content of the picture, collected while the run is replayed."""

    def __init__(self, scenario: Scenario) -> None:
        self.spans: list[_Span] = [_Span(node, "stopped", 0, 0) for node in scenario.nodes]
        self.cuts: list[_Span] = []
        self.marks: list[tuple[int, int, str]] = []
        self.committed: list[tuple[int, int]] = [(0, 0)]
        self.voters: list[tuple[int, list[int]]] = []
        """The times at which a leader had a new voter set, and the ids in it."""
        self._last = {span.node: span for span in self.spans}
        self._cut: dict[tuple[int, int], _Span] = {}

    def add(self, world: World, step: Step) -> None:
        now = world.now
        for number, node in world.nodes.items():
            label = "stopped" if node.replica is None else type(node.role).__name__
            epoch = 0 if node.replica is None else node.core.epoch
            if isinstance(node.role, Leader):
                ids = [voter.id for voter in node.core.voters]
                if not self.voters or self.voters[-1][1] != ids:
                    self.voters.append((now, ids))
            last = self._last[number]
            last.end = now
            if (label, epoch) != (last.label, last.epoch):
                self._last[number] = _Span(number, label, now, now, epoch)
                self.spans.append(self._last[number])
        end = world.ledger.end.offset
        if end != self.committed[-1][1]:
            self.committed.append((now, end))
        if step.action in _MARKS:
            self.marks.append((step.node, now, _MARKS[step.action]))
        elif step.crash >= 0:
            self.marks.append((step.node, now, _MARKS[Action.CRASH]))
        self._add_cuts(step, now)

    def _add_cuts(self, step: Step, now: int) -> None:
        link = (step.other, step.node)
        if step.action is Action.CUT:
            self._cut[link] = _Span(step.node, f"from {step.other}", now, now)
            self.cuts.append(self._cut[link])
        elif step.action is Action.MEND:
            self._cut.pop(link).end = now
        for span in self._cut.values():
            span.end = now


def draw_timeline(scenario: Scenario, steps: Sequence[Step]) -> str:
    """Replay a run and return its picture, as SVG."""
    timeline = _Timeline(scenario)
    violation = replay(scenario, steps, codecs=False, on_step=timeline.add).violation
    until = max(steps[-1].at if steps else 0, 1)
    height = _TOP + _LANE * len(scenario.nodes) + 90
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fbfbf9"/>',
        *_head(scenario, until, violation),
        *_graph(timeline, until),
        *_voter_changes(timeline, until, height),
        *_lanes(scenario, timeline, until),
        *_axis(until, height),
        *_legend(height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(at: int, until: int) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / until, 1)


def _y(node: int) -> int:
    return _TOP + _LANE * (node - 1)


def _rect(x: float, y: float, width: float, height: float, style: str, title: str = "") -> str:
    inner = f"<title>{title}</title>" if title else ""
    box = f'x="{x}" y="{y}" width="{max(width, 0.6):.1f}" height="{height}"'
    return f"<rect {box} {style}>{inner}</rect>"


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'


def _head(scenario: Scenario, until: int, violation: Exception | None) -> list[str]:
    title = (
        f"seed {scenario.seed}: {count_of(scenario.voters, 'voter')}, "
        f"{count_of(scenario.observers, 'observer')}, "
        f"{scenario.bootstrap.value}, {until / 1000:,.1f} s"
    )
    lines = [_text(_LEFT, 26, title, 'font-size="16" font-weight="bold"')]
    outcome = "every rule held" if violation is None else f"broken: {violation}"[:150]
    colour = _INK if violation is None else _CUT
    return [*lines, _text(_LEFT, 44, outcome, f'fill="{colour}"')]


def _graph(timeline: _Timeline, until: int) -> list[str]:
    """Draw the committed offset over time."""
    top = max(timeline.committed[-1][1], 1)
    bottom = _TOP - 12
    points = [(_LEFT, bottom)]
    level = bottom
    for at, end in [*timeline.committed, (until, timeline.committed[-1][1])]:
        x = int(_x(at, until))
        points.append((x, level))
        level = bottom - _GRAPH * end // top
        points.append((x, level))
    line = " ".join(f"{x},{y}" for x, y in points)
    return [
        f'<polyline points="{line}" fill="none" stroke="{_COLOURS["Leader"]}" stroke-width="1.5"/>',
        _text(_LEFT - 8, bottom - _GRAPH + 8, f"{top:,}", 'text-anchor="end"'),
        _text(_LEFT - 8, bottom, "committed", 'text-anchor="end"'),
    ]


def _voter_changes(timeline: _Timeline, until: int, height: int) -> list[str]:
    """Draw a line through all lanes at each change of the voter set, with the new ids."""
    parts = []
    free = 0.0
    for at, ids in timeline.voters[1:]:
        x = _x(at, until)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="58" y2="{height - 90}" stroke="{_VOTERS}" '
            f'stroke-width="0.8" stroke-dasharray="2 3"><title>voters {ids}, {at} ms</title></line>'
        )
        text = ",".join(map(str, ids))
        if x >= free:  # only the title of the line has a label that would overlap
            parts.append(_text(x + 2, 66, text, f'fill="{_VOTERS}" font-size="10"'))
            free = x + 6 * len(text) + 8
    return parts


def _lanes(scenario: Scenario, timeline: _Timeline, until: int) -> list[str]:
    parts = []
    for node in scenario.nodes:
        kind = "voter" if node in scenario.first_voter_ids else "observer"
        parts.append(_text(_LEFT - 8, _y(node) + 15, f"{kind} {node}", 'text-anchor="end"'))
    for span in timeline.spans:
        x, width = _x(span.begin, until), _x(span.end, until) - _x(span.begin, until)
        style = f'fill="{_COLOURS[span.label]}" stroke="#9aa1ab" stroke-width="0.3"'
        title = f"{span.label}, epoch {span.epoch}, {span.begin} to {span.end} ms"
        parts.append(_rect(x, _y(span.node), width, _BAR, style, title))
        if span.label == "Leader" and width > 14:
            centre = 'text-anchor="middle" fill="#ffffff" font-size="11"'
            parts.append(_text(x + width / 2, _y(span.node) + 14, str(span.epoch), centre))
    for cut in timeline.cuts:
        x, width = _x(cut.begin, until), _x(cut.end, until) - _x(cut.begin, until)
        sender = int(cut.label.split()[1])
        y = _y(cut.node) + _BAR + 3 + 2 * (sender % 6)
        title = f"nothing {cut.label}, {cut.begin} to {cut.end} ms"
        parts.append(_rect(x, y, width, 1.4, f'fill="{_CUT}"', title))
    for node, at, mark in timeline.marks:
        style = f'text-anchor="middle" font-weight="bold" fill="{_MARK}"'
        parts.append(_text(_x(at, until), _y(node) - 2, mark, style))
    return parts


def _axis(until: int, height: int) -> list[str]:
    step = next(one for one in (100, 500, 1000, 5000, 10_000, 60_000, 600_000) if until / one <= 20)
    y = height - 72
    return [
        _text(_x(at, until), y, f"{at / 1000:g} s", 'text-anchor="middle" fill="#6b727c"')
        for at in range(0, until + 1, step)
    ]


def _legend(height: int) -> list[str]:
    parts, x, y = [], _LEFT, height - 40
    for name, colour in _COLOURS.items():
        parts.append(
            f'<rect x="{x}" y="{y - 11}" width="14" height="14" fill="{colour}" stroke="#9aa1ab"/>'
        )
        parts.append(_text(x + 20, y, name))
        x += 40 + 8 * len(name)
    y += 24
    parts.append(f'<rect x="{_LEFT}" y="{y - 5}" width="18" height="1.6" fill="{_CUT}"/>')
    parts.append(_text(_LEFT + 24, y, "a link to the node is cut"))
    marks = ",  ".join(f"{mark} {action.value}" for action, mark in _MARKS.items())
    parts.append(_text(_LEFT + 200, y, marks, f'fill="{_MARK}"'))
    parts.append(_text(_LEFT + 480, y, "another voter set, and its ids", f'fill="{_VOTERS}"'))
    return parts
