"""Documents of off-chain APIs: how often they are asked for, and for how long they are answered."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from server.apis import documents
from server.apis.documents import DocumentRequest, Fetched
from server.errors import DeadlineExceeded, UpstreamUnavailable
from tests.server.apis.scripted import WALL, Api, read, settle, store_of


async def test_a_document_is_asked_for_once_within_its_lifetime() -> None:
    api = Api()
    async with store_of(api) as (store, clock):
        first, status = await read(store)
        assert (first.value, first.is_stale, status) == (1, False, "miss")
        assert first.read_at == datetime.fromtimestamp(WALL + 1000, UTC)
        clock.now += 59.9
        assert await read(store) == (first, "hit")
        clock.now += 0.2
        second, status = await read(store)
        assert (second.value, status) == (2, "miss")
        assert second.read_at == datetime.fromtimestamp(WALL + 1060.1, UTC)
    assert len(api.asked) == 2


async def test_a_hundred_readers_of_a_moment_are_one_request() -> None:
    api = Api()
    async with store_of(api) as (store, _):
        found = await asyncio.gather(*(read(store) for _ in range(100)))
    assert {(document.value, status) for document, status in found} == {(1, "miss")}
    assert len(api.asked) == 1


async def test_documents_of_one_source_are_kept_apart() -> None:
    api = Api()
    async with store_of(api) as (store, _):
        requests = [DocumentRequest("api", (chain,)) for chain in ("ethereum", "base", "ethereum")]
        assert [(await read(store, request))[0].value for request in requests] == [1, 2, 1]
    assert api.asked == [("ethereum",), ("base",)]


async def test_the_time_of_a_document_is_its_own_where_it_has_one() -> None:
    own = datetime(2026, 11, 1, tzinfo=UTC)
    api = Api()
    api.answer = lambda number: Fetched("x", read_at=own)
    async with store_of(api) as (store, _):
        assert (await read(store))[0].read_at == own


async def test_what_has_not_changed_stays_the_same_object_and_is_as_new_as_it_was_asked_for() -> None:
    api, value = Api(), object()
    async with store_of(api) as (store, clock):
        api.answer = lambda number: Fetched(value)
        first, _ = await read(store)
        api.answer = lambda number: api.previous[-1] or Fetched(None)
        clock.now += 61
        second, _ = await read(store)
    assert api.previous[0] is None
    assert api.previous[1] == Fetched(value)
    assert second.value is first.value
    assert (second.read_at - first.read_at).total_seconds() == 61


async def test_a_document_in_use_is_refreshed_before_its_lifetime_ends_and_nobody_waits() -> None:
    api = Api(lifetime=5.0, is_refreshed=True)
    async with store_of(api) as (store, clock):
        assert (await read(store))[0].value == 1
        for _ in range(30):
            await clock.pass_by(2.0)
            _, status = await read(store)
            assert status == "hit"
        assert 12 <= len(api.asked) <= 20
        # Even who comes only now and then does not wait.
        await clock.pass_by(20.0)
        assert (await read(store))[1] == "hit"
        await clock.pass_by(documents.ASKED_SECONDS + 5)
        count = len(api.asked)
        await clock.pass_by(3600)
        assert len(api.asked) == count, "an idle gateway sends nothing"
        assert clock.sleepers == 0
        assert (await read(store))[1] == "miss"
        assert len(api.asked) == count + 1


async def test_a_document_that_is_not_refreshed_is_asked_for_by_its_readers_alone() -> None:
    api = Api(lifetime=5.0)
    async with store_of(api) as (store, clock):
        await read(store)
        await clock.pass_by(4.9)
        await read(store)
        await clock.pass_by(3600)
        assert clock.sleepers == 0
    assert len(api.asked) == 1


async def test_a_slow_source_is_asked_earlier_and_by_one_request_at_a_time() -> None:
    api = Api(lifetime=10.0, is_refreshed=True)
    async with store_of(api) as (store, clock):
        api.gate = asyncio.Event()
        reading = asyncio.create_task(read(store))
        await settle()
        clock.now += 2.0
        api.gate.set()
        assert (await reading)[0].value == 1
        await clock.pass_by(3.9)
        assert len(api.asked) == 1
        api.gate = asyncio.Event()
        await clock.pass_by(0.2)
        assert len(api.asked) == 2
        assert (await read(store))[1] == "hit"
        await clock.pass_by(3.0)
        assert (await read(store))[1] == "hit"
        assert len(api.asked) == 2


async def test_past_its_lifetime_a_document_is_answered_while_the_source_fails_and_says_so() -> None:
    api = Api(lifetime=60.0, stale_for=3600.0)
    async with store_of(api) as (store, clock):
        first, _ = await read(store)
        api.fail()
        clock.now += 3599
        stale, status = await read(store)
        assert (stale.value, stale.read_at, stale.is_stale, status) == (1, first.read_at, True, "stale")
        clock.now += 6
        with pytest.raises(UpstreamUnavailable, match="api failed") as raised:
            await read(store)
        assert raised.value.retry_after_ms == 5000
        api.answer = lambda number: Fetched("back")
        clock.now += 6
        back, status = await read(store)
        assert (back.value, back.is_stale, status) == ("back", False, "miss")


async def test_a_failing_source_is_left_alone_however_many_ask() -> None:
    api = Api()
    api.fail()
    async with store_of(api) as (store, clock):
        for _ in range(10):
            found = await asyncio.gather(*(read(store) for _ in range(20)), return_exceptions=True)
            assert all(isinstance(one, UpstreamUnavailable) for one in found)
            assert len({id(one) for one in found}) == 20
            clock.now += 1.0
        assert len(api.asked) == 2
        api.fail(UpstreamUnavailable("api throttles", retry_after_ms=30_000))
        await asyncio.gather(read(store), return_exceptions=True)
        clock.now += 29
        with pytest.raises(UpstreamUnavailable, match="api throttles"):
            await read(store)
        assert len(api.asked) == 3
        clock.now += 2
        await asyncio.gather(read(store), return_exceptions=True)
        assert len(api.asked) == 4


async def test_a_failing_source_is_not_stormed_in_the_background_either() -> None:
    api = Api(lifetime=5.0, stale_for=300.0, is_refreshed=True)
    async with store_of(api) as (store, clock):
        await read(store)
        api.fail()
        for _ in range(20):
            await clock.pass_by(1.0)
            await read(store)
        assert 3 <= len(api.asked) <= 5


async def test_readers_wait_for_a_slow_source_a_little_if_there_is_an_older_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(documents, "LONGEST_WAIT", 0.05)
    api = Api()
    async with store_of(api) as (store, clock):
        await read(store)
        clock.now += 61
        api.gate = asyncio.Event()
        found = await asyncio.wait_for(read(store), 5)
        assert (found[0].value, found[0].is_stale, found[1]) == (1, True, "stale")
        api.gate.set()
        await settle()
        assert (await read(store))[0].value == 2
    assert len(api.asked) == 2


async def test_without_an_older_document_readers_wait_until_their_deadline_and_the_source_is_asked_on() -> None:
    api = Api()
    async with store_of(api) as (store, _):
        api.gate = asyncio.Event()
        with pytest.raises(DeadlineExceeded, match="api did not answer in time"):
            await read(store, seconds=0.05)
        reading = asyncio.create_task(read(store))
        await settle()
        reading.cancel()
        api.gate.set()
        await settle()
        assert (await read(store))[1] == "hit"
    assert len(api.asked) == 1


async def test_a_source_that_never_answers_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "FETCH_SECONDS", 0.05)
    api = Api()
    api.gate = asyncio.Event()
    async with store_of(api) as (store, _):
        with pytest.raises(DeadlineExceeded, match="api did not answer within"):
            await asyncio.wait_for(read(store), 5)
