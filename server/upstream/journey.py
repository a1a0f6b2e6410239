"""The way of one call through the endpoints of its chain."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from server.upstream.health import Health, Setback
from server.upstream.policy import CallPolicy, Reply
from server.upstream.trail import Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.upstream.batching import Batcher, Cargo
    from server.upstream.endpoint import Endpoint
    from server.upstream.identity import Identity
    from server.upstream.joining import Patience
    from server.upstream.selection import Selection

_ROUNDS = 2
# Loops count time in milliseconds: a timer may fire that much before its moment.
_TICK = 0.005
_ROUND_PAUSE = 0.1
_LONGEST_WAIT = 2.0
_RESTING_CALLS = 8
_SHORTEST_ATTEMPT = 1.0
_LONGEST_ATTEMPT = 5.0
_LATENCY_FACTOR = 8
_LONG_ATTEMPT = 10.0


class Router:
    """What the journeys of one pool share: endpoints, their batchers and checks, selection and health."""

    def __init__(
        self,
        chain: str,
        batchers: Mapping[Endpoint, Batcher],
        identities: Mapping[Endpoint, Identity],
        selection: Selection,
        health: Health,
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._batchers = batchers
        self._identities = identities
        self._selection = selection
        self._health = health
        self._clock = clock

    async def route(self, call: Cargo, policy: CallPolicy, patience: Patience) -> Reply:
        """Return the first usable answer; raises the GatewayError that tells why there is none.

        A bundle is answered by one endpoint as a whole, or asked of the next one as a whole.

        The endpoints are asked one after the other. If all of them failed, those that may have failed by accident are
        asked a second time after a short pause. A `null` that the policy doubts is checked at one more sound endpoint.
        """
        trail = Trail(self._chain)
        hopeless: set[Endpoint] = set()
        # What the outside caller chose may be what breaks the node: it is not tried on everybody twice.
        for number in range(1 if policy.caller_made else _ROUNDS):
            if number > 0 and not await self._pause(hopeless, patience):
                break
            tried = set(hopeless)
            while (endpoint := self._selection.next(policy, tried)) is not None:
                tried.add(endpoint)
                got = await self._attempt(
                    endpoint, call, policy, patience, trail, is_last=len(tried) == len(self._batchers)
                )
                if isinstance(got, Reply):
                    if policy.null_elsewhere and got.result == b"null":
                        return await self._doubt(got, call, policy, patience, tried)
                    return got
                if got is not None and got.is_lasting:
                    hopeless.add(endpoint)
                if self._is_over(patience):
                    raise trail.late()
        for endpoint in self._batchers:
            if endpoint.exclusion is not None:
                trail.note(endpoint.label, Setback(endpoint.exclusion))
        raise trail.exhausted()

    def _is_over(self, patience: Patience) -> bool:
        return patience.until - self._clock() <= _TICK

    async def _attempt(
        self, endpoint: Endpoint, call: Cargo, policy: CallPolicy, patience: Patience, trail: Trail, *, is_last: bool
    ) -> Reply | Setback | None:
        """Return the outcome of asking one endpoint, noted in the trail; None if it was passed over."""
        if not await self._is_open(endpoint, patience, trail):
            return None
        timeout = self._attempt_seconds(endpoint, policy, patience, is_last=is_last)
        if timeout <= 0:
            return None
        batcher = self._batchers[endpoint]
        endpoint.in_flight += 1
        try:
            if policy.heavy or policy.caller_made or isinstance(call, tuple):
                answer = await batcher.submit_alone(call, timeout)
            else:
                answer = await batcher.submit(call, timeout)
        finally:
            endpoint.in_flight -= 1
        got = self._health.settle(endpoint, answer, policy)
        if isinstance(got, Setback):
            if got.final is not None:
                raise got.final
            trail.note(endpoint.label, got)
        return got

    async def _is_open(self, endpoint: Endpoint, patience: Patience, trail: Trail) -> bool:
        """Return whether the endpoint may be asked now, after a short wait if it asked for one."""
        paused = endpoint.paused_for
        if paused > 0:
            if paused > min(_LONGEST_WAIT, patience.until - self._clock()):
                trail.note(endpoint.label, Setback(f"throttled for {paused:.0f} s", retry_after=paused))
                return False
            await asyncio.sleep(paused)
        if not endpoint.is_sound and endpoint.in_flight >= _RESTING_CALLS:
            trail.note(endpoint.label, Setback("resting after failures"))
            return False
        identity = self._identities.get(endpoint)
        if identity is not None and not identity.is_proved:
            failure = await identity.prove()
            if failure is not None:
                trail.note(endpoint.label, Setback(failure.words, retry_after=failure.retry_after))
                return False
        return True

    def _attempt_seconds(self, endpoint: Endpoint, policy: CallPolicy, patience: Patience, *, is_last: bool) -> float:
        """Return how long to wait for the endpoint, so that a silent one leaves time for the others."""
        left = patience.until - self._clock()
        if policy.heavy or policy.caller_made:
            return left if is_last else min(left, max(left / len(self._batchers), _LONG_ATTEMPT))
        p95 = endpoint.latency.p95
        usual = _LONGEST_ATTEMPT if p95 is None else p95 * _LATENCY_FACTOR
        return min(left, max(_SHORTEST_ATTEMPT, min(usual, _LONGEST_ATTEMPT)))

    async def _pause(self, hopeless: set[Endpoint], patience: Patience) -> bool:
        """Wait before the second round; return False if there is nobody to ask again or no time left."""
        waits = [
            endpoint.paused_for
            for endpoint in self._batchers
            if endpoint not in hopeless and endpoint.is_sound and endpoint.paused_for <= _LONGEST_WAIT
        ]
        if not waits:
            return False
        wait = max(min(waits), _ROUND_PAUSE * (0.5 + random.random()))
        if patience.until - self._clock() <= wait:
            return False
        await asyncio.sleep(wait)
        return True

    async def _doubt(
        self, null: Reply, call: Cargo, policy: CallPolicy, patience: Patience, tried: set[Endpoint]
    ) -> Reply:
        """Return one more sound endpoint's answer to a call that was answered `null`, else that `null`."""
        other = self._selection.next(policy, tried)
        if other is None or not other.is_sound or other.paused_for > 0:
            return null
        got = await self._attempt(other, call, policy, patience, Trail(self._chain), is_last=False)
        return got if isinstance(got, Reply) else null
