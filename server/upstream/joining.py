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
    __slots__ = ("patience", "task", "waiters")

    def __init__(self, task: asyncio.Task[Answered], patience: Patience) -> None:
        self.task = task
        self.patience = patience
        self.waiters = 0


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
        flight = self._flights.get(key)
        if flight is None:
            patience = Patience(until)
            flight = _Flight(asyncio.get_running_loop().create_task(start(patience)), patience)
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _task: self._forget(key, flight))
        else:
            flight.patience.until = max(flight.patience.until, until)
        flight.waiters += 1
        try:
            async with asyncio.timeout(max(until - clock(), 0.0) + _SLACK):
                return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if (task is not None and task.cancelling()) or not flight.task.cancelled():
                raise
            # The flight was given up, not this caller.
            raise UpstreamUnavailable("the read was abandoned; try again") from None
        except GatewayError as error:
            # One exception object raised in several tasks would collect all their tracebacks.
            raise copy.copy(error) from None
        finally:
            flight.waiters -= 1
            if flight.waiters == 0 and not flight.task.done():
                self._forget(key, flight)
                flight.task.cancel()

    async def close(self) -> None:
        """Give up every flight."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, key: Hashable, flight: _Flight[Answered]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
