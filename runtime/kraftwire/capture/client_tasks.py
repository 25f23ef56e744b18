"""The connections of clients that a server has, each in a task, so that all can be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class ClientTasks:
    """`serving` around what serves a client; `end` when the server closes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many clients there are."""
        return len(self._tasks)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Count the task that this runs in among those that `end` cancels."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def end(self) -> None:
        """Cancel all, and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # one turn of the loop, in which closed transports let go
