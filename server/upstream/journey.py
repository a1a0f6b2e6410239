"""The way of one call through the endpoints of its chain."""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from server.errors import ArchiveRequired, GatewayError, NotFound
from server.upstream.carrier import Answer, Exchange
from server.upstream.confirming import Confirmation, confirm_refusal
from server.upstream.failures import Failure, Kind
from server.upstream.hangs import HANGS, LEAVING_SECONDS
from server.upstream.health import Health, Setback
from server.upstream.policy import CallPolicy, Reply
from server.upstream.trail import Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.errors import NodeWords
    from server.upstream.absence import Absences
    from server.upstream.carrier import Cargo, Carrier
    from server.upstream.endpoint import Endpoint
    from server.upstream.hangs import HangWatch
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

VERIFY_SECONDS = 3.0
"""How long a call waits for an endpoint to tell which chain it serves, while there are others."""

_HUNG_RETRY = 1.0
_KEPT_WAITING = Failure(Kind.TIMED_OUT, f"no answer to a light read within {LEAVING_SECONDS:g} s")


@dataclass(frozen=True, slots=True)
class Errand:
    """One call, or bundle of calls, on its way: `method` is what endpoints are known by to be able to do it or not."""

    method: str
    cargo: Cargo[Any]
    policy: CallPolicy
    patience: Patience

    @property
    def is_alone(self) -> bool:
        """Whether it shares its request with no other."""
        return self.policy.heavy or self.policy.caller_made or isinstance(self.cargo, tuple)


