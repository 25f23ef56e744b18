"""The group `log`: commands for what Kafka keeps on disk."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row("dump", "kraftwire.cli.log.dump", "dump", "Print records, batches, index entries."),
    Row("scan", "kraftwire.cli.log.scan", "scan", "Count what partitions hold, by headers alone."),
    Row("fsck", "kraftwire.cli.log.fsck", "fsck", "Check files against one another."),
    Row("salvage", "kraftwire.cli.log.salvage", "salvage", "Save what damage has left."),
)

log = LazyGroup(name="log", rows=ROWS, help="Kafka's files: dump, scan, check, repair.")
