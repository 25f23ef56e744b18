"""What peers did wrong: all of it counted, and logged at a bounded rate.

A line for a peer's address and a reason, and no other like it for a minute; and no more than
so many lines a minute in all, since whoever can flood a server with connections must not be
able to flood its log.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from enum import StrEnum


class Reason(StrEnum):
    """Why a connection was closed that its peer had not closed."""

    SIZE = "the size of a frame"
    NO_ROOM = "no room for long requests"
    UNDECODABLE = "not a request"
    UNKNOWN_API = "an API that is not spoken here"
    UNKNOWN_VERSION = "a version that is not spoken here"
    HALF_FRAME = "no whole request in time"
    IDLE = "idle"
    SLOW_READER = "answers are not read"
    HANDSHAKE = "the TLS handshake"
    FLOOD = "too many connections"


_PERIOD_S = 60.0
_LINES = 30
_REMEMBERED = 1024
_QUIET = frozenset({Reason.IDLE})


class Complaints:
    """Counts by reason, and the log."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` tells seconds."""
        self.counts: Counter[Reason] = Counter()
        self._logger = logger
        self._clock = clock
        self._told: OrderedDict[tuple[str, Reason], float] = OrderedDict()
        self._period = clock()
        self._lines = 0
        self._untold = 0

    def add(self, address: str, peer: str, reason: Reason, detail: object) -> None:
        """The connection of a peer is closed; `address` is the peer without its port."""
        self.counts[reason] += 1
        now = self._clock()
        if now - self._period >= _PERIOD_S:
            self._begin_period(now)
        if reason in _QUIET:
            self._logger.debug("closed %s: %s", peer, reason, extra=_extra(peer, reason))
            return
        told = self._told.get((address, reason))
        if self._lines >= _LINES or (told is not None and now - told < _PERIOD_S):
            self._untold += 1
            return
        self._lines += 1
        self._told[address, reason] = now
        self._told.move_to_end((address, reason))
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        text = str(detail).encode("ascii", "backslashreplace").decode()
        self._logger.warning("closed %s: %s: %s", peer, reason, text, extra=_extra(peer, reason))

    def _begin_period(self, now: float) -> None:
        if self._untold:
            self._logger.warning("%d more connections were closed like those above", self._untold)
        self._period, self._lines, self._untold = now, 0, 0


def _extra(peer: str, reason: Reason) -> dict[str, str]:
    return {"peer": peer, "reason": reason.name.lower()}
