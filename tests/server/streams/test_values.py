"""Values are read once for all streams that watch them, and only for streams that go on and have paid."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import GatewayError, RateLimited, UpstreamUnavailable
from server.streams.values import Moment, Reading, WatchedValues, gather_outcomes, read_looks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

LONG = 3600.0


class Source:
    """What is watched: the values of `now` by item, and the moments that the test makes."""

    def __init__(self) -> None:
        self.now: dict[str, Any] = {"a": 1, "b": 1, "c": 1}
        self.read: list[list[str]] = []
        self.known: Mapping[str, Any] = {}
        self.followed = 0
        self.behind = 0
        self._moments: asyncio.Queue[Moment] = asyncio.Queue()

    async def moments(self) -> AsyncGenerator[Moment]:
        self.followed += 1
        yield Moment()
        while True:
            yield await self._moments.get()

    def move(self, **values: Any) -> None:
        """Set values; they may have changed from now on."""
        self.now |= values
        self._moments.put_nowait(Moment())

    async def look(self, items: Sequence[str], moment: Moment, known: Mapping[str, Any]) -> Reading[str, int]:
        self.read.append(sorted(items))
        self.known = dict(known)
        outcomes = {item: self.now[item] for item in items}
        for outcome in outcomes.values():
            if isinstance(outcome, Exception) and not isinstance(outcome, GatewayError):
                raise outcome
        self.behind -= 1
        return Reading(outcomes, self.behind >= 0)

    def values(self, pace: float = 0.0) -> WatchedValues[str, int]:
        return WatchedValues(self.moments, self.look, pace=pace)


@pytest.fixture
def source() -> Source:
    return Source()


class Stream:
    """One stream over some items, and what it paid."""

    def __init__(self, values: WatchedValues[str, int], *items: str) -> None:
        self.paid: list[int] = []
        self.may_pay = asyncio.Event()
        self.may_pay.set()
        self.looks = read_looks((values.watch(items, asyncio.Event()),), self._charge)

    async def _charge(self, units: int) -> None:
        await self.may_pay.wait()
        self.paid.append(units)

    async def next(self) -> dict[str, Any]:
        """Return what the next look brought, by item."""
        async with asyncio.timeout(10):
            _, seen = await anext(self.looks)
        return {item: one.outcome for item, one in seen.items()}

    async def is_silent(self, seconds: float = 0.1) -> bool:
        """Return whether no look is done for so long; it ends the stream."""
        try:
            async with asyncio.timeout(seconds):
                await anext(self.looks)
        except TimeoutError:
            return True
        return False


@asynccontextmanager
async def open_streams(values: WatchedValues[str, int], *items: str) -> AsyncIterator[list[Stream]]:
    """Streams over the items, one for each text of their letters."""
    streams = [Stream(values, *letters) for letters in items]
    try:
        yield streams
    finally:
        for stream in streams:
            await stream.looks.aclose()


async def test_what_several_streams_watch_is_read_once_for_all(source: Source) -> None:
    async with open_streams(source.values(), "ab", "bc", "b") as streams:
        first = await asyncio.gather(*(stream.next() for stream in streams))
        assert first == [{"a": 1, "b": 1}, {"b": 1, "c": 1}, {"b": 1}]
        assert source.read == [["a", "b", "c"]]
        later = asyncio.gather(*(stream.next() for stream in streams))
        await asyncio.sleep(0)
        source.move(b=2)
        assert await later == [{"a": 1, "b": 2}, {"b": 2, "c": 1}, {"b": 2}]
        assert source.read == [["a", "b", "c"]] * 2
        assert [stream.paid for stream in streams] == [[2, 2], [2, 2], [1, 1]]
        assert source.known == {"a": 1, "b": 1, "c": 1}


async def test_a_stream_that_comes_later_is_given_what_is_known(source: Source) -> None:
    values = source.values(LONG)
    async with open_streams(values, "ab") as [stream]:
        await stream.next()
        async with open_streams(values, "b", "bc") as [known, other]:
            assert await known.next() == {"b": 1}
            assert source.read == [["a", "b"]]
            # What was never seen does not wait for the pace; what was is not read for it.
            assert await other.next() == {"b": 1, "c": 1}
            assert source.read == [["a", "b"], ["c"]]
            assert (known.paid, other.paid) == ([1], [2])


async def test_looks_keep_the_pace(source: Source) -> None:
    async with open_streams(source.values(LONG), "a") as [stream]:
        await stream.next()
        source.move(a=2)
        source.move(a=3)
        assert await stream.is_silent()
        assert source.read == [["a"]]
    async with open_streams(source.values(0.05), "a") as [stream]:
        await stream.next()
        source.move(a=4)
        source.move(a=5)
        assert await stream.next() == {"a": 5}


async def test_a_stream_that_does_not_go_on_costs_nothing_and_then_sees_the_present(source: Source) -> None:
    async with open_streams(source.values(), "a", "b") as [slow, quick]:
        await asyncio.gather(slow.next(), quick.next())
        source.read.clear()
        for value in (2, 3):
            coming = asyncio.create_task(quick.next())
            await asyncio.sleep(0)
            source.move(a=value, b=value)
            assert await coming == {"b": value}
        assert source.read == [["b"], ["b"]]
        assert await slow.next() == {"a": 3}
        assert source.read == [["b"], ["b"], ["a"]]


async def test_nothing_is_read_for_a_stream_that_has_still_to_pay(source: Source) -> None:
    async with open_streams(source.values(), "a") as [stream]:
        stream.may_pay.clear()
        coming = asyncio.create_task(stream.next())
        await asyncio.sleep(0.05)
        source.move(a=2)
        source.move(a=3)
        await asyncio.sleep(0.05)
        assert (source.read, stream.paid) == ([["a"]], [])
        stream.may_pay.set()
        assert await coming == {"a": 1}
        assert await stream.next() == {"a": 3}
        assert stream.paid == [1, 1]


async def test_a_stream_without_quota_ends_with_the_refusal(source: Source) -> None:
    async def refuse(units: int) -> None:
        raise RateLimited("no quota", retry_after_ms=1000)

    values = source.values()
    async with aclosing(read_looks((values.watch(["a"], asyncio.Event()),), refuse)) as looks:
        with pytest.raises(RateLimited):
            await anext(looks)
    source.move(a=2)
    await asyncio.sleep(0.05)
    assert source.read == [["a"]]


async def test_failures_are_values_as_well_and_a_defect_does_not_silence_streams(source: Source) -> None:
    source.now["a"] = UpstreamUnavailable("away")
    async with open_streams(source.values(), "ab") as [stream]:
        found = await stream.next()
        assert (found["a"].reason, found["b"]) == ("UPSTREAM_UNAVAILABLE", 1)
        source.move(a=ZeroDivisionError())
        found = await stream.next()
        assert (found["a"].reason, found["b"].reason) == ("INTERNAL", "INTERNAL")
        source.move(a=7)
        assert await stream.next() == {"a": 7, "b": 1}


async def test_the_source_is_followed_only_while_streams_watch(source: Source) -> None:
    values = source.values()
    async with open_streams(values, "a", "b") as streams:
        await asyncio.gather(*(stream.next() for stream in streams))
        assert source.followed == 1
    assert values.seen == {}
    source.move(a=2)
    await asyncio.sleep(0.05)
    assert source.read == [["a", "b"]]
    async with open_streams(values, "a") as [stream]:
        assert await stream.next() == {"a": 2}
        assert source.followed == 2
    await values.close()


async def test_what_was_behind_its_block_is_read_again(source: Source) -> None:
    source.behind = 2
    async with open_streams(source.values(0.01), "a") as [stream]:
        for _ in range(3):
            assert await stream.next() == {"a": 1}
        assert await stream.is_silent(0.5)
        assert len(source.read) == 3


async def test_a_look_under_way_is_shared_and_a_later_moment_has_another(source: Source) -> None:
    release = asyncio.Event()
    reads: list[int] = []

    async def look(items: Sequence[str], moment: Moment, known: Mapping[str, Any]) -> Reading[str, int]:
        reads.append(len(reads))
        value = reads[-1]
        await release.wait()
        return Reading(dict.fromkeys(items, value))

    values: WatchedValues[str, int] = WatchedValues(source.moments, look, pace=0.0)
    async with open_streams(values, "a", "a") as [one, other]:
        first = asyncio.create_task(one.next())
        await asyncio.sleep(0.02)
        second = asyncio.create_task(other.next())
        await asyncio.sleep(0.02)
        assert reads == [0]
        source.move()
        await asyncio.sleep(0.02)
        release.set()
        assert (await first, await second) == ({"a": 0}, {"a": 0})
        assert await asyncio.gather(one.next(), other.next()) == [{"a": 1}, {"a": 1}]
        assert reads == [0, 1]


async def test_what_is_sent_is_made_once() -> None:
    seen = await _one_seen()
    made: list[bytes] = []

    def write() -> bytes:
        made.append(b"payload")
        return made[-1]

    assert seen.payload(0, write) is seen.payload(0, write)
    seen.payload(1, write)
    assert len(made) == 2


async def _one_seen() -> Any:
    source = Source()
    async with aclosing(read_looks((source.values().watch(["a"], asyncio.Event()),), _free)) as looks:
        _, seen = await anext(looks)
        return seen["a"]


async def _free(units: int) -> None:
    return None


async def test_outcomes_are_gathered_with_their_failures_and_defects_are_raised() -> None:
    async def bring(outcome: Any) -> int:
        if isinstance(outcome, Exception):
            raise outcome
        value: int = outcome
        return value

    found = await gather_outcomes({"a": bring(1), "b": bring(UpstreamUnavailable("away"))})
    assert found["a"] == 1
    assert isinstance(found["b"], UpstreamUnavailable)
    with pytest.raises(ZeroDivisionError):
        await gather_outcomes({"a": bring(ZeroDivisionError())})
