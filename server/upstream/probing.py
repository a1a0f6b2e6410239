"""What endpoints are asked beside callers' calls: their state, whether they hang, whether they have recovered."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from server.errors import UpstreamUnavailable
from server.upstream.connector import PLAIN, ProbeResult, Reply
from server.upstream.failures import Failure, Kind, Trouble, trouble_of
from server.upstream.health import AttemptFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from server.upstream.connector import Connector, Payload
    from server.upstream.endpoint import Endpoint
    from server.upstream.health import Health
    from server.upstream.identity import Identity


PROBE_SECONDS = 5.0
"""How long a probe waits for each endpoint."""


class Prober:
    """Probes the endpoints of one chain. `see` takes what an endpoint answered to the light read of `watch`."""

    def __init__(
        self,
        chain: str,
        connectors: Mapping[Endpoint, Connector[Any]],
        identities: Mapping[Endpoint, Identity],
        health: Health,
        see: Callable[[Endpoint, bytes], None],
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._connectors = connectors
        self._identities = identities
        self._health = health
        self._see = see
        self._clock = clock
        self.light: Any = None
        """The encoded read that any endpoint answers; None where it is not found out which ones hang."""

    def watch(self, endpoint: Endpoint) -> None:
        """Find out when the endpoint hangs."""
        if self.light is not None:
            endpoint.watch = HangWatch(endpoint, self._is_alive, self._note_hang)

    async def probe(self, endpoint: Endpoint, call: Any, timeout: float) -> ProbeResult:
        """Return what the endpoint answers within `timeout` seconds, or why it does not; one excluded is not asked."""
        if endpoint.exclusion is not None:
            trouble = Trouble.FORKED if endpoint.wrong_chain is None else Trouble.WRONG_CHAIN
            return self._unavailable(endpoint, endpoint.exclusion, 0.0, trouble)
        if endpoint.is_hung:
            # It is probed every second anyway.
            timeout = min(timeout, PROBE_EVERY_SECONDS)
        started = self._clock()
        identity = self._identities.get(endpoint)
        failure = None if identity is None else await identity.prove(timeout)
        if failure is not None:
            return self._unavailable(endpoint, failure.words, self._clock() - started, trouble_of(failure))
        if endpoint.is_removed:
            return self._unavailable(endpoint, "was taken out of the configuration", 0.0, Trouble.FAILS)
        answer = await self._connectors[endpoint].submit_alone(call, timeout, "probe")
        got = self._health.settle(endpoint, answer, PLAIN)
        if isinstance(got, Reply):
            return ProbeResult(endpoint.label, got.latency, result=got.result)
        trouble = trouble_of(answer.outcome if isinstance(answer.outcome, Failure) else None)
        error = got.final or got.explaining
        if error is None:
            return self._unavailable(endpoint, got.words, answer.exchange.seconds, trouble)
        return ProbeResult(endpoint.label, answer.exchange.seconds, error=error, trouble=trouble)

    async def mirror(self, endpoint: Endpoint, call: Payload[Any]) -> None:
        """Send a copy of a cheap call to a half-open endpoint; what comes back only moves its breaker."""
        try:
            answer = await self._connectors[endpoint].submit_alone(call, PROBE_SECONDS, "probe")
            got = self._health.settle(endpoint, answer, PLAIN)
            if isinstance(got, AttemptFailure) and got.suspect is not None:
                # The call is one that another endpoint answers.
                self._health.convict(endpoint, got.suspect)
        finally:
            endpoint.breaker.release_probe()

    async def _is_alive(self, endpoint: Endpoint, seconds: float) -> bool:
        """Return whether the endpoint answers a light read within the seconds, with whatever it is."""
        answer = await self._connectors[endpoint].submit_alone(self.light, seconds, "probe")
        outcome = answer.outcome
        if isinstance(outcome, Failure) and trouble_of(outcome) is Trouble.HANGS:
            return False
        got = self._health.settle(endpoint, answer, PLAIN, vouches=False)
        if isinstance(got, Reply):
            self._see(endpoint, got.result)
        return True

    def _note_hang(self, endpoint: Endpoint, is_hung: bool) -> None:
        if is_hung:
            endpoint.breaker.hang()
            self._health.announce(endpoint, "hung")
            self._connectors[endpoint].give_up(Failure(Kind.HUNG, HANGS, PROBE_EVERY_SECONDS))
        else:
            endpoint.breaker.revive()
            self._health.announce(endpoint, "answers")

    def _unavailable(self, endpoint: Endpoint, words: str, seconds: float, trouble: Trouble) -> ProbeResult:
        error = UpstreamUnavailable(f"{endpoint.label} of {self._chain} did not answer: {words}")
        return ProbeResult(endpoint.label, seconds, error=error, trouble=trouble)


HUNG_SECONDS = 5.0
"""An endpoint that gives no byte for so long, while it is asked, hangs."""

HANGS = f"hangs: not a byte within {HUNG_SECONDS:g} s"
"""The failure text of such an endpoint."""

LEAVING_SECONDS = 2.0
"""Costly reads leave an endpoint that keeps a light read or probe waiting for so long, if there is another one."""

PROBE_AFTER_SECONDS = 1.0
"""How long an endpoint with a request out may be silent before it is probed."""

PROBE_SOON_SECONDS = 0.25
"""The same where a costly read waits that could leave: its two seconds begin with the probe."""

PROBE_EVERY_SECONDS = 1.0
"""How often a hung endpoint is probed while its chain is asked."""

DEMAND_SECONDS = 10.0
"""A chain without a call for so long is not in use: its hung endpoints are not probed."""

_TICK = 0.25
# Timers fire a little early or late: what is due at a tick is done at that tick.
_NEARLY = _TICK / 2
# A loop that did not turn for so long has read nothing either: that is no silence of the endpoint.
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
        self.is_watching = False
        """Whether the next check of the endpoint is due anyway."""
        self._ticked_at = 0.0
        self._since = 0.0
        self._feeling: asyncio.Task[None] | None = None
        self._leavers: set[asyncio.Future[None]] = set()
        self._answered: asyncio.Event | None = None
        self.is_hung = False
        """Whether the endpoint hangs."""
        self._looking: asyncio.Task[None] | None = None
        self._looking_since = 0.0
        self._wanted_at = 0.0
        self._probes: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Note that a request leaves."""
        if self._timer is None and self._answered is None:
            self._ticked_at = self._since = self._endpoint.clock()
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)
            self.is_watching = True

    def suspect(self) -> None:
        """Probe the endpoint, unless that is under way: a request got no answer, and no byte came since."""
        if self._feeling is None and self._answered is None:
            self._feeling = asyncio.get_running_loop().create_task(self._feel())
            self._feeling.add_done_callback(self._felt)

    def leaving(self) -> asyncio.Future[None]:
        """Return a future that is done once a light read waited for too long; give it back to `stay`."""
        leaver: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leavers.add(leaver)
        return leaver

    def stay(self, leaver: asyncio.Future[None]) -> None:
        """Drop a future of `leaving`."""
        self._leavers.discard(leaver)
        leaver.cancel()

    def want(self) -> None:
        """Note that the endpoint's chain is asked: a hung endpoint is probed every second from now on."""
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
        wait_seconds = min(PROBE_EVERY_SECONDS - (self._endpoint.clock() - self._looking_since), seconds)
        if wait_seconds <= 0:
            return False
        try:
            async with asyncio.timeout(wait_seconds):
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
        self.is_watching = False
        endpoint = self._endpoint
        if self._answered is not None or not endpoint.is_asked:
            return
        now = endpoint.clock()
        if abs(now - self._ticked_at) > _STALL:
            self._since = now
        self._ticked_at = now
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_TICK, self._tick)
        self.is_watching = True
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
        self.is_hung = True
        self._wanted_at = now
        # It was silent for long enough already: no call waits for the first probe.
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
        self.is_hung = False
        if answered is not None:
            answered.set()
            self._on_change(self._endpoint, False)
            if self._looking is not None:
                self._looking.cancel()
