"""Callers that share one flight: what each gets, and when the flight ends."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import NotFound, UpstreamUnavailable
from server.upstream.single_flight import SharedDeadline, SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

FAR = 3600.0


class Trip:
    """A flight that lands when told to."""

    def __init__(self) -> None:
        self.starts = 0
        self.is_cancelled = False
        self.patience: SharedDeadline | None = None
        self._landed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self, patience: SharedDeadline) -> str:
        self.starts += 1
        self.patience = patience
        try:
            return await self._landed
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise

    def land(self, answer: str) -> None:
        self._landed.set_result(answer)

    def fail(self, error: Exception) -> None:
        self._landed.set_exception(error)


def boarding(flights: SingleFlight[str], trip: Trip) -> Callable[..., Coroutine[Any, Any, asyncio.Task[str]]]:
    async def board(seconds: float = FAR) -> asyncio.Task[str]:
        until = time.monotonic() + seconds
        task = asyncio.create_task(flights.join("key", until, trip.start, time.monotonic))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task

    return board


async def test_callers_of_one_key_share_a_flight_and_its_answer() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    callers = [await board() for _ in range(3)]
    assert "key" in flights
    trip.land("answer")
    assert await asyncio.gather(*callers) == ["answer"] * 3
    assert trip.starts == 1
    assert len(flights) == 0


async def test_a_flight_goes_on_without_the_caller_who_began_it() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    first, second = await board(), await board()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not trip.is_cancelled
    trip.land("answer")
    assert await second == "answer"


async def test_a_flight_ends_when_nobody_waits_any_more() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    for task in [await board(), await board()]:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.sleep(0)
    assert trip.is_cancelled
    assert len(flights) == 0


async def test_each_caller_waits_as_long_as_it_said() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    hasty = await board(0.01)
    assert trip.patience is not None
    first = trip.patience.until
    patient = await board(FAR)
    assert trip.patience.until > first + FAR / 2, "the flight takes the time of whoever waits longest"
    with pytest.raises(TimeoutError):
        await hasty
    assert not trip.is_cancelled
    trip.land("answer")
    assert await patient == "answer"


async def test_an_error_is_raised_in_every_caller_as_an_object_of_its_own() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    callers = [await board() for _ in range(2)]
    error = NotFound("it is not there")
    trip.fail(error)
    raised = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(one) for one in raised] == [NotFound, NotFound]
    assert [str(one) for one in raised] == [str(error)] * 2
    assert len({id(one) for one in (*raised, error)}) == 3


async def test_whoever_waits_is_told_when_a_flight_is_given_up() -> None:
    flights, trip = SingleFlight[str](), Trip()
    board = boarding(flights, trip)
    caller = await board()
    await flights.close()
    with pytest.raises(UpstreamUnavailable, match="abandoned"):
        await caller
    assert trip.is_cancelled


async def test_the_error_of_a_flight_that_nobody_waits_for_is_no_report_of_the_loop() -> None:
    flights = SingleFlight[str]()
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()

    async def stumbles(patience: SharedDeadline) -> str:
        try:
            await asyncio.sleep(FAR)
        finally:
            raise NotFound("too late")

    task = asyncio.create_task(flights.join("key", time.monotonic() + FAR, stumbles, time.monotonic))
    await asyncio.sleep(0.01)
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    try:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.01)
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert reported == []
