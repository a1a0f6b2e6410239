"""Whether an endpoint serves the chain that it is configured for, asked before its first use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.upstream.failures import Failure, Kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.upstream.carrier import Answer
    from server.upstream.endpoint import Endpoint
    from server.upstream.observer import State

_RECHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """A family's question to a fresh endpoint.

    `judge` gets the JSON of the result and returns None if the endpoint serves the right chain, else why not in words
    that are fit for logs ("serves chain id 5 instead of 1").
    """

    method: str
    params: Sequence[object]
    judge: Callable[[bytes], str | None]


class Identity:
    """The check of one endpoint: done once before first use; a wrong endpoint is asked again every minute of traffic.

    `call` is the check's question, encoded.

    A node that answers the question with an error is believed to be right: the check guards against mix-ups, and
    some providers switch such methods off.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        check: IdentityCheck,
        call: bytes,
        ask: Callable[[Endpoint, bytes], Awaitable[Answer]],
        on_change: Callable[[Endpoint, State], None],
    ) -> None:
        self._endpoint = endpoint
        self._call = call
        self._judge = check.judge
        self._ask = ask
        self._on_change = on_change
        self._is_proved = False
        self._recheck_at = 0.0
        self._running: asyncio.Task[Failure | None] | None = None

    @property
    def is_proved(self) -> bool:
        """Whether the endpoint passed."""
        return self._is_proved

    async def prove(self, seconds: float | None = None) -> Failure | None:
        """Return None once the endpoint passed, else why it cannot be used now.

        Concurrent callers share one check, and each waits for it no longer than `seconds`.
        """
        if self._is_proved:
            return None
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._check())
            self._running.add_done_callback(self._finish)
        done, _ = await asyncio.wait((self._running,), timeout=seconds)
        for check in done:
            return check.result()
        return Failure(Kind.TIMED_OUT, "has not told in time which chain it serves")

    def recheck(self) -> None:
        """Start another check of an excluded endpoint if its minute is over; its outcome is not waited for."""
        if self._endpoint.exclusion is None or self._running is not None:
            return
        if self._endpoint.clock() >= self._recheck_at:
            self._running = asyncio.get_running_loop().create_task(self._check())
            self._running.add_done_callback(self._finish)

    async def close(self) -> None:
        """Give up a running check."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _check(self) -> Failure | None:
        answer = await self._ask(self._endpoint, self._call)
        outcome = answer.outcome
        if isinstance(outcome, Failure):
            self._recheck_at = self._endpoint.clock() + _RECHECK_SECONDS
            return outcome
        reason = self._judge(outcome) if isinstance(outcome, bytes) else None
        was_excluded = self._endpoint.exclusion is not None
        self._endpoint.exclusion = reason
        if reason is not None:
            self._recheck_at = self._endpoint.clock() + _RECHECK_SECONDS
            if not was_excluded:
                self._on_change(self._endpoint, "excluded")
            return Failure(Kind.EXCLUDED, reason)
        self._is_proved = True
        if was_excluded:
            self._on_change(self._endpoint, "admitted")
        return None

    def _finish(self, _task: asyncio.Task[Failure | None]) -> None:
        self._running = None
