"""Documents of off-chain APIs: what else sources answer, how many documents are kept, who asks for new ones."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from server.apis.documents import MOST_BYTES, MOST_KEPT, Document, DocumentRequest, Fetched
from server.errors import GatewayError, NotFound, ResponseTooLarge, UpstreamUnavailable
from tests.server.apis.scripted import WALL, Api, read, settle, store_of


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        (Fetched("x", size=MOST_BYTES - 1), None),
        (Fetched("x", size=MOST_BYTES), UpstreamUnavailable),
        (ResponseTooLarge("the node's answer is larger than the gateway reads"), UpstreamUnavailable),
        (ZeroDivisionError("secret figures"), UpstreamUnavailable),
        (NotFound("no such wallet"), NotFound),
    ],
)
async def test_what_a_source_answers_instead_of_a_document(
    answered: Fetched | Exception, expected: type[GatewayError] | None
) -> None:
    api = Api()
    if isinstance(answered, Exception):
        api.fail(answered)
    else:
        fetched = answered
        api.answer = lambda number: fetched
    async with store_of(api) as (store, _):
        if expected is None:
            assert (await read(store))[0].value == "x"
            return
        with pytest.raises(expected) as raised:
            await read(store)
        assert "secret" not in raised.value.message
        if expected is UpstreamUnavailable:
            assert "api" in raised.value.message


async def test_what_a_source_answers_is_no_failure_that_an_older_document_stands_for() -> None:
    api = Api()
    async with store_of(api) as (store, clock):
        await read(store)
        clock.now += 61
        api.fail(NotFound("no such wallet"))
        with pytest.raises(NotFound):
            await read(store)


async def test_the_documents_of_a_source_are_bounded_and_the_least_used_go() -> None:
    api = Api(is_refreshed=True)
    async with store_of(api) as (store, clock):
        for number in range(MOST_KEPT):
            await read(store, DocumentRequest("api", (number,)))
        await read(store, DocumentRequest("api", (0,)))
        await read(store, DocumentRequest("api", ("one more",)))
        assert (await read(store, DocumentRequest("api", (0,))))[1] == "hit"
        await settle()
        assert clock.sleepers == MOST_KEPT
        assert (await read(store, DocumentRequest("api", (1,))))[1] == "miss"


async def test_documents_that_are_being_asked_for_are_bounded_as_well() -> None:
    api = Api()
    api.gate = asyncio.Event()
    async with store_of(api) as (store, _):
        reading = [asyncio.create_task(read(store, DocumentRequest("api", (number,)))) for number in range(MOST_KEPT)]
        await settle()
        with pytest.raises(UpstreamUnavailable, match="too many documents"):
            await read(store, DocumentRequest("api", ("one more",)))
        api.gate.set()
        await asyncio.gather(*reading)


async def test_a_caller_that_bypasses_the_cache_gets_a_new_document_but_not_every_moment() -> None:
    api = Api()
    async with store_of(api) as (store, clock):
        await read(store)
        assert await read(store, bypass=True) == (
            Document(1, datetime.fromtimestamp(WALL + 1000, UTC), False),
            "bypass",
        )
        clock.now += 1.0
        found, status = await read(store, bypass=True)
        assert (found.value, status) == (2, "bypass")


async def test_what_is_within_its_lifetime_is_not_stale_for_a_caller_that_wanted_a_newer_one() -> None:
    api = Api()
    async with store_of(api) as (store, clock):
        await read(store)
        clock.now += 2.0
        api.fail()
        for _ in range(2):
            found, status = await read(store, bypass=True)
            assert (found.value, found.is_stale, status) == (1, False, "bypass")
    assert len(api.asked) == 2


async def test_without_a_cache_every_reading_asks_and_those_of_a_moment_share() -> None:
    api = Api(is_refreshed=True)
    async with store_of(api, is_kept=False) as (store, clock):
        await asyncio.gather(*(read(store) for _ in range(10)))
        assert len(api.asked) == 1
        assert (await read(store))[0].value == 2
        api.fail()
        with pytest.raises(UpstreamUnavailable):
            await read(store)
        assert clock.sleepers == 0


async def test_an_unknown_source_is_switched_off() -> None:
    async with store_of(Api()) as (store, _):
        with pytest.raises(UpstreamUnavailable, match="other is switched off"):
            await read(store, DocumentRequest("other"))


async def test_nothing_is_left_behind_by_a_store_that_is_closed() -> None:
    api = Api(is_refreshed=True)
    before = asyncio.all_tasks()
    async with store_of(api) as (store, _):
        await read(store)
        api.gate = asyncio.Event()
        reading = asyncio.create_task(read(store, DocumentRequest("api", ("slow",))))
        await settle()
    await asyncio.gather(reading, return_exceptions=True)
    await settle()
    assert asyncio.all_tasks() <= before
