"""Whether an endpoint hangs: takes requests, and gives not a byte back to any of them.

A hung endpoint differs from a slow one, which still answers something, and from one that refuses, which says so at
once. Every byte of it counts, to whichever request. While a request waits for the first sign of life, one light read of
our own (a probe) is sent beside it, because callers give up sooner than an endpoint is called hung.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.upstream.endpoint import Endpoint

HUNG_SECONDS = 5.0
"""An endpoint that gives no byte for so long, while it is asked, hangs."""

HANGS = f"hangs: not a byte within {HUNG_SECONDS:g} s"
"""What is said of such an endpoint."""

LEAVING_SECONDS = 2.0
"""Costly reads leave an endpoint that keeps a light read or probe waiting for so long, if there is another one."""

PROBE_AFTER_SECONDS = 1.0
"""How long nothing may be heard of an endpoint that is asked before it is probed."""

PROBE_SOON_SECONDS = 0.25
"""The same where a costly read waits that could leave: its two seconds begin with the probe."""

PROBE_EVERY_SECONDS = 1.0
"""How often a hung endpoint is probed while its chain is asked."""

DEMAND_SECONDS = 10.0
"""A chain that nobody asked for so long is in no demand: its hung endpoints are not probed."""

_TICK = 0.25
# Timers fire a little early or late: what is due at a tick is done at that tick.
_NEARLY = _TICK / 2
# A loop that did not turn for so long has not listened either: what it missed is nobody's silence.
_STALL = 4 * _TICK
_PROBES = math.ceil(HUNG_SECONDS / PROBE_EVERY_SECONDS)


class HangWatch:
    """Watches one endpoint while it is asked; costs one timer a quarter of a second, and nothing when it is idle.

    `probe` sends a light read and returns whether the endpoint gave any answer within the given seconds, an error or a
    refused connection included. `on_change` is called with True when the endpoint hangs and False when it answers
    again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        probe: Callable[[Endpoint, float], Awaitable[bool]],
        on_change: Callable[[Endpoint, bool], None],
    ) -> None:
        self._endpoint = endpoint
        self._probe = probe
        self._on_change = on_change
        self._timer: asyncio.TimerHandle | None = None
        self._ticked_at = 0.0
        self._since = 0.0
        self._feeling: asyncio.Task[None] | None = None
        self._leavers: set[asyncio.Future[None]] = set()
        self._answered: asyncio.Event | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looking_since = 0.0
        self._wanted_at = 0.0
        self._probes: set[asyncio.Task[None]] = set()

    @property
    def is_hung(self) -> bool:
        """Whether the endpoint hangs."""
        return self._answered is not None

    def start(self) -> None:
        """Take note that a request leaves."""
        if self._timer is None and self._answered is None:
            self._ticked_at = self._since = self._endpoint.clock()
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def suspect(self) -> None:
        """Probe the endpoint, unless that is under way: a request got no answer, and nothing was heard since."""
        if self._feeling is None and self._answered is None:
            self._feeling = asyncio.get_running_loop().create_task(self._feel())
            self._feeling.add_done_callback(self._felt)

    def leaving(self) -> asyncio.Future[None]:
        """Return a future that is done once a light read waited for too long; give it back to `stay`."""
        leaver: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leavers.add(leaver)
        return leaver

    def stay(self, leaver: asyncio.Future[None]) -> None:
        """Forget a future of `leaving`."""
        self._leavers.discard(leaver)
        leaver.cancel()

    def want(self) -> None:
        """Take note that the endpoint's chain is asked: a hung endpoint is probed every second from now on."""
        self._wanted_at = self._endpoint.clock()
        if self._answered is not None and self._looking is None:
            self._looking_since = self._wanted_at
            self._look()

    async def wait(self, seconds: float) -> bool:
        """Return whether a hung endpoint answers again.

        Known at once while it is probed; after a quiet time a probe is given a second, or `seconds` if they are fewer.
        """
        answered = self._answered
        if answered is None:
            return True
        patience = min(PROBE_EVERY_SECONDS - (self._endpoint.clock() - self._looking_since), seconds)
        if patience <= 0:
            return False
        try:
            async with asyncio.timeout(patience):
                await answered.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = [task for task in (self._feeling, self._looking, *self._probes) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tick(self) -> None:
        self._timer = None
        endpoint = self._endpoint
        if self._answered is not None or not endpoint.is_asked:
            return
        now = endpoint.clock()
        if abs(now - self._ticked_at) > _STALL:
            self._since = now
        self._ticked_at = now
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_TICK, self._tick)
        silent = now - max(self._since, endpoint.silent_since)
        kept_waiting = now - max(self._since, endpoint.light_silent_since)
        if kept_waiting >= LEAVING_SECONDS - _NEARLY:
            for leaver in self._leavers:
                if not leaver.done():
                    leaver.set_result(None)
        if silent >= HUNG_SECONDS and kept_waiting >= LEAVING_SECONDS:
            self._hang(now)
        elif silent >= (PROBE_SOON_SECONDS if self._leavers else PROBE_AFTER_SECONDS) - _NEARLY:
            self.suspect()

    async def _feel(self) -> None:
        """Keep one light read waiting for as long as it takes to call the endpoint hung."""
        endpoint, read = self._endpoint, object()
        until = endpoint.clock() + HUNG_SECONDS + _STALL
        # One waiting read, though a connection that does not come about in time makes several of it.
        endpoint.begin(read)
        try:
            while (left := until - endpoint.clock()) > 0:
                if await self._probe(endpoint, left):
                    return
        finally:
            endpoint.end(read)

    def _felt(self, _task: asyncio.Task[None]) -> None:
        self._feeling = None

    def _hang(self, now: float) -> None:
        self._answered = asyncio.Event()
        self._wanted_at = now
        # It was silent for long enough already: nobody waits for the first probe.
        self._looking_since = now - PROBE_EVERY_SECONDS
        if self._feeling is not None:
            self._feeling.cancel()
        self._on_change(self._endpoint, True)
        self._look()

    def _look(self) -> None:
        self._looking = asyncio.get_running_loop().create_task(self._look_on())
        self._looking.add_done_callback(self._looked)

    async def _look_on(self) -> None:
        while self._answered is not None and self._endpoint.clock() - self._wanted_at < DEMAND_SECONDS:
            if len(self._probes) < _PROBES:
                probe = asyncio.get_running_loop().create_task(self._try_again())
                self._probes.add(probe)
                probe.add_done_callback(self._probes.discard)
            await asyncio.sleep(PROBE_EVERY_SECONDS)

    def _looked(self, _task: asyncio.Task[None]) -> None:
        self._looking = None

    async def _try_again(self) -> None:
        if not await self._probe(self._endpoint, HUNG_SECONDS):
            return
        answered, self._answered = self._answered, None
        if answered is not None:
            answered.set()
            self._on_change(self._endpoint, False)
            if self._looking is not None:
                self._looking.cancel()
