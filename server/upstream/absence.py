"""What nodes do not have: waited for where it is fresh, asked of others before it counts as absent; refusals confirmed.

A fresh block is known from one node before the others have it, and a provider's machines behind one address differ as
well: a `null`, or "header not found", for a block that is known to exist and is at the head is temporary. Such
calls are asked again, paced by the block time and within a small budget of their own. A block beyond every known head,
or far below, is not waited for. An endpoint that lags, or whose index has a hole, answers `null` to what others have.
"""

from __future__ import annotations

import asyncio
import copy
import math
from typing import TYPE_CHECKING

import msgspec

from server.errors import GatewayError, NotFound
from server.upstream.connector import Reply
from server.upstream.single_flight import SharedDeadline

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from server.upstream.connector import CallPolicy
    from server.upstream.endpoint import Endpoint
    from server.upstream.failover import Selection
    from server.upstream.heads import HeadTracker
    from server.upstream.health import AttemptFailure, AttemptLog

    Outcome = Reply | AttemptFailure | None
    Ask = Callable[[Endpoint, SharedDeadline], Awaitable[Outcome]]

TRIES = 3
"""How often a call is asked again."""

_MAX_WAITING = 64
_BLOCKS_PER_WAIT = 0.5
_SHORTEST_WAIT = 0.1
_LONGEST_WAIT = 1.5
_FRESH_SECONDS = 15.0
_FRESH_BLOCKS = 3


class MissingBlockRetry:
    """The waits of one chain: at most 64 calls wait at a time, each `TRIES` times half a block (0.1 to 1.5 s)."""

    def __init__(self, heads: HeadTracker, block_time: float, clock: Callable[[], float]) -> None:
        self._heads = heads
        self._clock = clock
        self._pace = min(max(block_time * _BLOCKS_PER_WAIT, _SHORTEST_WAIT), _LONGEST_WAIT)
        self._fresh = max(_FRESH_BLOCKS, math.ceil(_FRESH_SECONDS / block_time))
        self._waiting = 0

    def is_behind(self, label: str, block: int | None) -> bool:
        """Return whether the endpoint is known not to have reached a block: what it lacks proves nothing."""
        return block is not None and self._heads.is_behind(label, block)

    def is_fresh(self, block: int) -> bool:
        """Return whether the block is known to exist and is so new that some nodes may not have it yet."""
        return self._heads.is_near(block, self._fresh)

    def is_old(self, block: int) -> bool:
        """Return whether the block is known to lie so far below the head that every node that keeps it has it."""
        head = self._heads.head()
        return head is not None and head - block > self._fresh

    async def wait(self, block: int | None, tries: int, until: float) -> bool:
        """Wait before a call about `block`, which was asked for in vain `tries` times, is asked again.

        Return False, at once, where that makes no sense or the budget (or the time to `until`) is used up.
        """
        if block is None or tries > TRIES or self._waiting >= _MAX_WAITING or not self.is_fresh(block):
            return False
        if until - self._clock() <= self._pace:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(self._pace)
        finally:
            self._waiting -= 1
        return True


ENDPOINTS_ASKED = 5
"""How many endpoints are asked for something, at most, before something counts as absent."""

_NULL = b"null"
_ROUNDS = 2
_PAUSE = 0.1
# An endpoint that hangs is found out within this.
_LONGEST_SECONDS = 6.0
_SHARE = 0.7


