"""A source that answers as a test says, a clock that is moved by hand, and a store over both."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from server.apis.documents import Document, DocumentRequest, DocumentStore, Fetched
from server.errors import UpstreamUnavailable
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ALL = DocumentRequest("api")
WALL = 1_795_000_000.0


class Time:
    """A clock that is moved by hand; sleeps end when it has come as far."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now

    def wall(self) -> float:
        return WALL + self.now

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, future))
        await future

    async def pass_by(self, seconds: float) -> None:
        """Move on, from one end of a sleep to the next."""
        until = self.now + seconds
        await settle()
        while True:
            due = [at for at, future in self._sleepers if not future.done() and at <= until]
            self.now = max(self.now, min(due, default=until))
            for at, future in self._sleepers:
                if at <= self.now and not future.done():
                    future.set_result(None)
            await settle()
            if not due:
                return

    @property
    def sleepers(self) -> int:
        return sum(not future.done() for _, future in self._sleepers)


class Api:
    """A source that answers with how often it was asked, or as `answer` says."""

    def __init__(self, *, lifetime: float = 60.0, stale_for: float = 3600.0, is_refreshed: bool = False) -> None:
        self.lifetime, self.stale_for, self.is_refreshed = lifetime, stale_for, is_refreshed
        self.asked: list[tuple[Any, ...]] = []
        self.previous: list[Fetched | None] = []
        self.answer: Callable[[int], Fetched] = lambda number: Fetched(number)
        self.gate: asyncio.Event | None = None

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        self.asked.append(key)
        self.previous.append(previous)
        number = len(self.asked)
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        return self.answer(number)

    def fail(self, error: Exception | None = None) -> None:
        def answer(number: int) -> Fetched:
            raise error or UpstreamUnavailable("api failed")

        self.answer = answer


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def store_of(api: Api, **options: Any) -> AsyncIterator[tuple[DocumentStore, Time]]:
    clock = Time()
    store = DocumentStore({"api": api}, clock=clock, wall=clock.wall, sleep=clock.sleep, **options)
    try:
        yield store, clock
    finally:
        await store.close()


async def read(
    store: DocumentStore, request: DocumentRequest = ALL, *, seconds: float | None = None, bypass: bool = False
) -> tuple[Document, str | None]:
    use = CacheContext(bypass=bypass)
    clock = store._clock
    deadline = None if seconds is None else clock() + seconds
    return await store.read(request, deadline=deadline, cache=use), use.status
