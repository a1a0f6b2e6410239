"""One of three endpoints dead, behind, pruned, throttling, of another chain."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_solana as known
from server.chains.view import ReadView
from server.errors import NotFound, UpstreamUnavailable
from tests.contract.solana.conftest import drive, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.solana.ledger import Ledger
    from tests.contract.solana.conftest import Front, Tally

DEAD = "http://127.0.0.1:9"
BEHIND = {"error": {"code": -32005, "message": "Node is behind by 900 slots", "data": {"numSlotsBehind": 900}}}


@pytest.fixture
async def fronts(ledger: Ledger) -> AsyncIterator[list[Front]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(serve(ledger)) for _ in range(3)]


async def _read_everything(driver: Any) -> None:
    alice, usdc = str(known.ALICE), str(known.USDC)
    for _ in range(4):
        assert (await driver.read_balance(alice, ReadView())).raw == known.ALICE_LAMPORTS
        assert (await driver.read_token_balance(alice, usdc, ReadView())).raw == sum(known.ALICE_USDC)
        assert (await driver.read_token_metadata(usdc, ReadView())).solana.symbol == "USDC"
        assert (await driver.read_block_by_number(known.FIRST_SLOT + 1, ReadView())).solana.hash


async def test_a_dead_endpoint(fronts: list[Front], tally: Tally):
    async with drive(tally, dead=DEAD, one=fronts[0].url, two=fronts[1].url) as driver:
        await _read_everything(driver)
        assert (await driver.read_health()).state == "ok"


async def test_another_chain_is_never_asked(fronts: list[Front], tally: Tally):
    fronts[0].twists["getGenesisHash"] = lambda _: {"result": "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"}
    async with drive(tally, devnet=fronts[0].url, one=fronts[1].url, two=fronts[2].url) as driver:
        await _read_everything(driver)
    assert {method for method, _ in fronts[0].asked} <= {"getGenesisHash"}


async def test_a_pruned_endpoint_fails_over(fronts: list[Front], tally: Tally):
    words = "Block cleaned up, does not exist on node. First available block: 299999999"
    fronts[0].twists["getBlock"] = lambda _: {"error": {"code": -32001, "message": words}}
    fronts[1].twists["getBlock"] = lambda _: {"error": {"code": -32011, "message": "Transaction history is off"}}
    async with drive(tally, pruned=fronts[0].url, bare=fronts[1].url, whole=fronts[2].url) as driver:
        assert (await driver.read_block_by_number(known.FIRST_SLOT + 1, ReadView())).solana.hash
        # The node that has the history knows that there is no block; the others only lack it.
        with pytest.raises(NotFound):
            await driver.read_block_by_number(known.SKIPPED[0], ReadView())


async def test_a_throttling_endpoint_is_spared(fronts: list[Front], tally: Tally):
    limit = {"error": {"code": -32005, "message": "daily request count exceeded, request rate limited"}}
    for method in ("getBalance", "getTokenAccountsByOwner", "getMultipleAccounts", "getBlock"):
        fronts[0].twists[method] = lambda _: limit
    async with drive(tally, mean=fronts[0].url, one=fronts[1].url, two=fronts[2].url) as driver:
        await _read_everything(driver)


async def test_health_of_nodes_behind(fronts: list[Front], tally: Tally):
    urls = {"one": fronts[0].url, "two": fronts[1].url}
    async with drive(tally, **urls) as driver:
        fronts[0].twists["getHealth"] = lambda _: BEHIND
        assert (await driver.read_health()).state == "ok"
        fronts[1].twists["getHealth"] = lambda _: BEHIND
        assert (await driver.read_health()).state == "degraded"
        assert driver.last_state() == "degraded"
        lacking = {"error": {"code": -32601, "message": "Method not found"}}
        fronts[1].twists["getHealth"] = lambda _: lacking
        assert (await driver.read_health()).state == "ok"
    async with drive(tally, dead=DEAD) as driver:
        assert (await driver.read_health()).state == "down"
        with pytest.raises(UpstreamUnavailable):
            await driver.read_balance(str(known.ALICE), ReadView())
