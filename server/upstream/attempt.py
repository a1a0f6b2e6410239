"""One attempt: a request asked of one endpoint, within a share of the time that is left, hedged where that is on.

A hedge is a second question to another endpoint when the first one takes longer than usual. It is off unless a chain's
settings set `hedge`: it buys shorter waits with more requests, so it is bounded: one for twenty calls in the long run,
and never for calls that are known to be heavy or whose cost the outside caller chose.
"""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.tracing import Asker, installed
from server.upstream.connector import Answer, Reply
from server.upstream.failures import Failure, Kind
from server.upstream.health import AttemptFailure
from server.upstream.probing import HANGS, LEAVING_SECONDS
from server.upstream.transport import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping

    from server.errors import GatewayError, NodeWords
    from server.upstream.absence import MissingBlockRetry
    from server.upstream.connector import CallPolicy, Connector, Payload
    from server.upstream.endpoint import Endpoint
    from server.upstream.failover import Selection
    from server.upstream.health import AttemptLog, Health
    from server.upstream.identity import Identity
    from server.upstream.probing import HangWatch
    from server.upstream.single_flight import SharedDeadline
    from server.upstream.transport import Observer

    Outcome = Reply | AttemptFailure
    Runner = asyncio.Task[Outcome]

LONGEST_WAIT = 2.0
"""How long a call waits, at most, for an endpoint that throttles us."""

_RESTING_CALLS = 8
_SHORTEST_ATTEMPT = 1.0
_LONGEST_ATTEMPT = 5.0
_LATENCY_FACTOR = 8
_LONG_ATTEMPT = 10.0

VERIFY_SECONDS = 3.0
"""How long a call waits for an endpoint's chain id, while there are others."""

_HUNG_RETRY = 1.0
_REMOVED = AttemptFailure("was taken out of the configuration")
_KEPT_WAITING = Failure(Kind.TIMED_OUT, f"no answer to a light read within {LEAVING_SECONDS:g} s")

CALLS_PER_HEDGE = 20
"""Calls that earn one hedge."""

_SAVED_HEDGES = 5.0
# A loop's timers are not finer than this.
_SHORTEST_DELAY = 0.005
# The 95th percentile of fewer answers means little.
_SAMPLES = 16


class UpstreamRequest(msgspec.Struct, frozen=True):
    """One call, or bundle of calls: `method` is the key under which endpoints' abilities are kept.

    `is_alone`: it shares its HTTP request with no other.
    """

    method: str
    payload: Payload[Any]
    policy: CallPolicy
    deadline: SharedDeadline
    is_alone: bool


