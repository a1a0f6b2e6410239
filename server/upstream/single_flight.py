"""Equal reads in flight share one answer.

`SingleFlight` runs a read in a task of its own, which does not end with its first caller. `InlineFlight` costs no task:
the first caller reads itself, the others wait for it, and one of them reads again if it is cancelled.
"""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runtime.tracing import READER, Reader
from server.errors import DeadlineExceeded, GatewayError, UpstreamUnavailable

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Coroutine, Hashable

Answer = TypeVar("Answer")

# A read that ends at its own deadline fails with a better text than this clock can; it gets the moment that takes.
_SLACK = 0.03


class SharedDeadline:
    """The latest deadline of a read's callers; moves when a caller with a later one joins.

    `readers` are these callers, where they are traced, and `attempts` how often an endpoint was asked for them.
    """

    __slots__ = ("attempts", "readers", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.attempts = 0
        reader = READER.get()
        self.readers = None if reader is None else [reader]

    def extend(self, until: float) -> None:
        """Add a caller, with its deadline."""
        self.until = max(self.until, until)
        reader = READER.get()
        if reader is not None and self.readers is not None:
            self.readers.append(reader)


class _Flight(Generic[Answer]):
    __slots__ = ("deadline", "task", "waiting")

    def __init__(self, task: asyncio.Task[Answer], deadline: SharedDeadline | None) -> None:
        self.task = task
        self.deadline = deadline
        self.waiting: list[asyncio.Future[None]] = []


class SingleFlight(Generic[Answer]):
    """Reads in flight by key, each in a task of its own.

    One that is joined (`join`) is cancelled when no caller waits any more; one that is started (`start`, `share`) goes
    on without callers. The same keys are not used for both.
    """

    def __init__(self) -> None:
        self._in_flight: dict[Hashable, _Flight[Answer]] = {}

    def __len__(self) -> int:
        return len(self._in_flight)

    def __contains__(self, key: Hashable) -> bool:
        flight = self._in_flight.get(key)
        return flight is not None and not flight.task.done()

    async def join(
        self,
        key: Hashable,
        until: float,
        start: Callable[[SharedDeadline], Coroutine[Any, Any, Answer]],
        clock: Callable[[], float],
    ) -> Answer:
        """Return the answer of the read `key`, begun by `start` if it is not in flight.

        Raises TimeoutError at `until` (seconds of `clock`), and what the read raises, as a copy per caller.
        """
        loop = asyncio.get_running_loop()
        flight = self._in_flight.get(key)
        if flight is None:
            deadline = SharedDeadline(until)
            flight = self._launch(key, loop.create_task(start(deadline)), deadline)
        elif flight.deadline is not None:
            flight.deadline.extend(until)
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
        return outcome_of(flight.task)

    def start(
        self,
        key: Hashable,
        start: Callable[[], Coroutine[Any, Any, Answer]],
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Answer]:
        """Return the task of the read `key`, begun by `start` if it is not in flight; it goes on without callers.

        Wait for it with `asyncio.wait`, which does not cancel it; `outcome_of` is its answer then.
        """
        flight = self._in_flight.get(key)
        if flight is None or flight.task.done():
            task = asyncio.get_running_loop().create_task(start(), context=context)
            flight = self._launch(key, task, None)
        return flight.task

    async def share(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Return the answer of the read `key` that `start` began; raises what it raises, as a copy per caller."""
        task = self.start(key, start)
        await asyncio.wait((task,))
        return outcome_of(task)

    async def close(self) -> None:
        """Cancel every read."""
        tasks = [flight.task for flight in self._in_flight.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _launch(self, key: Hashable, task: asyncio.Task[Answer], deadline: SharedDeadline | None) -> _Flight[Answer]:
        flight = self._in_flight[key] = _Flight(task, deadline)
        task.add_done_callback(lambda _task: self._land(key, flight))
        return flight

    def _land(self, key: Hashable, flight: _Flight[Answer]) -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            # Retrieves an error that no caller waits for any more.
            flight.task.exception()
        for turn in flight.waiting:
            _wake(turn)

    def _forget(self, key: Hashable, flight: _Flight[Answer]) -> None:
        if self._in_flight.get(key) is flight:
            del self._in_flight[key]


class InlineFlight(Generic[Answer]):
    """Reads in flight by key, each made by its first caller, which ends it by `land`, whatever its outcome."""

    def __init__(self) -> None:
        self._in_flight: dict[Hashable, asyncio.Future[Answer | GatewayError | None]] = {}
        # Of traced reads: who reads for all that joined.
        self._leaders: dict[Hashable, Reader] = {}

    def __len__(self) -> int:
        return len(self._in_flight)

    def join(self, key: Hashable) -> asyncio.Future[Answer | GatewayError | None] | None:
        """Return what `follow` waits for; None where the caller is the first, which the next ones follow."""
        flight = self._in_flight.get(key)
        if flight is None:
            self._in_flight[key] = asyncio.get_running_loop().create_future()
        if (reader := READER.get()) is not None:
            self._join_traces(key, reader, is_first=flight is None)
        return flight

    def _join_traces(self, key: Hashable, reader: Reader, *, is_first: bool) -> None:
        if is_first:
            # Several reads that one caller makes together are one to those who follow any of them.
            leader = self._leaders[key] = reader if reader.leads_for is not None else Reader(parts=(reader,))
            leader.leads_for = leader.leads_for or reader
            READER.set(leader)
        elif (leading := self._leaders.get(key)) is not None:
            leading.parts.append(reader.leads_for or reader)

    def land(self, key: Hashable, outcome: Answer | GatewayError | None) -> None:
        """End the read: with its answer, its failure, or None where the caller is cancelled."""
        # A copy that is never raised: callers may change what they raise, and a traceback holds what was read.
        self._in_flight.pop(key).set_result(copy.copy(outcome) if isinstance(outcome, GatewayError) else outcome)
        if self._leaders and (leader := self._leaders.pop(key, None)) is not None:
            READER.set(leader.leads_for)


async def follow(flight: asyncio.Future[Answer | GatewayError | None], until: float | None) -> Answer | None:
    """Return the answer of the first caller's read; None where that caller was cancelled or its deadline ended it.

    Raises TimeoutError at `until` (seconds of the monotonic clock), and what the read raises, as a copy per caller.
    """
    await asyncio.wait((flight,), timeout=None if until is None else max(until - time.monotonic(), 0.0))
    if not flight.done():
        raise TimeoutError
    outcome = flight.result()
    if isinstance(outcome, DeadlineExceeded):
        return None
    if isinstance(outcome, GatewayError):
        raise copy.copy(outcome)
    return outcome


def outcome_of(task: asyncio.Task[Answer]) -> Answer:
    """Return the answer of a shared task; raises TimeoutError where it has none yet, else what it raises, as a copy."""
    if not task.done():
        raise TimeoutError
    if task.cancelled():
        # The read was cancelled, not this caller.
        raise UpstreamUnavailable("the read was abandoned; try again")
    error = task.exception()
    if isinstance(error, GatewayError):
        # One exception object raised in several tasks would collect all their tracebacks.
        raise copy.copy(error) from None
    return task.result()


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
