"""How many log lines peers can cause: a flood of connections or requests must not flood the log.

rate = LogRate(lambda count: _log.warning("%d more", count))
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


def report_left_out(logger: logging.Logger) -> Callable[[int], None]:
    """Return a `report` for `LogRate` that logs how many lines were left out."""
    return lambda count: logger.warning("left out lines like those above", extra={"count": count})


class LogRate:
    """Allow 30 lines a minute in all, and one a minute about each subject."""

    def __init__(
        self, report: Callable[[int], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`report` gets the number of lines left out in a period, when the next one begins."""
        self._report = report
        self._clock = clock
        self._last: OrderedDict[Hashable, float] = OrderedDict()
        """When the last line about each subject was allowed."""
        self._period = clock()
        self._lines = 0
        self._left_out = 0

    def allows(self, subject: Hashable = None) -> bool:
        """Whether a line may be written now; without a subject it only counts among all lines."""
        now = self._clock()
        if now - self._period >= _PERIOD_S:
            left_out, self._left_out = self._left_out, 0
            self._period, self._lines = now, 0
            if left_out:
                self._report(left_out)
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
