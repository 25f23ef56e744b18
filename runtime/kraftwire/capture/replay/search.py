"""Finding the recorded request that a living one is.

What must be equal is an index. Of what is equal in that, the nearest is chosen, among so many
that a search takes the same time in a long recording as in a short one: the next that were
not used, the last that were, and whatever is equal in all. Secrets are never in what is said
of a request that was not recorded.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any

from kraftwire.capture.redacting import redact_message
from kraftwire.capture.replay.matching import QUIET, Rules, Shape, distance, is_polled
from kraftwire.capture.replay.miss import Miss, NotRecorded
from kraftwire.capture.replay.tape import Entry
from kraftwire.difference import Difference, as_tree
from kraftwire.redaction import REDACTED
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

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

    @property
    def is_used_up(self) -> bool:
        """Whether all were asked for."""
        return self.next_unused(()) is None


class _Alike:
    """Groups that are equal in what must be; those that are used up stand apart."""

    def __init__(self) -> None:
        self._all: dict[Any, _Group] = {}
        self._open: OrderedDict[int, _Group] = OrderedDict()
        self._used_up: list[_Group] = []

    def add(self, shape: Shape, at: int, entry: Entry) -> None:
        """A recorded request, in their order."""
        volatile = _volatile(shape)
        if volatile not in self._all:
            self._all[volatile] = self._open[len(self._all)] = _Group(shape)
        self._all[volatile].entries.append((at, entry))

    def candidates(self, asked: Shape) -> list[_Group]:
        """Those worth a look: the one that is equal in all, and so many more."""
        found: list[_Group] = []
        used_up: list[int] = []
        for number, group in self._open.items():
            if group.is_used_up:
                used_up.append(number)
                continue
            found.append(group)
            if len(found) == _MAX_COMPARED:
                break
        self._used_up += [self._open.pop(number) for number in used_up]
        found += self._used_up[-_MAX_COMPARED:]
        same = self._all.get(_volatile(asked))
        return found if same is None or same in found else [*found, same]


class Search:
    """See the module."""

    def __init__(
        self, entries: Mapping[str, list[Entry]], rules: Rules, registry: Registry
    ) -> None:
        self._entries = entries
        self._rules = rules
        self._registry = registry
        self._versions = {
            api: sorted({entry.version for entry in recorded}) for api, recorded in entries.items()
        }
        self._index: dict[tuple[str, int, int], dict[Any, _Alike]] = {}

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
            alike = self._indexed(api, recorded, version).get(asked.fixed)
            for group in alike.candidates(asked) if alike else ():
                yield recorded, asked, group

    def _indexed(self, api: str, recorded: int, version: int) -> dict[Any, _Alike]:
        key = api, recorded, version
        if key not in self._index:
            index = self._index[key] = defaultdict(_Alike)
            for at, entry in enumerate(self._entries[api]):
                if entry.version != recorded:
                    continue
                shape = self._rules.shape(entry.request, (recorded, version))
                index[shape.fixed].add(shape, at, entry)
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
        found, entry = nearest
        shown = self._without_secrets(found[:_MAX_DIFFERENCES], request, entry, version)
        return Miss(api, version, "was not recorded", entry.number, shown)

    def _without_secrets(
        self, found: list[Difference], request: Message, entry: Entry, version: int
    ) -> list[Difference]:
        """The differences with what may be said of either side; the paths stay."""
        trees = []
        for message in (request, entry.request):
            copy = deepcopy(message)
            redact_message(copy, self._registry)
            trees.append(as_tree(copy, min(version, entry.version)))
        name = type(request).__name__
        harmless = {each.path: each for each in self._rules.differences(trees[0], trees[1], name)}
        return [harmless.get(each.path) or _hidden(each) for each in found]


def _hidden(found: Difference) -> Difference:
    return found._replace(actual=REDACTED, expected=REDACTED)


def _volatile(shape: Shape) -> frozenset[tuple[tuple[str, str], int]]:
    return frozenset(shape.volatile.items())


def _is_due(entry: Entry) -> bool:
    """Whether what an answer tells of has happened: that others joined or left."""
    return all(change.is_used for change in entry.changes[: entry.behind])
