"""The way of one call through the endpoints of its chain."""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from server.errors import ArchiveRequired, GatewayError, NotFound
from server.upstream.health import Health, Setback
from server.upstream.policy import CallPolicy, Reply
from server.upstream.trail import Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.upstream.absence import Absences
    from server.upstream.carrier import Cargo, Carrier
    from server.upstream.endpoint import Endpoint
    from server.upstream.hedging import Hedges
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


@dataclass(frozen=True, slots=True)
class Errand:
    """One call, or bundle of calls, on its way: `method` is what endpoints are known by to be able to do it or not."""

    method: str
    cargo: Cargo
    policy: CallPolicy
    patience: Patience

    @property
    def is_alone(self) -> bool:
        """Whether it shares its request with no other."""
        return self.policy.heavy or self.policy.caller_made or isinstance(self.cargo, tuple)


class Router:
    """What the journeys of one pool share: endpoints, their carriers and checks, selection and health.

    With `hedges`, a cheap call that takes longer than its endpoint's 95th percentile is asked of one more endpoint.
    """

    def __init__(
        self,
        chain: str,
        carriers: Mapping[Endpoint, Carrier],
        identities: Mapping[Endpoint, Identity],
        selection: Selection,
        health: Health,
        absences: Absences,
        clock: Callable[[], float],
        hedges: Hedges | None = None,
    ) -> None:
        self._chain = chain
        self._carriers = carriers
        self._identities = identities
        self._selection = selection
        self._health = health
        self._absences = absences
        self._clock = clock
        self._hedges = hedges

    async def route(self, errand: Errand) -> Reply:
        """Return the first usable answer; raises the GatewayError that tells why there is none.

        A bundle is answered by one endpoint as a whole, or asked of the next one as a whole. What a fresh block lacks
        everywhere is asked for again a few times, paced by the block time.
        """
        policy, tries = errand.policy, 0
        while True:
            tries += 1
            try:
                reply = await self._ask_around(errand)
            except (ArchiveRequired, NotFound) as error:
                if not await self._absences.wait(policy.min_block, tries, errand.patience.until):
                    raise self._with_oldest(error, errand) from None
                continue
            if reply.result != b"null" or not policy.null_elsewhere:
                return reply
            if not await self._absences.wait(policy.min_block, tries, errand.patience.until):
                return reply

    async def _ask_around(self, errand: Errand) -> Reply:
        """Ask the endpoints one after the other, best first.

        If all of them failed, those that may have failed by accident are asked a second time after a short pause. A
        `null` that the policy doubts is checked at one more sound endpoint.
        """
        trail = Trail(self._chain)
        policy, patience = errand.policy, errand.patience
        hopeless: set[Endpoint] = set()
        slow: set[Endpoint] = set()
        # What the outside caller chose may be what breaks the node: it is not tried on everybody twice.
        rounds = 1 if policy.caller_made else _ROUNDS
        for number in range(rounds):
            if number > 0 and not await self._pause(hopeless, slow, patience):
                break
            tried = set(hopeless)
            while (endpoint := self._selection.next(errand.method, policy, tried)) is not None:
                tried.add(endpoint)
                got = await self._attempt(endpoint, errand, trail, tried, is_final=number == rounds - 1)
                if isinstance(got, Reply):
                    if policy.null_elsewhere and got.result == b"null":
                        return await self._doubt(got, errand, tried)
                    return replace(got, refusals=trail.refusals) if trail.refusals else got
                if got is not None and got.is_lasting:
                    hopeless.add(endpoint)
                if got is not None and got.is_slow:
                    slow.add(endpoint)
                if self._is_over(patience):
                    raise trail.late()
        for endpoint in self._carriers:
            if endpoint.exclusion is not None:
                trail.note(endpoint.label, Setback(endpoint.exclusion))
        raise trail.exhausted()

    def _is_over(self, patience: Patience) -> bool:
        return patience.until - self._clock() <= _TICK

    async def _attempt(
        self, endpoint: Endpoint, errand: Errand, trail: Trail, tried: set[Endpoint], *, is_final: bool
    ) -> Reply | Setback | None:
        """Return the outcome of asking one endpoint, noted in the trail; None if it was passed over.

        `tried` are the endpoints asked so far, this one included; a hedge adds its own. `is_final`: nobody is asked
        once more after this round.
        """
        if not await self._is_open(endpoint, errand.patience, trail, tried):
            return None
        timeout = self._attempt_seconds(endpoint, errand, tried, is_final=is_final)
        if timeout <= 0:
            return None
        if self._hedges is None or errand.is_alone:
            return self._note(endpoint, await self._ask(endpoint, errand, timeout), trail)
        outcomes = await self._hedges.race(
            endpoint, timeout, lambda one, seconds: self._ask(one, errand, seconds), lambda: self._spare(errand, tried)
        )
        for one, got in outcomes[:-1]:
            self._note(one, got, trail)
        return self._note(*outcomes[-1], trail)

    async def _ask(self, endpoint: Endpoint, errand: Errand, timeout: float) -> Reply | Setback:
        """Return what one endpoint answers, after its account is brought up to date."""
        carrier = self._carriers[endpoint]
        identity = self._identities.get(endpoint)
        if identity is not None and isinstance(errand.cargo, bytes) and errand.is_alone:
            identity.watch()
        endpoint.in_flight += 1
        try:
            if errand.is_alone:
                answer = await carrier.submit_alone(errand.cargo, timeout)
            else:
                held = errand.policy.held
                answer = await carrier.submit(errand.cargo, timeout, held=held)  # type: ignore[arg-type]
        finally:
            endpoint.in_flight -= 1
        if identity is not None and not errand.policy.names_chain:
            # Not before: what shared its request was proved with it.
            identity.watch()
        got = self._health.settle(endpoint, answer, errand.policy)
        self._learn(endpoint, errand, got)
        return got

    def _note(self, endpoint: Endpoint, got: Reply | Setback, trail: Trail) -> Reply | Setback:
        """Write an outcome into the trail; raises the error that is an answer."""
        if isinstance(got, Setback) and got.final is None:
            trail.note(endpoint.label, got)
            if got.suspect is not None:
                trail.suspect(endpoint, got.suspect)
            return got
        for suspect, exchange in trail.take_suspects():
            self._health.convict(suspect, exchange)
        if isinstance(got, Setback) and got.final is not None:
            # A copy: this frame, which its traceback holds, holds the original.
            raise copy.copy(got.final)
        return got

    def _learn(self, endpoint: Endpoint, errand: Errand, got: Reply | Setback) -> None:
        block = errand.policy.min_block
        if isinstance(got, Reply):
            if got.result != b"null":
                endpoint.learnt.serve(errand.method, block)
        elif got.lacks == "method" or (got.lacks and block is not None and not self._absences.is_fresh(block)):
            endpoint.learnt.refuse(errand.method, got.lacks, block)

    def _with_oldest(self, error: GatewayError, errand: Errand) -> GatewayError:
        """Return an error about missing state with the oldest block that an endpoint is known to have, if any is."""
        if not isinstance(error, ArchiveRequired) or "oldestBlock" in error.metadata:
            return error
        known = [block for endpoint in self._carriers if (block := endpoint.learnt.oldest(errand.method)) is not None]
        asked = errand.policy.min_block
        if asked is None or not known or min(known) <= asked:
            return error
        told = ArchiveRequired(
            f"{error.message}; the oldest block answered lately is {min(known)}",
            field=error.field,
            metadata=error.metadata | {"oldestBlock": str(min(known))},
        )
        told.refusals = error.refusals
        return told

    def _spare(self, errand: Errand, tried: set[Endpoint]) -> Endpoint | None:
        """Return one more endpoint in full health for a hedge, counted as tried; None if there is none."""
        other = self._selection.spare(errand.method, errand.policy, tried)
        if other is None:
            return None
        identity = self._identities.get(other)
        if identity is not None and not identity.is_proved:
            return None
        tried.add(other)
        return other

    async def _is_open(self, endpoint: Endpoint, patience: Patience, trail: Trail, tried: set[Endpoint]) -> bool:
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
            failure = await identity.prove(max(self._share(patience, tried), 0.0))
            if failure is not None:
                trail.note(endpoint.label, Setback(failure.words, retry_after=failure.retry_after))
                return False
        return True

    def _attempt_seconds(self, endpoint: Endpoint, errand: Errand, tried: set[Endpoint], *, is_final: bool) -> float:
        """Return how long to wait for the endpoint, so that a silent one leaves time for the others.

        In the final round the time that is left is shared with those still to be asked: the last one, which may be
        merely slow, gets all of it.
        """
        left = errand.patience.until - self._clock()
        share = self._share(errand.patience, tried)
        if errand.policy.heavy or errand.policy.caller_made:
            return min(left, max(share, _LONG_ATTEMPT))
        p95 = endpoint.latency.p95
        usual = _LONGEST_ATTEMPT if p95 is None else p95 * _LATENCY_FACTOR
        usual = max(_SHORTEST_ATTEMPT, min(usual, _LONGEST_ATTEMPT))
        return min(left, max(usual, share) if is_final else usual)

    def _share(self, patience: Patience, tried: set[Endpoint]) -> float:
        """Return the seconds that one endpoint gets if those still to be asked get as many."""
        left = patience.until - self._clock()
        longest_wait = min(_LONGEST_WAIT, left)
        others = sum(
            other not in tried and other.exclusion is None and other.paused_for <= longest_wait
            for other in self._carriers
        )
        return left / (1 + others)

    async def _pause(self, hopeless: set[Endpoint], slow: set[Endpoint], patience: Patience) -> bool:
        """Wait before the second round; return False if there is nobody to ask again or no time left.

        A resting endpoint is asked again only if it was `slow`: one that fails at once would fail once more.
        """
        waits = [
            endpoint.paused_for
            for endpoint in self._carriers
            if endpoint not in hopeless
            and (endpoint.is_sound or endpoint in slow)
            and endpoint.paused_for <= _LONGEST_WAIT
        ]
        if not waits:
            return False
        wait = max(min(waits), _ROUND_PAUSE * (0.5 + random.random()))
        if patience.until - self._clock() <= wait:
            return False
        await asyncio.sleep(wait)
        return True

    async def _doubt(self, null: Reply, errand: Errand, tried: set[Endpoint]) -> Reply:
        """Return one more sound endpoint's answer to a call that was answered `null`, else that `null`."""
        other = self._selection.next(errand.method, errand.policy, tried)
        if other is None or not other.is_sound or other.paused_for > 0 or other.label in errand.policy.disbelieved:
            return null
        tried.add(other)
        got = await self._attempt(other, errand, Trail(self._chain), tried, is_final=False)
        return got if isinstance(got, Reply) else null
