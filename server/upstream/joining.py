"""Identical reads in flight share one answer."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from server.errors import GatewayError, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

Answered = TypeVar("Answered")

# A flight that ends at its own deadline tells more than this clock can; it gets the moment that takes.
_SLACK = 0.03


class Patience:
    """Until when somebody still waits for a flight; moves later when a more patient caller joins."""

    __slots__ = ("until",)

    def __init__(self, until: float) -> None:
        self.until = until


class _Flight(Generic[Answered]):
    __slots__ = ("patience", "task", "waiting")

    def __init__(self, task: asyncio.Task[Answered], patience: Patience) -> None:
        self.task = task
        self.patience = patience
        self.waiting: list[asyncio.Future[None]] = []


class Flights(Generic[Answered]):
    """Reads in flight by key.

    A flight runs in its own task: it ends when nobody waits any more, not with its first caller.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[Answered]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._flights

    async def join(
        self,
        key: Hashable,
        until: float,
        start: Callable[[Patience], Coroutine[Any, Any, Answered]],
        clock: Callable[[], float],
    ) -> Answered:
        """Return the answer of the flight `key`, started by `start` if there is none.

        Raises TimeoutError at `until` (seconds of `clock`), and what the flight raises, as a copy per caller.
        """
        loop = asyncio.get_running_loop()
        flight = self._flights.get(key)
        if flight is None:
            patience = Patience(until)
            flight = _Flight(loop.create_task(start(patience)), patience)
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _task: self._land(key, flight))
        else:
            flight.patience.until = max(flight.patience.until, until)
        turn: asyncio.Future[None] = loop.create_future()
        flight.waiting.append(turn)
        timer = loop.call_later(max(until - clock(), 0.0) + _SLACK, _wake, turn)
        try:
            await turn
        finally:
            timer.cancel()
            flight.waiting.remove(turn)
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)
                flight.task.cancel()
        return _outcome(flight.task)

    async def close(self) -> None:
        """Give up every flight."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _land(self, key: Hashable, flight: _Flight[Answered]) -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            # Takes note of an error that nobody waits for any more.
            flight.task.exception()
        for turn in flight.waiting:
            _wake(turn)

    def _forget(self, key: Hashable, flight: _Flight[Answered]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _outcome(task: asyncio.Task[Answered]) -> Answered:
    if not task.done():
        raise TimeoutError
    if task.cancelled():
        # The flight was given up, not this caller.
        raise UpstreamUnavailable("the read was abandoned; try again")
    error = task.exception()
    if isinstance(error, GatewayError):
        # One exception object raised in several tasks would collect all their tracebacks.
        raise copy.copy(error) from None
    return task.result()
