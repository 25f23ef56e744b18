"""Sets up a node's log: one event per line on standard error, as text or JSON.

Callers log the event in a few words, and its details in `extra`:

    _log.info("is now", extra={"role": "Leader", "epoch": 7})
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up(node_id: int, *, as_json: bool, level: int) -> None:
    """Write the events of `kraftwire` to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines(node_id) if as_json else _Text())
    logger = logging.getLogger("kraftwire")
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False


def _details(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        details = "".join(
            f"  {name}={_format_value(value)}" for name, value in _details(record).items()
        )
        return f"{_time(record)} {record.levelname:7} {record.getMessage()}{details}"


class _JsonLines(logging.Formatter):
    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "time": _time(record),
                "level": record.levelname.lower(),
                "node_id": self._node_id,
                "logger": record.name,
                "event": record.getMessage(),
                **_details(record),
            },
            default=str,
        )


def _format_value(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)
