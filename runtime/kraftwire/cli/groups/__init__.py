"""The group `groups`: consumer groups out of their coordinators' logs, without a broker."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row("show", "kraftwire.cli.groups.show", "show", "Print groups: members, offsets."),
    Row("history", "kraftwire.cli.groups.history", "history", "Print what happened to groups."),
)

groups = LazyGroup(
    name="groups", rows=ROWS, help="Groups out of __consumer_offsets: state, history."
)
