"""Asking endpoints for their head while their chain is in use, and not otherwise."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.upstream.breaker import Circuit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from server.upstream.endpoint import Endpoint
    from server.upstream.headers import Ask, Header
    from server.upstream.heads import HeadTracker

TRAFFIC_SECONDS = 60.0
"""A chain without a call for this long is not polled."""

COMPARED_EVERY = 10.0
"""Seconds between two comparisons of the endpoints' blocks."""

FIRST_LOOK_SECONDS = 1.0
"""How long at most the first reads after a quiet time wait for the endpoints' heads."""

_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 12.0
_LONGEST_TURN = 2.0


@dataclass(frozen=True, slots=True)
class HeadQuery:
    """A family's way to ask a node for its newest block.

    `read` gets the JSON of the result and returns the height (or slot); ValueError if it is none. `judge`, for answers
    that name their chain: see `IdentityCheck`. `made_at`, for answers that hold the block's time, returns it in unix
    seconds. `header` reads the header of a block from one endpoint, by which heads are proved and endpoints compared;
    ValueError where it has none.
    """

    method: str
    params: Sequence[object]
    read: Callable[[bytes], int]
    judge: Callable[[bytes], str | None] | None = None
    made_at: Callable[[bytes], float | None] | None = None
    header: Callable[[Ask, int], Awaitable[Header]] | None = None

    def parse(self, result: bytes) -> tuple[int, float | None]:
        """Return height and time of the newest block, None for a time that is not known; ValueError for no block."""
        return self.read(result), None if self.made_at is None else self.made_at(result)


class HeadPoller:
    """Polls the endpoints that reported no head lately, once a block time (1 to 12 s) while there is traffic.

    Where answers hold the time of a block, a number without it is no head. At the beginning of traffic and every ten
    seconds of it `compare` is started, to check that the endpoints are on the same fork. A pool with one
    endpoint has nothing to compare and has no poller. The first reads after a quiet time may wait (`look`) until it
    is known how far the endpoints are.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        heads: HeadTracker,
        block_time: float,
        poll: Callable[[Endpoint], Coroutine[Any, Any, None]],
        compare: Callable[[], Coroutine[Any, Any, None]],
        clock: Callable[[], float],
    ) -> None:
        self._endpoints = endpoints
        self._heads = heads
        self._pause = min(max(block_time, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        self._poll = poll
        self._compare = compare
        self._clock = clock
        self._asked_at = 0.0
        self._compare_at: float | None = None
        self._comparing: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        # Set once most endpoints agree, or all that can report did, since the chain is in use again.
        self._looked = asyncio.Event()
        self._polls: dict[Endpoint, asyncio.Task[None]] = {}

    def touch(self) -> None:
        """Note that the chain is asked now."""
        self._asked_at = self._clock()
        if self._running is None:
            loop = asyncio.get_running_loop()
            self._looked.clear()
            # An endpoint silent for so long is not waited for any more.
            loop.call_later(FIRST_LOOK_SECONDS, self._looked.set)
            self._running = loop.create_task(self._run())
            self._running.add_done_callback(self._finish)

    @property
    def has_looked(self) -> bool:
        """Whether the endpoints' heads are known, of those that report one."""
        return self._running is None or self._looked.is_set()

    async def look(self, until: float) -> None:
        """Return once that is known, at `until` at the latest: before, a stale endpoint would answer as any other."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(until - self._clock()):
                await self._looked.wait()

    async def close(self) -> None:
        """Stop polling."""
        tasks = [*self._polls.values(), *(task for task in (self._running, self._comparing) if task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while self._clock() - self._asked_at < TRAFFIC_SECONDS:
            for endpoint in filter(self._is_due, self._endpoints):
                # Not waited for: a silent endpoint must not delay the others' reports.
                self._polls[endpoint] = asyncio.get_running_loop().create_task(self._poll_one(endpoint))
            self._look_around()
            self._compare_if_due()
            await asyncio.sleep(min(self._pause, _LONGEST_TURN))

    def _look_around(self) -> None:
        if self._heads.is_agreed or not self._polls:
            self._looked.set()

    def _compare_if_due(self) -> None:
        now = self._clock()
        if self._compare_at is None:
            # Not before it is known how far the endpoints are.
            self._compare_at = now if self._looked.is_set() else None
        elif now >= self._compare_at and (self._comparing is None or self._comparing.done()):
            self._compare_at = now + COMPARED_EVERY
            self._comparing = asyncio.get_running_loop().create_task(self._compare())

    async def _poll_one(self, endpoint: Endpoint) -> None:
        try:
            await self._poll(endpoint)
        finally:
            del self._polls[endpoint]
            self._look_around()

    def _is_due(self, endpoint: Endpoint) -> bool:
        if endpoint in self._polls or endpoint.exclusion is not None or endpoint.paused_for > 0:
            return False
        # An endpoint that rests comes back by answering callers' reads, not by knowing its head.
        if endpoint.breaker.state(self._clock()) is not Circuit.CLOSED:
            return False
        age = self._heads.look_age(endpoint.label)
        return age is None or age >= self._pause

    def _finish(self, _task: asyncio.Task[None]) -> None:
        self._running = None
