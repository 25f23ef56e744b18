"""Finding the recorded request that a living one is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kraftwire.capture.replay.matching import QUIET, Rules, Shape, distance, is_polled
from kraftwire.capture.replay.miss import Miss, NotRecorded
from kraftwire.capture.replay.tape import Entry
from kraftwire.difference import Difference, as_tree
from kraftwire_wire.message import Message

_MAX_COMPARED = 200
_MAX_DIFFERENCES = 100


class _Group:
    """Recorded requests that are equal in all but their answers, in their order."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.entries: list[tuple[int, Entry]] = []
        self._start = 0

    def next_unused(self, taken: Collection[int]) -> tuple[int, Entry] | None:
        """The first that was not asked for yet, with its place in the recording."""
        while self._start < len(self.entries) and self.entries[self._start][1].is_used:
            self._start += 1
        for at in range(self._start, len(self.entries)):
            place, entry = self.entries[at]
            if not entry.is_used and id(entry) not in taken:
                return place, entry
        return None


class Search:
    """Looks among the entries of a tape; what must be equal is an index."""

    def __init__(self, entries: Mapping[str, list[Entry]], rules: Rules) -> None:
        self._entries = entries
        self._rules = rules
        self._versions = {
            api: sorted({entry.version for entry in recorded}) for api, recorded in entries.items()
        }
        self._index: dict[tuple[str, int, int], dict[Any, list[_Group]]] = {}

    def find(
        self,
        api: str,
        version: int,
        request: Message,
        taken: Collection[int],
        names: Mapping[str, str],
    ) -> Entry | None:
        """The entry to answer with; None for one of defaults, or `NotRecorded`.

        `taken` are the ids of entries that go to other parts of the request, `names` what
        clients call themselves in this run.
        """
        best: tuple[tuple[int, bool, int], Entry] | None = None
        is_used_up = is_quiet = False
        for recorded, asked, group in self._groups(api, version, request):
            far = 2 * distance(asked, group.shape, names) + (recorded != version)
            unused = group.next_unused(taken)
            at, entry = unused or group.entries[-1]
            if unused is None and not is_polled(api):
                is_used_up = True
            elif api in QUIET and (far > 1 or not _is_due(entry)):
                is_quiet = True
            else:
                rank = far, unused is None, at if unused else -at
                if best is None or rank < best[0]:
                    best = rank, entry
        if best is not None or is_quiet:
            return best and best[1]
        if is_used_up:
            raise NotRecorded(Miss(api, version, "asked more often than it was recorded"))
        raise NotRecorded(self._explain(api, version, request))

    def _groups(
        self, api: str, version: int, request: Message
    ) -> Iterator[tuple[int, Shape, _Group]]:
        """What is equal in all that must be, with the version it was recorded in."""
        for recorded in self._versions.get(api, ()):
            asked = self._rules.shape(request, (recorded, version))
            for group in self._indexed(api, recorded, version).get(asked.fixed, ()):
                yield recorded, asked, group

    def _indexed(self, api: str, recorded: int, version: int) -> dict[Any, list[_Group]]:
        key = api, recorded, version
        if key not in self._index:
            index = self._index[key] = defaultdict(list)
            known: dict[Any, _Group] = {}
            for at, entry in enumerate(self._entries[api]):
                if entry.version != recorded:
                    continue
                shape = self._rules.shape(entry.request, (recorded, version))
                same = shape.fixed, frozenset(shape.volatile.items())
                if same not in known:
                    known[same] = _Group(shape)
                    index[shape.fixed].append(known[same])
                known[same].entries.append((at, entry))
        return self._index[key]

    def _explain(self, api: str, version: int, request: Message) -> Miss:
        """What is nearest, and how the request differs from it."""
        name = type(request).__name__
        nearest: tuple[list[Difference], Entry] | None = None
        for entry in self._entries.get(api, ())[:_MAX_COMPARED]:
            common = min(version, entry.version)
            trees = as_tree(request, common), as_tree(entry.request, common)
            found = self._rules.differences(*trees, name)
            if nearest is None or len(found) < len(nearest[0]):
                nearest = found, entry
        if nearest is None:
            return Miss(api, version, "the cassette has no such request")
        differences, entry = nearest
        return Miss(api, version, "was not recorded", entry.number, differences[:_MAX_DIFFERENCES])


def _is_due(entry: Entry) -> bool:
    """Whether what an answer tells of has happened: that others joined or left."""
    return all(change.is_used for change in entry.changes[: entry.behind])
