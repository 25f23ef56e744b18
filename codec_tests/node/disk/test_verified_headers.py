"""Headers with checked CRCs are those of the batches, damage included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.batches.batch import Batch
from kraftwire.log.segments import verified_headers
from kraftwire.log.segments.segment import scan_batches
from kraftwire.log.sources.source import BytesSource

from codec_tests.node.disk.disks import batch_at

COUNTS = st.lists(st.integers(1, 30), min_size=1, max_size=6)
DAMAGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=2)


@given(COUNTS, DAMAGES, st.integers(0, 80), st.sampled_from([100, 300, 1 << 20]))
def test_headers_are_those_of_the_batches(
    counts: list[int], damages: list[tuple[float, int]], cut: int, window: int
) -> None:
    batches = [batch_at(sum(counts[:at]), count) for at, count in enumerate(counts)]
    data = bytearray(b"".join(batch.data for batch in batches))
    for place, flipped in damages:
        data[int(place * len(data))] ^= flipped
    source = BytesSource(bytes(data[: len(data) - cut]))
    expected = [item.header if isinstance(item, Batch) else item for item in scan_batches(source)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verified_headers, "_WINDOW", window)
        assert list(verified_headers.scan_verified_headers(source)) == expected
