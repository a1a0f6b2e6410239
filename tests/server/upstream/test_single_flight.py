"""Callers that share one read: what each gets, when the read ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import DeadlineExceeded, NotFound, UpstreamUnavailable
from server.upstream.single_flight import InlineFlight, SharedDeadline, SingleFlight, follow, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

FAR = 3600.0


class Trip:
    """A read that ends when the test lets it."""

    def __init__(self) -> None:
        self.starts = 0
        self.is_cancelled = False
        self.waits_until: SharedDeadline | None = None
        self._landed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self, waits_until: SharedDeadline) -> str:
        self.starts += 1
        self.waits_until = waits_until
        try:
            return await self._landed
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise

    def land(self, answer: str) -> None:
        self._landed.set_result(answer)

    def fail(self, error: Exception) -> None:
        self._landed.set_exception(error)


def boarding(reads: SingleFlight[str], trip: Trip) -> Callable[..., Coroutine[Any, Any, asyncio.Task[str]]]:
    async def board(seconds: float = FAR) -> asyncio.Task[str]:
        until = time.monotonic() + seconds
        task = asyncio.create_task(reads.join("key", until, trip.start, time.monotonic))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task

    return board


async def test_callers_of_one_key_share_a_flight_and_its_answer() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    callers = [await board() for _ in range(3)]
    assert "key" in reads
    trip.land("answer")
    assert await asyncio.gather(*callers) == ["answer"] * 3
    assert trip.starts == 1
    assert len(reads) == 0


async def test_a_flight_goes_on_without_the_caller_who_began_it() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    first, second = await board(), await board()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not trip.is_cancelled
    trip.land("answer")
    assert await second == "answer"
    assert trip.starts == 1
    assert len(reads) == 0


async def test_a_flight_ends_when_nobody_waits_any_more() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    for task in [await board(), await board()]:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.sleep(0)
    assert trip.is_cancelled
    assert len(reads) == 0


async def test_each_caller_waits_as_long_as_it_said() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    hasty = await board(0.01)
    assert trip.waits_until is not None
    first = trip.waits_until.until
    patient = await board(FAR)
    assert trip.waits_until.until > first + FAR / 2, "the shared takes the time of whoever waits longest"
    with pytest.raises(TimeoutError):
        await hasty
    assert not trip.is_cancelled
    trip.land("answer")
    assert await patient == "answer"


async def test_an_error_is_raised_in_every_caller_as_an_object_of_its_own() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    callers = [await board() for _ in range(2)]
    error = NotFound("it is not there")
    trip.fail(error)
    raised = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(one) for one in raised] == [NotFound, NotFound]
    assert [str(one) for one in raised] == [str(error)] * 2
    assert len({id(one) for one in (*raised, error)}) == 3


async def test_whoever_waits_is_reported_when_a_flight_is_given_up() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    caller = await board()
    await reads.close()
    with pytest.raises(UpstreamUnavailable, match="abandoned"):
        await caller
    assert trip.is_cancelled


async def test_the_error_of_a_flight_that_nobody_waits_for_is_no_report_of_the_loop() -> None:
    reads = SingleFlight[str]()
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()

    async def stumbles(waits_until: SharedDeadline) -> str:
        try:
            await asyncio.sleep(FAR)
        finally:
            raise NotFound("too late")

    task = asyncio.create_task(reads.join("key", time.monotonic() + FAR, stumbles, time.monotonic))
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


class _Answer:
    """An answer that can be watched going away."""


async def test_nothing_is_left_of_a_read_that_was_answered() -> None:
    reads: SingleFlight[_Answer] = SingleFlight()
    before = len(asyncio.all_tasks())

    async def read(_: SharedDeadline) -> _Answer:
        await asyncio.sleep(0)
        return _Answer()

    async def ask() -> weakref.ref[_Answer]:
        return weakref.ref(await reads.join("key", time.monotonic() + FAR, read, time.monotonic))

    kept = await asyncio.gather(ask(), ask(), ask())
    await asyncio.sleep(0)
    assert [one() for one in kept] == [None] * 3, "without the garbage collector"
    assert len(reads) == 0
    assert len(asyncio.all_tasks()) == before


async def test_who_gives_up_leaves_nothing_behind() -> None:
    reads, trip = SingleFlight[str](), Trip()
    board = boarding(reads, trip)
    hasty, patient = await board(0.01), await board()
    with pytest.raises(TimeoutError):
        await hasty
    patient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await patient
    await asyncio.sleep(0)
    assert (len(reads), trip.is_cancelled) == (0, True)


class Build:
    """A read that is started, and goes on without callers."""

    def __init__(self) -> None:
        self.starts = 0
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def run(self) -> str:
        self.starts += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return "built"


async def test_a_read_that_is_started_goes_on_without_its_callers() -> None:
    reads, build = SingleFlight[str](), Build()
    callers = [asyncio.create_task(reads.share("key", build.run)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    assert "key" in reads
    task = reads.start("key", build.run)
    with pytest.raises(TimeoutError):
        outcome_of(task)
    build.gate.set()
    await asyncio.wait((task,))
    assert (outcome_of(task), build.starts, len(reads)) == ("built", 1, 0)
    assert await reads.share("key", build.run) == "built"
    assert build.starts == 2, "what has landed is not given again"


async def test_the_failure_of_a_started_read_is_raised_as_a_copy_per_caller() -> None:
    reads, build = SingleFlight[str](), Build()
    build.error = NotFound("none")
    build.gate.set()
    raised = await asyncio.gather(*(reads.share("key", build.run) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in raised] == ["none"] * 3
    assert len({id(one) for one in (*raised, build.error)}) == 4
    assert build.starts == 1
    assert "key" not in reads


async def test_callers_of_a_started_read_that_is_given_up_hear_of_it() -> None:
    reads, build = SingleFlight[str](), Build()
    caller = asyncio.create_task(reads.share("key", build.run))
    await asyncio.sleep(0)
    await reads.close()
    with pytest.raises(UpstreamUnavailable, match="abandoned"):
        await caller
    assert len(reads) == 0


async def follower(reads: InlineFlight[str], until: float | None = None) -> asyncio.Task[str | None]:
    """Return the task of a caller who follows the first one."""
    shared = reads.join("key")
    assert shared is not None
    task = asyncio.create_task(follow(shared, until))
    await asyncio.sleep(0)
    return task


async def test_followers_get_what_the_first_caller_read() -> None:
    reads = InlineFlight[str]()
    assert reads.join("key") is None, "the first one reads"
    followers = [await follower(reads) for _ in range(3)]
    reads.land("key", "answer")
    assert len(reads) == 0
    assert await asyncio.gather(*followers) == ["answer"] * 3
    assert reads.join("key") is None, "what has landed is not given again"


async def test_a_follower_who_leaves_takes_nobody_along() -> None:
    reads = InlineFlight[str]()
    reads.join("key")
    first, second = await follower(reads), await follower(reads)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    reads.land("key", "answer")
    assert await second == "answer"


@pytest.mark.parametrize("outcome", [None, DeadlineExceeded("its own")])
async def test_followers_read_themselves_where_the_first_caller_left_or_had_no_time(outcome: Any) -> None:
    reads = InlineFlight[str]()
    reads.join("key")
    followers = [await follower(reads), await follower(reads)]
    reads.land("key", outcome)
    assert await asyncio.gather(*followers) == [None, None]
    assert reads.join("key") is None, "one of them is the next first"
    assert reads.join("key") is not None


async def test_a_failure_reaches_each_follower_as_an_object_of_its_own() -> None:
    reads = InlineFlight[str]()
    reads.join("key")
    followers = [await follower(reads) for _ in range(3)]
    error = NotFound("none")
    reads.land("key", error)
    raised = await asyncio.gather(*followers, return_exceptions=True)
    assert [str(one) for one in raised] == ["none"] * 3
    assert len({id(one) for one in (*raised, error)}) == 4


async def test_a_follower_waits_no_longer_than_to_its_own_deadline() -> None:
    reads = InlineFlight[str]()
    reads.join("key")
    hasty = await follower(reads, time.monotonic() + 0.01)
    patient = await follower(reads, time.monotonic() + FAR)
    with pytest.raises(TimeoutError):
        await hasty
    reads.land("key", "answer")
    assert await patient == "answer"


async def test_nothing_is_left_of_a_read_that_was_followed() -> None:
    reads: InlineFlight[_Answer] = InlineFlight()
    reads.join("key")
    shared = reads.join("key")
    assert shared is not None
    kept = _Answer()
    seen = weakref.ref(kept)
    reads.land("key", kept)
    assert await follow(shared, None) is kept
    del kept, shared
    assert seen() is None, "without the garbage collector"
