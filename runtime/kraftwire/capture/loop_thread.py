"""An event loop in a thread of its own, for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_STEP_S = 30.0


class LoopThread:
    """`start` a server in it, then `end` it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self, first: Coroutine[Any, Any, T]) -> T:
        """Start the thread, and run what starts a server; where that fails, it ends again."""
        self._thread.start()
        try:
            return self._run(first)
        except BaseException:
            self._stop()
            raise

    def end(self, last: Coroutine[Any, Any, None]) -> None:
        """Run what closes the server, and end the thread."""
        try:
            self._run(last)
        finally:
            self._stop()

    def _run(self, step: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(_STEP_S)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STEP_S)
        self._loop.close()
