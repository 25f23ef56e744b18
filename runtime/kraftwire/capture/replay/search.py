"""Finds the recorded request that a live request matches.

An index finds the requests that are equal in all fields that must be equal. The nearest of them is
chosen. Only a limited number is compared, so that a long recording takes no more time than a short
one: the next unused ones, the last used ones, and the one that is equal in all fields. The report
about a request that was not recorded never contains secrets.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any

from kraftwire.capture.frame_redaction import redact_message
from kraftwire.capture.replay.matching import QUIET, MatchRules, RequestShape, distance, is_polled
from kraftwire.capture.replay.miss import Miss, NotRecorded
from kraftwire.capture.replay.tape import RecordedRequest
from kraftwire.difference import Difference, as_tree
from kraftwire.redaction import REDACTED
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

_MAX_COMPARED = 200
_MAX_DIFFERENCES = 100


class _EqualRequests:
    """Recorded requests that differ only in their answers, in order."""

    def __init__(self, shape: RequestShape) -> None:
        self.shape = shape
        self.entries: list[tuple[int, RecordedRequest]] = []
        self._start = 0

    def next_unused(self, taken: Collection[int]) -> tuple[int, RecordedRequest] | None:
        """Return the first unused request, with its index in the recording."""
        while self._start < len(self.entries) and self.entries[self._start][1].is_used:
            self._start += 1
        for at in range(self._start, len(self.entries)):
            place, entry = self.entries[at]
            if not entry.is_used and id(entry) not in taken:
                return place, entry
        return None


class _SimilarRequests:
    """Groups that differ only in volatile fields; used-up groups are separate."""

    def __init__(self) -> None:
        self._all: dict[Any, _EqualRequests] = {}
        self._open: OrderedDict[int, _EqualRequests] = OrderedDict()
        self._used_up: list[_EqualRequests] = []

    def add(self, shape: RequestShape, at: int, entry: RecordedRequest) -> None:
        """Add the next recorded request."""
        volatile = _volatile(shape)
        if volatile not in self._all:
            self._all[volatile] = self._open[len(self._all)] = _EqualRequests(shape)
        self._all[volatile].entries.append((at, entry))

    def candidates(self, shape: RequestShape) -> list[_EqualRequests]:
        """Return the groups to compare: a limited number, and the one equal in all fields."""
        found: list[_EqualRequests] = []
        used_up: list[int] = []
        for number, group in self._open.items():
            if group.next_unused(()) is None:
                used_up.append(number)
                continue
            found.append(group)
            if len(found) == _MAX_COMPARED:
                break
        self._used_up += [self._open.pop(number) for number in used_up]
        found += self._used_up[-_MAX_COMPARED:]
        same = self._all.get(_volatile(shape))
        return found if same is None or same in found else [*found, same]


class RequestSearch:
    """Searches the recorded requests of a tape."""

    def __init__(
        self, entries: Mapping[str, list[RecordedRequest]], rules: MatchRules, registry: Registry
    ) -> None:
        self._entries = entries
        self._rules = rules
        self._registry = registry
        self._versions = {
            api: sorted({entry.version for entry in recorded}) for api, recorded in entries.items()
        }
        self._index: dict[tuple[str, int, int], dict[Any, _SimilarRequests]] = {}

    def find(
        self,
        api: str,
        version: int,
        request: Message,
        taken: Collection[int],
        names: Mapping[str, str],
    ) -> RecordedRequest | None:
        """Return the recorded request that has the answer; None to answer with defaults.

        Raise `NotRecorded`. `taken` has the `id()`s of those that answer other parts of the
        request; `names` maps the recorded ids of clients to those of this run.
        """
        best: tuple[tuple[int, bool, int], RecordedRequest] | None = None
        is_used_up = is_quiet = False
        for recorded, shape, group in self._groups(api, version, request):
            far = 2 * distance(shape, group.shape, names) + (recorded != version)
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
            raise NotRecorded(Miss(api, version, "asked more often than recorded"))
        raise NotRecorded(self._explain(api, version, request))

    def _groups(
        self, api: str, version: int, request: Message
    ) -> Iterator[tuple[int, RequestShape, _EqualRequests]]:
        """Yield the groups that may match, with the version they were recorded in."""
        for recorded in self._versions.get(api, ()):
            shape = self._rules.shape(request, (recorded, version))
            similar = self._indexed(api, recorded, version).get(shape.fixed)
            for group in similar.candidates(shape) if similar else ():
                yield recorded, shape, group

    def _indexed(self, api: str, recorded: int, version: int) -> dict[Any, _SimilarRequests]:
        key = api, recorded, version
        if key not in self._index:
            index = self._index[key] = defaultdict(_SimilarRequests)
            for at, entry in enumerate(self._entries[api]):
                if entry.version != recorded:
                    continue
                shape = self._rules.shape(entry.request, (recorded, version))
                index[shape.fixed].add(shape, at, entry)
        return self._index[key]

    def _explain(self, api: str, version: int, request: Message) -> Miss:
        """Report the nearest recorded request, and how this one differs from it."""
        name = type(request).__name__
        nearest: tuple[list[Difference], RecordedRequest] | None = None
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
        self, found: list[Difference], request: Message, entry: RecordedRequest, version: int
    ) -> list[Difference]:
        """Replace secret values in differences; the paths stay."""
        trees = []
        for message in (request, entry.request):
            copy = deepcopy(message)
            redact_message(copy, self._registry)
            trees.append(as_tree(copy, min(version, entry.version)))
        name = type(request).__name__
        harmless = {each.path: each for each in self._rules.differences(trees[0], trees[1], name)}
        hidden = {"actual": REDACTED, "expected": REDACTED}
        return [harmless.get(each.path) or each._replace(**hidden) for each in found]


def _volatile(shape: RequestShape) -> frozenset[tuple[tuple[str, str], int]]:
    return frozenset(shape.volatile.items())


def _is_due(entry: RecordedRequest) -> bool:
    """Whether the joins and leaves that an answer announces have happened in this run."""
    return all(change.is_used for change in entry.changes[: entry.changes_before])
