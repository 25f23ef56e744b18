"""Bounds the log lines that peers can cause, so that a flood of requests does not flood the log.

rate = LogRate(_log)
if rate.allows((address, reason)):
    _log.warning("refused", extra={"node": shortened(address)})
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_PERIOD_S = 60.0
_LINES = 30
_REMEMBERED = 1024


class LogRate:
    """Allows 30 lines a minute in total, and one a minute about each subject."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        """When a period begins, `logger` gets the number of lines left out in the last one."""
        self._logger = logger
        self._clock = clock
        self._last: OrderedDict[Hashable, float] = OrderedDict()
        """When the last line about each subject was allowed."""
        self._period = clock()
        self._lines = 0
        self._left_out = 0

    def allows(self, subject: Hashable = None) -> bool:
        """Whether a line may be written now; without a subject, only the total counts."""
        now = self._clock()
        if now - self._period >= _PERIOD_S:
            left_out, self._left_out = self._left_out, 0
            self._period, self._lines = now, 0
            if left_out:
                extra = {"count": left_out}
                self._logger.warning("left out lines like those above", extra=extra)
        last = self._last.get(subject) if subject is not None else None
        if self._lines >= _LINES or (last is not None and now - last < _PERIOD_S):
            self._left_out += 1
            return False
        self._lines += 1
        if subject is not None:
            self._last[subject] = now
            self._last.move_to_end(subject)
            if len(self._last) > _REMEMBERED:
                self._last.popitem(last=False)
        return True