class Attempts:
    """Asks one endpoint at a time; holds what that takes: connectors, identities, health, hedges.

    With `hedges`, a cheap call that takes longer than its endpoint's 95th percentile is asked of one more endpoint.
    """

    def __init__(
        self,
        chain: str,
        connectors: Mapping[Endpoint, Connector[Any]],
        identities: Mapping[Endpoint, Identity],
        selection: Selection,
        health: Health,
        absences: MissingBlockRetry,
        clock: Callable[[], float],
        hedges: Hedges | None = None,
    ) -> None:
        self._chain = chain
        self._connectors = connectors
        self._identities = identities
        self._selection = selection
        self._health = health
        self._absences = absences
        self._clock = clock
        self.hedges = hedges
        """None while slow calls are not asked of a second endpoint."""
        self._is_traced = installed() is not None

    def attempt(
        self, endpoint: Endpoint, request: UpstreamRequest, log: AttemptLog, tried: set[Endpoint], *, is_final: bool
    ) -> Coroutine[Any, Any, Outcome | None]:
        """Return the outcome of asking one endpoint, noted in the log; None if it was passed over.

        `tried` are the endpoints asked so far, this one included; a hedge adds its own. `is_final`: no endpoint is
        asked once more after this round. Raises the error that is an answer.
        """
        if self.hedges is None and not request.is_alone and self.is_ready(endpoint):
            timeout = self._seconds(endpoint, request, tried, is_final=is_final)
            if timeout > 0:
                return self.ask(endpoint, request, timeout, log=log)
        return self._attempt(endpoint, request, log, tried, is_final=is_final)

    async def _attempt(
        self, endpoint: Endpoint, request: UpstreamRequest, log: AttemptLog, tried: set[Endpoint], *, is_final: bool
    ) -> Outcome | None:
        """Return what `attempt` does, of an endpoint that may have to be waited for, left, or joined by another one."""
        if not self.is_ready(endpoint) and not await self.wait_until_ready(endpoint, request.deadline, log, tried):
            return None
        timeout = self._seconds(endpoint, request, tried, is_final=is_final)
        if timeout <= 0:
            return None
        if request.is_alone and endpoint.watch is not None and len(self._selection.endpoints) > 1:
            got = await self.ask(endpoint, request, timeout, lambda: self._is_better(request, tried))
        elif self.hedges is None or request.is_alone:
            got = await self.ask(endpoint, request, timeout)
        else:
            outcomes = await self.hedges.race(
                endpoint,
                timeout,
                lambda one, seconds: self.ask(one, request, seconds),
                lambda: self._spare(request, tried),
            )
            for one, lost in outcomes[:-1]:
                self._note(one, lost, log)
            endpoint, got = outcomes[-1]
        if log.suspects or not isinstance(got, Reply):
            self._note(endpoint, got, log)
        return got

    async def ask(
        self,
        endpoint: Endpoint,
        request: UpstreamRequest,
        timeout: float,
        may_leave: Callable[[], bool] | None = None,
        log: AttemptLog | None = None,
    ) -> Outcome:
        """Return what one endpoint answers, after its state is updated; with a log, noted in that as well.

        With `may_leave` an endpoint that keeps light reads waiting is left as soon as that returns True. Raises the
        error that is an answer where there is a log.
        """
        if endpoint.is_removed:
            # Since the call chose it: another one is asked instead.
            return _REMOVED
        connector, policy = self._connectors[endpoint], request.policy
        identity = self._identities.get(endpoint)
        if identity is not None and request.is_alone and not isinstance(request.payload, tuple):
            identity.watch()
        asker = self._asker(request) if self._is_traced else None
        endpoint.in_flight += 1
        try:
            if may_leave is not None and endpoint.watch is not None:
                answer = await self._ask_watched(connector, endpoint.watch, request, timeout, may_leave, asker)
            elif request.is_alone:
                answer = await connector.submit_alone(request.payload, timeout, asker=asker)
            else:
                answer = await connector.submit(
                    request.payload, timeout, held=policy.held, is_last=policy.is_last, asker=asker
                )
        finally:
            endpoint.in_flight -= 1
        if identity is not None and not policy.names_chain:
            # Not before: the calls that shared its request were proved with it.
            identity.watch()
        got = self._health.settle(endpoint, answer, policy)
        block = policy.min_block
        if isinstance(got, Reply):
            if got.result != b"null":
                is_old = block is not None and self._absences.is_old(block)
                endpoint.learned.serve(request.method, block, is_old=is_old)
        elif got.lacks == "method" or (got.lacks and block is not None and not self._absences.is_fresh(block)):
            endpoint.learned.refuse(request.method, got.lacks, block)
        if log is not None and (log.suspects or not isinstance(got, Reply)):
            self._note(endpoint, got, log)
        return got

    def _asker(self, request: UpstreamRequest) -> Asker:
        shared = request.deadline
        shared.attempts += 1
        return Asker(request.method, shared.attempts, shared.readers or ())

    def is_ready(self, endpoint: Endpoint) -> bool:
        """Return whether the endpoint may be asked without any wait."""
        identity = self._identities.get(endpoint)
        return endpoint.is_sound and endpoint.paused_for <= 0 and (identity is None or identity.is_proved)

    async def wait_until_ready(
        self, endpoint: Endpoint, deadline: SharedDeadline, log: AttemptLog, tried: Collection[Endpoint]
    ) -> bool:
        """Return whether the endpoint may be asked now, after a short wait if it asked for one."""
        paused = endpoint.paused_for
        if paused > 0:
            if paused > min(LONGEST_WAIT, deadline.until - self._clock()):
                log.note(endpoint.label, AttemptFailure(f"throttled for {paused:.0f} s", retry_after=paused))
                return False
            await asyncio.sleep(paused)
        if endpoint.watch is not None and endpoint.watch.is_hung:
            if not await endpoint.watch.wait(deadline.until - self._clock()):
                log.note(endpoint.label, AttemptFailure(HANGS, retry_after=_HUNG_RETRY))
                return False
        elif not endpoint.is_sound and not endpoint.breaker.is_slow and endpoint.in_flight >= _RESTING_CALLS:
            log.note(endpoint.label, AttemptFailure("resting after failures"))
            return False
        identity = self._identities.get(endpoint)
        if identity is not None and not identity.is_proved:
            share = self._share(deadline, tried)
            # With no other endpoint to ask, it is waited for as for any answer.
            seconds = share if share >= deadline.until - self._clock() else min(share, VERIFY_SECONDS)
            failure = await identity.prove(max(seconds, 0.0))
            if failure is not None:
                silent, slow = failure.kind is Kind.HUNG, failure.kind is Kind.TIMED_OUT
                unproved = AttemptFailure(
                    failure.words, retry_after=failure.retry_after, is_silent=silent, is_slow=slow
                )
                log.note(endpoint.label, unproved)
                return False
        return True

    async def _ask_watched(
        self,
        connector: Connector[Any],
        watch: HangWatch,
        request: UpstreamRequest,
        timeout: float,
        may_leave: Callable[[], bool],
        asker: Asker | None,
    ) -> Answer:
        started = self._clock()
        sending = asyncio.get_running_loop().create_task(connector.submit_alone(request.payload, timeout, asker=asker))
        try:
            while True:
                leaver = watch.leaving()
                try:
                    await asyncio.wait((sending, leaver), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    watch.stay(leaver)
                if sending.done():
                    return sending.result()
                if may_leave():
                    return Answer(_KEPT_WAITING, Exchange(started))
        finally:
            sending.cancel()

    def _is_better(self, request: UpstreamRequest, tried: Collection[Endpoint]) -> bool:
        """Return whether an endpoint that was not asked yet can be asked instead."""
        other = self._selection.next(request.method, request.policy, tried)
        return other is not None and other.is_sound and other.paused_for <= 0

    def _note(self, endpoint: Endpoint, got: Outcome, log: AttemptLog) -> None:
        """Write an outcome into the log; raises the error that is an answer."""
        if isinstance(got, AttemptFailure) and got.final is None:
            log.note(endpoint.label, got)
            if got.suspect is not None:
                log.suspects.append((endpoint, got.suspect))
            return
        for suspect, exchange in log.suspects:
            self._health.convict(suspect, exchange)
        log.suspects.clear()
        if isinstance(got, AttemptFailure) and got.final is not None:
            raise _raised(got.final, got.node)

    def _spare(self, request: UpstreamRequest, tried: set[Endpoint]) -> Endpoint | None:
        """Return one more endpoint in full health for a hedge, counted as tried; None if there is none."""
        other = self._selection.spare(request.method, request.policy, tried)
        if other is None:
            return None
        identity = self._identities.get(other)
        if identity is not None and not identity.is_proved:
            return None
        tried.add(other)
        return other

    def _seconds(
        self, endpoint: Endpoint, request: UpstreamRequest, tried: Collection[Endpoint], *, is_final: bool
    ) -> float:
        """Return how long to wait for the endpoint, so that a silent one leaves time for the others.

        In the final round the time that is left is shared with those still to be asked: the last one, which may be
        merely slow, gets all of it.
        """
        deadline, policy = request.deadline, request.policy
        left = deadline.until - self._clock()
        if policy.heavy or policy.caller_made:
            return min(left, max(self._share(deadline, tried), _LONG_ATTEMPT))
        p95 = endpoint.latency.p95
        usual = _LONGEST_ATTEMPT if p95 is None else p95 * _LATENCY_FACTOR
        usual = max(_SHORTEST_ATTEMPT, min(usual, _LONGEST_ATTEMPT))
        return min(left, max(usual, self._share(deadline, tried)) if is_final else usual)

    def _share(self, deadline: SharedDeadline, tried: Collection[Endpoint]) -> float:
        """Return the seconds that one endpoint gets if those still to be asked get as many."""
        left = deadline.until - self._clock()
        longest_wait = min(LONGEST_WAIT, left)
        others = sum(
            other not in tried and other.exclusion is None and not other.is_hung and other.paused_for <= longest_wait
            for other in self._selection.endpoints
        )
        return left / (1 + others)


class Hedges:
    """The hedges of one chain: which endpoints race, and what may be spent on it."""

    def __init__(self, chain: str, observer: Observer) -> None:
        self._chain = chain
        self._observer = observer
        self._saved = 1.0
        self._losers: set[Runner] = set()

    async def race(
        self,
        endpoint: Endpoint,
        timeout: float,
        ask: Callable[[Endpoint, float], Coroutine[Any, Any, Outcome]],
        spare: Callable[[], Endpoint | None],
    ) -> list[tuple[Endpoint, Outcome]]:
        """Ask the endpoint, and one more (`spare`) if it takes longer than its 95th percentile.

        The first answer that is not `null` wins, then a `null`. Returned are the outcomes that are in, the winner's at
        the end. The slower question is left to end in the background, so that its endpoint's state is right.
        """
        self._saved = min(self._saved + 1.0 / CALLS_PER_HEDGE, _SAVED_HEDGES)
        usual = endpoint.latency.p95
        if usual is None or endpoint.latency.count < _SAMPLES or self._saved < 1.0 or usual >= timeout:
            return [(endpoint, await ask(endpoint, timeout))]
        delay = max(usual, _SHORTEST_DELAY)
        create = asyncio.get_running_loop().create_task
        runners: dict[Runner, Endpoint] = {create(ask(endpoint, timeout)): endpoint}
        try:
            done, _ = await asyncio.wait(runners, timeout=delay)
            if not done and self._saved >= 1.0 and (other := spare()) is not None:
                self._saved -= 1.0
                self._observer.hedged(self._chain, other.label)
                runners[create(ask(other, timeout - delay))] = other
            return await _first_of(runners)
        except asyncio.CancelledError:
            for runner in runners:
                runner.cancel()
            raise
        finally:
            for runner in runners:
                if not runner.done():
                    self._losers.add(runner)
                    runner.add_done_callback(self._losers.discard)

    async def close(self) -> None:
        """Cancel the questions that another endpoint answered sooner."""
        losers = list(self._losers)
        for runner in losers:
            runner.cancel()
        await asyncio.gather(*losers, return_exceptions=True)


async def _first_of(runners: dict[Runner, Endpoint]) -> list[tuple[Endpoint, Outcome]]:
    failed: list[tuple[Endpoint, Outcome]] = []
    empty: list[tuple[Endpoint, Outcome]] = []
    pending = set(runners)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for runner in done:
            got = runner.result()
            if isinstance(got, Reply):
                if got.result != b"null":
                    return [*failed, *empty, (runners[runner], got)]
                empty.append((runners[runner], got))
            elif got.final is not None:
                return [*failed, *empty, (runners[runner], got)]
            else:
                failed.append((runners[runner], got))
    return [*failed, *empty]


def _raised(final: GatewayError, node: NodeWords | None) -> GatewayError:
    """Return a copy to raise: the frames that its traceback will hold refer to the original, and none to the copy."""
    error = copy.copy(final)
    error.node = node
    return error
