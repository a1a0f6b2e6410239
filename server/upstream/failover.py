"""A request's way through the endpoints of its chain: best first, the next one where one fails."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import msgspec

from server.errors import ArchiveRequired, DeadlineExceeded, GatewayError, NotFound
from server.upstream.absence import Confirmation, confirm_refusal
from server.upstream.attempt import LONGEST_WAIT
from server.upstream.connector import Reply
from server.upstream.health import AttemptFailure, AttemptLog

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence

    from server.upstream.absence import MissingBlockRetry
    from server.upstream.attempt import Attempts, UpstreamRequest
    from server.upstream.connector import CallPolicy
    from server.upstream.endpoint import Endpoint
    from server.upstream.heads import HeadTracker
    from server.upstream.single_flight import SharedDeadline

_ROUNDS = 2
# Loops count time in milliseconds: a timer may fire that much before its moment.
_TICK = 0.005
_ROUND_PAUSE = 0.1


class Failover:
    """Asks the endpoints of one pool, by `attempts`, until one answers.

    `state_methods` read a block's state: what an endpoint can read by one of them, it can by the others.
    """

    def __init__(
        self,
        chain: str,
        endpoints: Sequence[Endpoint],
        attempts: Attempts,
        selection: Selection,
        absences: MissingBlockRetry,
        clock: Callable[[], float],
        state_methods: frozenset[str] = frozenset(),
    ) -> None:
        self._chain = chain
        self._endpoints = endpoints
        self._attempts = attempts
        self._selection = selection
        self._absences = absences
        self._clock = clock
        self._state_methods = state_methods
        self._confirmation = Confirmation(selection, absences, clock)

    def route(self, request: UpstreamRequest) -> Coroutine[Any, Any, Reply]:
        """Return the first usable answer; raises the GatewayError that states why there is none.

        A bundle is answered by one endpoint as a whole, or asked of the next one as a whole. What a fresh block lacks
        everywhere is asked for again a few times, paced by the block time.
        """
        return self._ask_around(request) if request.policy.min_block is None else self._ask_about_block(request)

    async def _ask_about_block(self, request: UpstreamRequest) -> Reply:
        policy, tries = request.policy, 0
        while True:
            tries += 1
            try:
                reply = await self._ask_around(request)
            except (ArchiveRequired, NotFound) as error:
                if not await self._absences.wait(policy.min_block, tries, request.deadline.until):
                    raise self._with_oldest(error, request) from None
                continue
            if reply.result != b"null" or not policy.null_elsewhere:
                return reply
            if not await self._absences.wait(policy.min_block, tries, request.deadline.until):
                return reply

    async def _ask_around(self, request: UpstreamRequest) -> Reply:
        """Ask the endpoints one after the other, best first.

        If all of them failed, those whose failure may be temporary are asked a second time after a short pause.
        Where the policy asks for it, absence is checked at the other sound endpoints.
        """
        policy, deadline = request.policy, request.deadline
        if deadline.until <= self._clock():
            raise DeadlineExceeded(f"{self._chain} was not asked: the deadline had passed")
        log = AttemptLog(self._chain)
        hopeless: set[Endpoint] = set()
        slow: set[Endpoint] = set()
        stumbled: set[Endpoint] = set()
        # What the outside caller chose may break the node: it is not tried on every endpoint twice.
        rounds = 1 if policy.caller_made else _ROUNDS
        for number in range(rounds):
            if number > 0 and not await self._pause(hopeless, slow, deadline):
                break
            tried = set(hopeless)
            while (endpoint := self._selection.next(request.method, policy, tried)) is not None:
                tried.add(endpoint)
                got = await self._attempts.attempt(endpoint, request, log, tried, is_final=number == rounds - 1)
                if isinstance(got, Reply):
                    if policy.null_elsewhere and got.result == b"null":
                        return await self._confirm_absence(got, request, tried - stumbled, log)
                    return msgspec.structs.replace(got, refusals=log.refusals) if log.refusals else got
                if got is not None and policy.null_elsewhere and isinstance(got.explaining, NotFound):
                    return await self._confirm_absence(None, request, tried - stumbled, log)
                if log.blaming and (reply := await self._confirm_refusal(request, log, tried)) is not None:
                    return reply
                if got is not None:
                    (hopeless if got.is_lasting else stumbled).add(endpoint)
                    if got.is_slow:
                        slow.add(endpoint)
                if deadline.until - self._clock() <= _TICK:
                    raise log.late()
            if log.blaming and (reply := await self._confirm_refusal(request, log, tried, is_last=True)) is not None:
                return reply
        for endpoint in self._endpoints:
            if endpoint.exclusion is not None:
                log.note(endpoint.label, AttemptFailure(endpoint.exclusion))
        raise log.exhausted()

    async def _confirm_refusal(
        self, request: UpstreamRequest, log: AttemptLog, tried: set[Endpoint], *, is_last: bool = False
    ) -> Reply | None:
        """Raise the error that blames the call, if it is certain; see `confirm_refusal`."""

        async def ask(first: Endpoint) -> Reply | None:
            got = await self._attempts.attempt(first, request, log, tried, is_final=True)
            return got if isinstance(got, Reply) else None

        return await confirm_refusal(log.blaming, self._endpoints, ask, is_last=is_last)

    def _with_oldest(self, error: GatewayError, request: UpstreamRequest) -> GatewayError:
        """Return an error about missing state with the oldest block that an endpoint is known to have, if any is.

        That is learned from reads of old blocks alone, by any method that reads state where the call does: what was
        read at the head does not show what is kept.
        """
        if not isinstance(error, ArchiveRequired) or error.oldest_block is not None:
            return error
        methods = self._state_methods if request.method in self._state_methods else (request.method,)
        known = [
            block
            for endpoint in self._endpoints
            for method in methods
            if (block := endpoint.learned.oldest(method)) is not None
        ]
        asked = request.policy.min_block
        if asked is None or not known or min(known) <= asked:
            return error
        explained = ArchiveRequired(
            f"{error.message}; the oldest block answered lately is {min(known)}",
            field=error.field,
            oldest_block=min(known),
        )
        explained.refusals, explained.node = error.refusals, error.node
        return explained

    async def _pause(self, hopeless: set[Endpoint], slow: set[Endpoint], deadline: SharedDeadline) -> bool:
        """Wait before the second round; return False if there is no endpoint to ask again or no time left.

        A resting endpoint is asked again only if it was `slow`: one that fails at once would fail once more.
        """
        waits = [
            endpoint.paused_for
            for endpoint in self._endpoints
            if endpoint not in hopeless
            and not endpoint.is_hung
            and (endpoint.is_sound or endpoint in slow)
            and endpoint.paused_for <= LONGEST_WAIT
        ]
        if not waits:
            return False
        wait = max(min(waits), _ROUND_PAUSE * (0.5 + random.random()))
        if deadline.until - self._clock() <= wait:
            return False
        await asyncio.sleep(wait)
        return True

    async def _confirm_absence(
        self, null: Reply | None, request: UpstreamRequest, tried: set[Endpoint], log: AttemptLog
    ) -> Reply:
        """Return what other sound endpoints have of what one does not have; see `Confirmation`."""
        attempts = self._attempts

        async def ask(endpoint: Endpoint, deadline: SharedDeadline) -> Reply | AttemptFailure | None:
            if not attempts.is_ready(endpoint) and not await attempts.wait_until_ready(
                endpoint, deadline, AttemptLog(self._chain), tried
            ):
                return None
            timeout = deadline.until - self._clock()
            return await attempts.ask(endpoint, request, timeout) if timeout > 0 else None

        others = self._confirmation.choose(request.method, request.policy, tried)
        tried.update(others)
        return await self._confirmation.confirm(null, others, request.deadline, log, ask)


_STICKINESS = 1.3
_READY, _LATE, _AVOIDED, _UNABLE, _PAUSED, _RESTING, _AHEAD, _DISBELIEVED = range(8)


class Selection:
    """Orders the endpoints of a pool: sound, late, avoided, unable, throttled, broken, ahead, found_invalid.

    Within these it goes by latency over weight.

    Avoided is an endpoint that answered this very call and lags, ahead one that answered it of a block that cannot be;
    unable is one that is known to lack what the call needs, found_invalid one that answered this very call with what
    cannot be its answer.

    The first choice stays the first choice until another one is clearly (30 %) better, because calls only fold at
    the endpoint that they share. An endpoint that was never measured is tried first: that is how it gets measured.
    """

    def __init__(self, endpoints: Sequence[Endpoint], heads: HeadTracker) -> None:
        self.endpoints = endpoints
        """Those that there are now: the pool's own list, which changes with the configuration."""
        self._heads = heads
        self.favourite: Endpoint | None = None
        """The first choice."""

    def next(self, method: str, policy: CallPolicy, tried: Collection[Endpoint]) -> Endpoint | None:
        """Return the best endpoint for the call that is not among `tried` and not excluded; None if there is none."""
        left: list[Endpoint] = []
        for endpoint in self.endpoints:
            if endpoint.wrong_chain is None and endpoint.contradiction is None and endpoint not in tried:
                left.append(endpoint)
        if len(left) == 1:
            # The only one is the best, however it is.
            if not tried and policy.prefer is None:
                self.favourite = left[0]
            return left[0]
        best: Endpoint | None = None
        best_rank = (_DISBELIEVED + 1, 0.0)
        for endpoint in left:
            rank = self._rank(endpoint, method, policy)
            if rank < best_rank:
                best, best_rank = endpoint, rank
        if best is not None and not tried and policy.prefer is None and best_rank[0] == _READY:
            self.favourite = best
        return best

    def forget_favourite(self) -> None:
        """Choose a first one anew, where the endpoint that it was is gone."""
        if self.favourite not in self.endpoints:
            self.favourite = None

    def spare(self, method: str, policy: CallPolicy, tried: Collection[Endpoint]) -> Endpoint | None:
        """Return the best endpoint that is not among `tried` and in full health; None if there is none."""
        endpoint = self.next(method, policy, tried)
        return endpoint if endpoint is not None and self._rank(endpoint, method, policy)[0] == _READY else None

    def _rank(self, endpoint: Endpoint, method: str, policy: CallPolicy) -> tuple[int, float]:
        if endpoint.label in policy.found_invalid:
            level = _DISBELIEVED
        elif endpoint.label in policy.avoid and self._heads.is_ahead(endpoint.label):
            level = _AHEAD
        elif not endpoint.is_sound:
            level = _RESTING
        elif endpoint.paused_for > 0:
            level = _PAUSED
        elif endpoint.learned.lacks(method, policy.min_block):
            level = _UNABLE
        elif endpoint.label in policy.avoid:
            level = _AVOIDED
        elif endpoint.is_doubtful or self._is_late(endpoint, policy):
            level = _LATE
        else:
            level = _READY
            if endpoint.label == policy.prefer:
                return level, -1.0
        score = (endpoint.latency.median or 0.0) / endpoint.weight
        return level, score / _STICKINESS if endpoint is self.favourite else score

    def _is_late(self, endpoint: Endpoint, policy: CallPolicy) -> bool:
        label, heads = endpoint.label, self._heads
        if heads.is_ahead(label):
            return True
        if policy.min_block is None:
            return heads.is_lagging(label) or heads.is_unreported(label)
        return heads.is_behind(label, policy.min_block)
