"""The group `node`: a KRaft node of Kafka's quorums, or of one of its own."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (Row("run", "kraftwire.cli.node.run", "run", "Run a node until it is told to stop."),)

node = LazyGroup(name="node", rows=ROWS, help="A KRaft node: a voter or an observer.")
