"""The group `metadata`: the metadata of a cluster, out of its log and snapshots."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row("show", "kraftwire.cli.metadata.show", "show", "Print the metadata at an offset."),
    Row("diff", "kraftwire.cli.metadata.diff", "diff", "Compare two offsets or two nodes."),
    Row("history", "kraftwire.cli.metadata.history", "history", "Tell what each record changed."),
)

metadata = LazyGroup(
    name="metadata", rows=ROWS, help="Cluster metadata: show it at any offset, compare, tell."
)
