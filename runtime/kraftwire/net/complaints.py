"""Counts the connections that a server closed, and logs them at a bounded rate (`log_rate`).

Each pair of an address and a reason gets one line a minute.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from kraftwire.net.log_rate import LogRate
from kraftwire.printing import shortened


class Reason(StrEnum):
    """Why the server closed a connection."""

    SIZE = "the size of a frame"
    NO_ROOM = "too many long requests"
    UNDECODABLE = "not a request"
    UNKNOWN_API = "an unsupported API"
    UNKNOWN_VERSION = "an unsupported version"
    HALF_FRAME = "no complete request in time"
    IDLE = "idle"
    SLOW_READER = "it does not read responses"
    HANDSHAKE = "the TLS handshake"
    FLOOD = "too many connections"


class Complaints:
    """The counts by reason, and the log."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self.counts: Counter[Reason] = Counter()
        self._logger = logger
        self._rate = LogRate(logger, clock)

    def add(self, address: str, peer: str, reason: Reason, detail: object) -> None:
        """Count and log a closed connection; `address` is the peer without its port."""
        self.counts[reason] += 1
        extra = {"peer": peer, "reason": reason.name.lower()}
        if reason is Reason.IDLE:
            self._logger.debug("closed %s: %s", peer, reason, extra=extra)
        elif self._rate.allows((address, reason)):
            text = shortened(detail)
            self._logger.warning("closed %s: %s: %s", peer, reason, text, extra=extra)
