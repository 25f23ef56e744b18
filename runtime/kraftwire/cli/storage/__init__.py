"""The group `storage`: the directories of a node, as `kafka-storage` has it."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row("format", "kraftwire.cli.storage.format", "format_", "Make directories a node's own."),
    Row("info", "kraftwire.cli.storage.info", "info", "Show whose directories are, and problems."),
    Row("random-uuid", "kraftwire.cli.storage.info", "random_uuid", "Print a new id."),
)

storage = LazyGroup(
    name="storage", rows=ROWS, help="Directories of a node: format them, look at them."
)
