"""Whether an endpoint serves the chain that it is configured for: asked before its first use and while it is in use.

A proxy that is pointed elsewhere, or a provider's mix-up, makes an endpoint another chain from one request to the next.
So its id is asked for again while it answers callers, at least every two seconds; batches and folded reads bring it
along, which counts as well. An endpoint that changed is excluded at once, with everything that it was asked before.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import NodeError
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from server.upstream.connector import Answer
    from server.upstream.endpoint import Endpoint
    from server.upstream.jsonrpc import Outcome
    from server.upstream.transport import State

    class AskIdentity(Protocol):
        """Sends the question; with `counts` a failure counts against the endpoint."""

        async def __call__(self, endpoint: Endpoint, call: Any, *, counts: bool) -> Answer:
            """Return its outcome."""
            ...


WATCH_SECONDS = 1.4
"""How old the last proof of an endpoint in use gets before it is asked again; the answer takes its time as well."""

_RECHECK_SECONDS = 60.0
_FIRST_RECHECK_SECONDS = 2.0
# Where the question is answered with an error, a second one will hardly help.
_MUTE_SECONDS = 600.0
_OPEN_SECONDS = 10.0
# All checks of an endpoint are equal.
_CHECK = "check"


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """A family's question to an endpoint.

    `judge` gets the JSON of the result and returns None if the endpoint serves the right chain, else why not, in a text
    fit for logs ("serves chain id 5 instead of 1").
    """

    method: str
    params: Sequence[object]
    judge: Callable[[bytes], str | None]


class Identity:
    """The checks of one endpoint. `call` is the question, encoded.

    A wrong endpoint is asked again while there is traffic: every minute if it was wrong from the beginning, after 2 s
    and then twice as long each time (a minute at most) if it changed while in use.

    A node that answers the question with an error is believed to be right: the check guards against mix-ups, and
    some providers switch such methods off.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        check: IdentityCheck,
        call: Any,
        ask: AskIdentity,
        on_change: Callable[[Endpoint, State], None],
    ) -> None:
        self.call = call
        self._endpoint = endpoint
        self._judge = check.judge
        self._ask = ask
        self._on_change = on_change
        self.is_proved = False
        """Whether the endpoint passed, and no answer since contradicts that."""
        self.proved_at = -math.inf
        """When the last proof was requested."""
        self._used_at = -math.inf
        self._mute_until = -math.inf
        self._recheck_seconds = _RECHECK_SECONDS
        self._recheck_at = 0.0
        self._refuted_at = -math.inf
        self._checks: SingleFlight[Failure | None] = SingleFlight()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def rides(self) -> bool:
        """Whether the question may share a request with other calls: the endpoint passed, and answers it."""
        return self.is_proved and self._mute_until <= self._endpoint.clock()

    async def prove(self, seconds: float | None = None) -> Failure | None:
        """Return None once the endpoint passed, else why it cannot be used now.

        Concurrent callers share one check, and each waits for it no longer than `seconds`.
        """
        if self.is_proved:
            return None
        return await self._wait(self._start(), seconds)

    async def confirm(self, since: float) -> bool:
        """Return whether the endpoint serves the right chain, asked now unless it was proved after `since`."""
        if self.is_proved and (self.proved_at > since or not self.rides):
            return True
        await self._wait(self._start(), None)
        return self.is_proved

    def watch(self) -> None:
        """Note that the endpoint is in use: it is asked once more as soon as its last proof is too old.

        So every answer is followed by a proof, also the last one before a quiet time: it may have been kept.
        """
        if not self.is_proved:
            return
        now = self._used_at = self._endpoint.clock()
        if self._timer is None and self._mute_until <= now:
            self._look(now)

    def note_answer(self, outcome: Outcome | None, asked_at: float) -> Failure | None:
        """Note an answer to the question that came with other answers; return why those are void, if they are.

        `asked_at` is when the request left; None is no answer.
        """
        if not isinstance(outcome, bytes):
            return None
        return self.judge(self._judge(outcome), asked_at)

    def judge(self, reason: str | None, asked_at: float) -> Failure | None:
        """Note why an answer to what was asked then is of another chain, None if it is of the right one.

        Return why it is void, if it is.
        """
        if reason is None:
            if self.is_proved and asked_at > self.proved_at:
                self.proved_at = asked_at
            return None
        self.refute(reason)
        return Failure(Kind.EXCLUDED, reason)

    def refute(self, reason: str) -> None:
        """Exclude the endpoint, which turned out to serve another chain."""
        endpoint, now = self._endpoint, self._endpoint.clock()
        was_used = self.is_proved
        self.is_proved = False
        was_excluded = endpoint.wrong_chain is not None
        endpoint.exclude(reason)
        if was_used:
            # One that changes back and forth is left alone for longer each time.
            is_again = now - self._refuted_at <= 2 * _RECHECK_SECONDS
            before = self._recheck_seconds if is_again else _FIRST_RECHECK_SECONDS / 2
            self._recheck_seconds = min(2 * before, _RECHECK_SECONDS)
            self._refuted_at = now
        elif self._refuted_at > -math.inf:
            self._recheck_seconds = min(2 * self._recheck_seconds, _RECHECK_SECONDS)
        self._recheck_at = now + self._recheck_seconds
        if not was_excluded:
            self._on_change(endpoint, "excluded")

    def recheck(self) -> None:
        """Start another check of an excluded endpoint if its pause is over; its outcome is not waited for."""
        if self._endpoint.wrong_chain is None or _CHECK in self._checks:
            return
        if self._endpoint.clock() >= self._recheck_at:
            self._start()

    async def close(self) -> None:
        """Cancel a running check."""
        if self._timer is not None:
            self._timer.cancel()
        await self._checks.close()

    def _look(self, now: float) -> None:
        left = self.proved_at + WATCH_SECONDS - now
        if left <= 0:
            self._start()
        self._timer = asyncio.get_running_loop().call_later(left if left > 0 else WATCH_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        now = self._endpoint.clock()
        # A question that failed is asked again for a while.
        is_open = self._used_at > self.proved_at and now - self._used_at <= _OPEN_SECONDS
        if self.is_proved and self._mute_until <= now and (is_open or self._endpoint.in_flight > 0):
            self._look(now)

    def _start(self) -> asyncio.Task[Failure | None]:
        return self._checks.start(_CHECK, self._check)

    async def _wait(self, check: asyncio.Task[Failure | None], seconds: float | None) -> Failure | None:
        done, _ = await asyncio.wait((check,), timeout=seconds)
        for one in done:
            return one.result()
        return Failure(Kind.TIMED_OUT, "has not reported in time which chain it serves")

    async def _check(self) -> Failure | None:
        endpoint, asked_at = self._endpoint, self._endpoint.clock()
        # An endpoint in use is judged by its reads: a failed check adds nothing.
        answer = await self._ask(endpoint, self.call, counts=not self.is_proved)
        outcome = answer.outcome
        if isinstance(outcome, Failure):
            self._recheck_at = endpoint.clock() + self._recheck_seconds
            return outcome
        if isinstance(outcome, NodeError):
            self._mute_until = endpoint.clock() + _MUTE_SECONDS
        reason = self._judge(outcome) if isinstance(outcome, bytes) else None
        if reason is not None:
            self.refute(reason)
            return Failure(Kind.EXCLUDED, reason)
        if asked_at <= endpoint.refuted_at:
            # A newer answer contradicts this one.
            return Failure(Kind.EXCLUDED, endpoint.wrong_chain or "served another chain when it was asked")
        was_excluded = endpoint.wrong_chain is not None
        endpoint.wrong_chain = None
        self.is_proved = True
        self.proved_at = asked_at
        if was_excluded:
            self._on_change(endpoint, "admitted")
        return None
