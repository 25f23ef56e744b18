"""The group `capture`: commands for recorded traffic."""

from __future__ import annotations

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row("decode", "kraftwire.cli.capture.decode", "decode", "Print recorded frames, decoded."),
    Row("proxy", "kraftwire.cli.capture.proxy", "proxy", "Record live traffic into a cassette."),
    Row("replay", "kraftwire.cli.capture.replay", "replay", "Serve recorded traffic as a broker."),
)

capture = LazyGroup(name="capture", rows=ROWS, help="Captured traffic: decode, record, replay.")