class Router:
    """What the journeys of one pool share: endpoints, their carriers and checks, selection and health.

    With `hedges`, a cheap call that takes longer than its endpoint's 95th percentile is asked of one more endpoint.
    `state_methods` read a block's state: what an endpoint can read by one of them, it can by the others.
    """

    def __init__(
        self,
        chain: str,
        carriers: Mapping[Endpoint, Carrier[Any]],
        identities: Mapping[Endpoint, Identity],
        selection: Selection,
        health: Health,
        absences: Absences,
        clock: Callable[[], float],
        hedges: Hedges | None = None,
        state_methods: frozenset[str] = frozenset(),
    ) -> None:
        self._chain = chain
        self._carriers = carriers
        self._identities = identities
        self._selection = selection
        self._health = health
        self._absences = absences
        self._clock = clock
        self._hedges = hedges
        self._state_methods = state_methods
        self._confirmation = Confirmation(selection, absences, clock)

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

        If all of them failed, those that may have failed by accident are asked a second time after a short pause.
        Absence that the policy doubts is checked at the other sound endpoints.
        """
        trail = Trail(self._chain)
        policy, patience = errand.policy, errand.patience
        hopeless: set[Endpoint] = set()
        slow: set[Endpoint] = set()
        stumbled: set[Endpoint] = set()
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
                        return await self._confirm_absence(got, errand, tried - stumbled, trail)
                    return replace(got, refusals=trail.refusals) if trail.refusals else got
                if got is not None and policy.null_elsewhere and isinstance(got.explaining, NotFound):
                    return await self._confirm_absence(None, errand, tried - stumbled, trail)
                if trail.blaming and (reply := await self._confirm_refusal(errand, trail, tried)) is not None:
                    return reply
                if got is not None:
                    (hopeless if got.is_lasting else stumbled).add(endpoint)
                if got is not None and got.is_slow:
                    slow.add(endpoint)
                if self._is_over(patience):
                    raise trail.late()
            if trail.blaming and (reply := await self._confirm_refusal(errand, trail, tried, is_last=True)) is not None:
                return reply
        for endpoint in self._carriers:
            if endpoint.exclusion is not None:
                trail.note(endpoint.label, Setback(endpoint.exclusion))
        raise trail.exhausted()

    async def _confirm_refusal(
        self, errand: Errand, trail: Trail, tried: set[Endpoint], *, is_last: bool = False
    ) -> Reply | None:
        """Raise the error that blames the call, if it is certain; see `confirm_refusal`."""

        async def ask(first: Endpoint) -> Reply | None:
            got = await self._attempt(first, errand, trail, tried, is_final=True)
            return got if isinstance(got, Reply) else None

        return await confirm_refusal(trail.blaming, self._carriers, ask, is_last=is_last)

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
        if errand.is_alone and endpoint.watch is not None and len(self._carriers) > 1:
            got = await self._ask(endpoint, errand, timeout, lambda: self._is_better(errand, tried))
            return self._note(endpoint, got, trail)
        if self._hedges is None or errand.is_alone:
            return self._note(endpoint, await self._ask(endpoint, errand, timeout), trail)
        outcomes = await self._hedges.race(
            endpoint, timeout, lambda one, seconds: self._ask(one, errand, seconds), lambda: self._spare(errand, tried)
        )
        for one, got in outcomes[:-1]:
            self._note(one, got, trail)
        return self._note(*outcomes[-1], trail)

    async def _ask(
        self, endpoint: Endpoint, errand: Errand, timeout: float, may_leave: Callable[[], bool] | None = None
    ) -> Reply | Setback:
        """Return what one endpoint answers, after its account is brought up to date.

        With `may_leave` an endpoint that keeps light reads waiting is left as soon as that returns True.
        """
        carrier = self._carriers[endpoint]
        identity = self._identities.get(endpoint)
        if identity is not None and not isinstance(errand.cargo, tuple) and errand.is_alone:
            identity.watch()
        endpoint.in_flight += 1
        try:
            if may_leave is not None and endpoint.watch is not None:
                answer = await self._ask_watched(endpoint, endpoint.watch, errand, timeout, may_leave)
            elif errand.is_alone:
                answer = await carrier.submit_alone(errand.cargo, timeout)
            else:
                held = errand.policy.held
                answer = await carrier.submit(errand.cargo, timeout, held=held)
        finally:
            endpoint.in_flight -= 1
        if identity is not None and not errand.policy.names_chain:
            # Not before: what shared its request was proved with it.
            identity.watch()
        got = self._health.settle(endpoint, answer, errand.policy)
        self._learn(endpoint, errand, got)
        return got

    async def _ask_watched(
        self, endpoint: Endpoint, watch: HangWatch, errand: Errand, timeout: float, may_leave: Callable[[], bool]
    ) -> Answer:
        started = self._clock()
        sending = asyncio.get_running_loop().create_task(self._carriers[endpoint].submit_alone(errand.cargo, timeout))
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

    def _is_better(self, errand: Errand, tried: set[Endpoint]) -> bool:
        """Return whether an endpoint that was not asked yet is fit to be asked instead."""
        other = self._selection.next(errand.method, errand.policy, tried)
        return other is not None and other.is_sound and other.paused_for <= 0

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
            raise _final(got.final, got.node)
        return got

    def _learn(self, endpoint: Endpoint, errand: Errand, got: Reply | Setback) -> None:
        block = errand.policy.min_block
        if isinstance(got, Reply):
            if got.result != b"null":
                is_old = block is not None and self._absences.is_old(block)
                endpoint.learnt.serve(errand.method, block, is_old=is_old)
        elif got.lacks == "method" or (got.lacks and block is not None and not self._absences.is_fresh(block)):
            endpoint.learnt.refuse(errand.method, got.lacks, block)

    def _with_oldest(self, error: GatewayError, errand: Errand) -> GatewayError:
        """Return an error about missing state with the oldest block that an endpoint is known to have, if any is.

        That is learnt from reads of old blocks alone, by any method that reads state where the call does: what was read
        at the head says nothing of what is kept.
        """
        if not isinstance(error, ArchiveRequired) or error.oldest_block is not None:
            return error
        methods = self._state_methods if errand.method in self._state_methods else (errand.method,)
        memories = [endpoint.learnt for endpoint in self._carriers]
        known = [block for one in memories for method in methods if (block := one.oldest(method)) is not None]
        asked = errand.policy.min_block
        if asked is None or not known or min(known) <= asked:
            return error
        told = ArchiveRequired(
            f"{error.message}; the oldest block answered lately is {min(known)}",
            field=error.field,
            oldest_block=min(known),
        )
        told.refusals, told.node = error.refusals, error.node
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
        if endpoint.watch is not None and endpoint.watch.is_hung:
            if not await endpoint.watch.wait(patience.until - self._clock()):
                trail.note(endpoint.label, Setback(HANGS, retry_after=_HUNG_RETRY))
                return False
        elif not endpoint.is_sound and not endpoint.breaker.is_slow and endpoint.in_flight >= _RESTING_CALLS:
            trail.note(endpoint.label, Setback("resting after failures"))
            return False
        identity = self._identities.get(endpoint)
        if identity is not None and not identity.is_proved:
            share = self._share(patience, tried)
            # With nobody else to ask, it is waited for as for any answer.
            seconds = share if share >= self._left(patience) else min(share, VERIFY_SECONDS)
            failure = await identity.prove(max(seconds, 0.0))
            if failure is not None:
                silent, slow = failure.kind is Kind.HUNG, failure.kind is Kind.TIMED_OUT
                setback = Setback(failure.words, retry_after=failure.retry_after, is_silent=silent, is_slow=slow)
                trail.note(endpoint.label, setback)
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
            other not in tried and other.exclusion is None and not other.is_hung and other.paused_for <= longest_wait
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
            and not endpoint.is_hung
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

    def _left(self, patience: Patience) -> float:
        return patience.until - self._clock()

    async def _confirm_absence(self, null: Reply | None, errand: Errand, tried: set[Endpoint], trail: Trail) -> Reply:
        """Return what other sound endpoints have of what one does not have; see `Confirmation`."""

        async def ask(endpoint: Endpoint, patience: Patience) -> Reply | Setback | None:
            if not await self._is_open(endpoint, patience, Trail(self._chain), tried):
                return None
            timeout = self._left(patience)
            return await self._ask(endpoint, errand, timeout) if timeout > 0 else None

        others = self._confirmation.choose(errand.method, errand.policy, tried)
        tried.update(others)
        return await self._confirmation.confirm(null, others, errand.patience, trail, ask)


def _final(error: GatewayError, node: NodeWords | None) -> GatewayError:
    """Return the failure to raise: a copy, as frames that its traceback will hold hold the original."""
    final = copy.copy(error)
    final.node = node
    return final
