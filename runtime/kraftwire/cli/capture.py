"""The group `capture`: commands for recorded traffic."""

from __future__ import annotations

from kraftwire.cli.lazy_group import LazyGroup, Row

ROWS = (
    Row("decode", "kraftwire.cli.capture_decode", "decode", "Print recorded frames, decoded."),
    Row("proxy", "kraftwire.cli.capture_proxy", "proxy", "Record live traffic into a cassette."),
    Row("replay", "kraftwire.cli.capture_replay", "replay", "Serve recorded traffic as a broker."),
)

capture = LazyGroup(name="capture", rows=ROWS, help="Captured traffic: decode, record, replay.")
