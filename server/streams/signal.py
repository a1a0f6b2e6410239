"""Waking everyone who waits for something to happen, again and again."""

from __future__ import annotations

import asyncio


class Signal:
    """Fires for those who wait at that moment; costs nothing while no one does."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def fire(self) -> None:
        """Wake everyone who waits."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seconds: float | None = None) -> bool:
        """Return True when it fires, False after so many seconds."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            if seconds is None:
                await waiter
                return True
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True