class Confirmation:
    """Asks the endpoints of one chain, all at once, for what one of them does not have."""

    def __init__(self, selection: Selection, absences: MissingBlockRetry, clock: Callable[[], float]) -> None:
        self._selection = selection
        self._absences = absences
        self._clock = clock

    def choose(self, method: str, policy: CallPolicy, tried: Collection[Endpoint]) -> list[Endpoint]:
        """Return the endpoints whose answer counts, beside those `tried`: sound, not known to be behind the block.

        They are as many as make five with the one that was asked.
        """
        passed = set(tried)
        fit: list[Endpoint] = []
        while len(fit) < ENDPOINTS_ASKED - 1:
            other = self._selection.next(method, policy, passed)
            if other is None:
                break
            passed.add(other)
            if (
                other.is_sound
                and other.paused_for <= 0
                and other.label not in policy.found_invalid
                and not self._absences.is_behind(other.label, policy.min_block)
            ):
                fit.append(other)
        return fit

    async def confirm(
        self, null: Reply | None, others: Sequence[Endpoint], deadline: SharedDeadline, log: AttemptLog, ask: Ask
    ) -> Reply:
        """Return what one of the others has, else the `null` with the number of endpoints that agree.

        Without a `null` the log holds the NotFound of the endpoint that was asked first. One that fails by accident
        is asked once more; one that gives no answer is waited for 6 s, or most of the time that is left.

        Raises:
            GatewayError: none has it, and none answered so by a `null`.
        """
        absences = 1
        left = deadline.until - self._clock()
        deadline = SharedDeadline(self._clock() + min(_LONGEST_SECONDS, left * _SHARE))
        for _ in range(_ROUNDS):
            again: list[Endpoint] = []
            for endpoint, got in await _ask_at_once(others, lambda endpoint: ask(endpoint, deadline)):
                if isinstance(got, Reply):
                    if got.result != _NULL:
                        return got
                    null = null or got
                    absences += 1
                elif got is not None:
                    log.note(endpoint.label, got)
                    absences += isinstance(got.explaining or got.final, NotFound)
                    if not (got.is_lasting or got.is_slow or got.final) and endpoint.is_sound:
                        again.append(endpoint)
            if not again or deadline.until - self._clock() <= _PAUSE:
                break
            await asyncio.sleep(_PAUSE)
            others = again
        if null is None:
            raise log.exhausted()
        return msgspec.structs.replace(null, absences=absences)


async def _ask_at_once(
    endpoints: Sequence[Endpoint], ask: Callable[[Endpoint], Awaitable[Outcome]]
) -> list[tuple[Endpoint, Outcome]]:
    """Return what the endpoints answer, in the order of answering, up to the first that has what was asked for."""

    async def ask_one(endpoint: Endpoint) -> Outcome:
        return await ask(endpoint)

    create = asyncio.get_running_loop().create_task
    runners = {create(ask_one(endpoint)): endpoint for endpoint in endpoints}
    pending = set(runners)
    outcomes: list[tuple[Endpoint, Outcome]] = []
    try:
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            outcomes += [(runners[runner], runner.result()) for runner in done]
            if any(isinstance(got, Reply) and got.result != _NULL for _, got in outcomes):
                break
    finally:
        for runner in pending:
            runner.cancel()
    return outcomes


async def confirm_refusal(
    blaming: Mapping[str, Sequence[GatewayError]],
    endpoints: Iterable[Endpoint],
    ask: Callable[[Endpoint], Awaitable[Reply | None]],
    *,
    is_last: bool,
) -> Reply | None:
    """Raise the error that blames the call, if it is certain; return the reply that came instead, or None.

    `blaming` are those errors by label, each as often as it was reported. One is certain if a sound endpoint reports it
    twice and another one, where there is a sound one, fails at the call as well. The first that reported it is asked
    once more for that, which `ask` does and notes. `is_last`: no other endpoint is left to be asked.
    """
    label = next(iter(blaming))
    first = next((endpoint for endpoint in endpoints if endpoint.label == label), None)
    if first is None:
        return None  # taken out of the configuration meanwhile
    is_confirmed = len(blaming) > 1 or (
        is_last and not any(other.is_sound and other is not first for other in endpoints)
    )
    if not is_confirmed or not first.is_sound:
        return None
    errors = blaming[label]
    if len(errors) == 1 and (reply := await ask(first)) is not None:
        return reply
    if len({error.message for error in errors}) < len(errors):
        raise copy.copy(errors[0])
    return None


def absent(message: str, absences: GatewayError | int) -> NotFound:
    """Return the failure of something that no endpoint has, with the number of those endpoints.

    `absences` is that number, or the failure that holds it.
    """
    asked = max(absences, 1) if isinstance(absences, int) else asked_of(absences)
    words = "1 endpoint was asked" if asked == 1 else f"{asked} endpoints were asked"
    return NotFound(f"{message} ({words})", endpoints_asked=asked)


def confirmed(error: NotFound) -> NotFound:
    """Return the same failure with the number of endpoints that agree."""
    counted = absent(error.message, error)
    failure = copy.copy(error)
    failure.message, failure.endpoints_asked = counted.message, counted.endpoints_asked
    return failure


def asked_of(error: GatewayError) -> int:
    """Return how many endpoints reported, in a failure, that there is no such thing."""
    if isinstance(error, NotFound) and error.endpoints_asked is not None:
        return error.endpoints_asked
    return max(sum(isinstance(refusal, NotFound) for refusal in error.refusals.values()), 1)
