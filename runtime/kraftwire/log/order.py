"""Batches whose offset or leader epoch does not fit those around them.

The CRC of a batch covers neither, so that a flipped bit there passes it. A batch that jumps
ahead is told by what follows: where that goes on from what came before, the jump is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kraftwire.log.batch import Batch
from kraftwire.log.header import BatchHeader
from kraftwire.log.segment import Damage

Item = Batch | Damage


def with_following(items: Iterable[Item]) -> Iterator[tuple[Item, BatchHeader | None]]:
    """Each item with the header of the batch right behind it, where there is one."""
    previous: Item | None = None
    for item in items:
        if previous is not None:
            yield previous, None if isinstance(item, Damage) else item.header
        previous = item
    if previous is not None:
        yield previous, None


def jump_of(
    header: BatchHeader,
    following: BatchHeader | None,
    *,
    next_offset: int,
    epoch: int,
    segment_end: int | None,
) -> str | None:
    """How a batch jumps ahead of its neighbours; None where it does not.

    `next_offset` and `epoch` are those behind the batch before it, `segment_end` is the first
    offset of the next segment.
    """
    if segment_end is not None and header.last_offset >= segment_end:
        return f"offset {header.last_offset}, where the next segment begins with {segment_end}"
    if following is None or header.magic < 2 or following.magic < 2:
        return None
    if next_offset <= following.base_offset < header.base_offset:
        return f"offset {header.base_offset} between {next_offset} and {following.base_offset}"
    after = following.partition_leader_epoch
    if max(epoch, 0) <= after < header.partition_leader_epoch:
        return f"leader epoch {header.partition_leader_epoch} between {epoch} and {after}"
    return None
