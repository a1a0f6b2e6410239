"""A second question to another endpoint when the first one takes longer than usual, within a budget.

Off unless a chain's settings say `hedge`. It buys shorter waits with more requests, so it is bounded: one for twenty
calls in the long run, and never for calls that are known to be heavy or whose cost the outside caller chose.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from server.upstream.policy import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from server.upstream.endpoint import Endpoint
    from server.upstream.health import Setback
    from server.upstream.observer import Observer

    Outcome = Reply | Setback
    Runner = asyncio.Task[Outcome]

CALLS_PER_HEDGE = 20
"""Calls that earn one hedge."""

_SAVED_HEDGES = 5.0
# A loop's timers are not finer than this.
_SHORTEST_DELAY = 0.005
# The 95th percentile of fewer answers says little.
_SAMPLES = 16


class Hedges:
    """The hedges of one chain: who races whom, and what may be spent on it."""

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
        the end. The slower question is left to end in the background, so that its endpoint's account is right.
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
        """Give up the questions that another endpoint answered sooner."""
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
