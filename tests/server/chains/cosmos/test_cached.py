"""What is kept of Cosmos chains: state under its height, documents for good, and what is reported apart."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet import known_cosmos as known
from devnet.cosmos.process import CosmosChains
from devnet.cosmos.world import CHAINS, address, operator
from devnet.watchdog import Watchdog
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from tests.faults.families.relay import Answer, Ask, relay
from tests.operations import Operations
from tests.server.chains.cosmos.conftest import settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE, BOB = address(HUB, known.ALICE), address(HUB, known.BOB)
STAKED = HUB.first + known.STAKED_AT
HEAD = HUB.first + known.SEEDED_BLOCKS


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def still() -> AsyncIterator[CosmosChains]:
    chains = CosmosChains(["cosmoshub"], mines=False)
    with Watchdog() as guard:
        await chains.start(guard)
        yield chains
        await chains.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def cached(still: CosmosChains, tally: EndpointTally) -> AsyncIterator[Any]:
    async with open_session() as http:
        chains = Chains.load(settings_of(still), http, observer=tally, cache=Cache(1 << 20))
        driver: Any = Operations(chains.get("cosmoshub"))
        assert await driver.read_height(ReadView()) == HEAD
        await driver.pools["comet"].call("status", [])
        tally.requests.clear()
        yield driver
        await chains.close()


async def test_time_alone_makes_no_block_where_none_is_wanted(cached: Any) -> None:
    # The seeded blocks are of the past: a chain that keeps pace would have made one for the first question.
    assert await cached.read_height(ReadView()) == HEAD


async def test_state_is_asked_once(cached: Any, tally: EndpointTally) -> None:
    reads = [
        lambda view: cached.read_token_balance(BOB, HUB.denom, view),
        lambda view: cached.read_token_metadata(HUB.denom, view),
        lambda view: cached.read_supply(HUB.denom, view),
        lambda view: cached.read_account(ALICE, view),
        lambda view: cached.read_delegations(ALICE, view),
        lambda view: cached.read_unbondings(ALICE, view),
        lambda view: cached.read_rewards(ALICE, view),
        lambda view: cached.read_pool(view),
        lambda view: cached.read_validators("BOND_STATUS_BONDED", view),
        lambda view: cached.read_validator(operator(HUB, 1), view),
    ]
    for number, read in enumerate(reads, start=1):
        first, use = ReadView(cache=CacheContext()), CacheContext()
        answer = await read(first)
        assert first.cache is not None
        assert (first.cache.status, first.block) == ("miss", HEAD)
        again = ReadView(cache=use)
        assert await read(again) == answer
        assert (use.status, again.block) == ("hit", HEAD)
        assert len(tally.requests) == number


async def test_heights_are_reported_apart(cached: Any, tally: EndpointTally) -> None:
    async def held(height: int | None) -> int:
        return int((await cached.read_token_balance(BOB, HUB.denom, ReadView(height))).raw)

    before, after = HUB.first + known.SENT_AT - 1, HUB.first + known.SENT_AT
    for _ in range(2):
        assert [await held(before), await held(after), await held(None)] == [0, known.SENT, known.SENT]
    assert len(tally.requests) == 3


async def test_amounts_beyond_64_bits_are_kept_whole(cached: Any) -> None:
    from server.chains.capabilities.accounts import Balance
    from server.chains.cosmos.bank import _CACHED_BALANCE

    for balance in (Balance("a", None, 2**200, None, "t"), Balance("a", 5, 0, 6, "t")):
        assert _CACHED_BALANCE.decode(_CACHED_BALANCE.encode(balance)) == balance


async def test_documents_are_kept_for_good_once_nodes_tell_a_later_head(cached: Any, tally: EndpointTally) -> None:
    block = await cached.read_block_by_number(STAKED, ReadView())
    listed = (await cached.read_block_transactions(STAKED, ReadView())).cosmos
    receipt = await cached.read_receipt(listed.transactions[0].txhash, ReadView())
    results = await cached.read_block_results(STAKED, ReadView())
    by_hash = await cached.read_block_by_hash(block.cosmos.hash.lower(), ReadView())
    found = await cached.read_transaction(listed.transactions[0].txhash, ReadView())
    tally.requests.clear()
    assert await cached.read_block_by_number(STAKED, ReadView()) == block
    assert (await cached.read_block_transactions(STAKED, ReadView())).cosmos == listed
    assert await cached.read_receipt(listed.transactions[0].txhash.lower(), ReadView()) == receipt
    assert await cached.read_block_results(STAKED, ReadView()) == results
    assert await cached.read_block_by_hash(block.cosmos.hash, ReadView()) == by_hash
    assert await cached.read_transaction(listed.transactions[0].txhash, ReadView()) == found
    assert tally.requests == []


async def test_blocks_are_final_once_they_are_made(cached: Any) -> None:
    old = HUB.first
    # Near the head finality is not asked for: the head is made to look far away.
    cached.pool.observe_head("model", HEAD + 20)
    await cached.read_block_by_number(old, ReadView())
    await cached.memory.finality.settled()
    assert cached.memory.finality.block == HEAD


async def test_the_same_question_at_once_is_asked_once(cached: Any, tally: EndpointTally) -> None:
    answers = await asyncio.gather(*(cached.read_supply(HUB.denom, ReadView(cache=CacheContext())) for _ in range(20)))
    assert len({answer.amount for answer in answers}) == 1
    assert len(tally.requests) == 1


async def test_answers_without_a_height_are_believed_and_not_kept(still: CosmosChains, tally: EndpointTally) -> None:
    """A proxy may hide the header that tells it."""

    async def hide(ask: Ask) -> Answer:
        reported = await ask.answer()
        return Answer(reported.status, reported.body, {"Content-Type": "application/json"})

    async with aiohttp.ClientSession() as plain, open_session() as http, AsyncExitStack() as stack:
        relays = [await stack.enter_async_context(relay(still.endpoints["cosmoshub"][0].url, plain)) for _ in range(3)]
        for one in relays:
            one.fault = hide
        endpoints = [{"label": f"n{index}", "url": one.url, "kind": "rest"} for index, one in enumerate(relays)]
        settings = {"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}}
        chains = Chains.load(Settings.model_validate(settings), http, observer=tally, cache=Cache(1 << 20))
        driver: Any = Operations(chains.get("cosmoshub"))
        for _ in range(3):
            view = ReadView(cache=CacheContext())
            assert (await driver.read_token_balance(BOB, HUB.denom, view)).raw == known.SENT
            assert view.cache is not None
            assert (view.block, view.cache.status) == (None, "miss")
        assert len(tally.requests) == 3
        assert await driver.read_height(ReadView()) == HEAD
        await chains.close()
