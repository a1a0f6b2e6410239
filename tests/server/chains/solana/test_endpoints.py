"""One of three endpoints dead, behind, pruned, throttling, of another chain."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_solana as known
from devnet.solana import world
from devnet.solana.facade import answer_one
from server.chains.capabilities.accounts import KnownAsset
from server.chains.view import ReadView
from server.errors import NotFound, UpstreamUnavailable
from tests.server.chains.solana.conftest import drive, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.solana.ledger import Ledger
    from tests.server.chains.solana.conftest import Front
    from tests.tallies import CallTally

pytestmark = pytest.mark.devnet

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


async def test_a_dead_endpoint(fronts: list[Front], tally: CallTally):
    async with drive(tally, dead=DEAD, one=fronts[0].url, two=fronts[1].url) as driver:
        await _read_everything(driver)
        assert (await driver.read_health()).state == "ok"


async def test_another_chain_is_never_asked(fronts: list[Front], tally: CallTally):
    fronts[0].twists["getGenesisHash"] = lambda _: {"result": "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"}
    async with drive(tally, devnet=fronts[0].url, one=fronts[1].url, two=fronts[2].url) as driver:
        await _read_everything(driver)
    assert {method for method, _ in fronts[0].asked} <= {"getGenesisHash"}


async def test_a_pruned_endpoint_fails_over(fronts: list[Front], tally: CallTally):
    words = "Block cleaned up, does not exist on node. First available block: 299999999"
    fronts[0].twists["getBlock"] = lambda _: {"error": {"code": -32001, "message": words}}
    fronts[1].twists["getBlock"] = lambda _: {"error": {"code": -32011, "message": "Transaction history is off"}}
    async with drive(tally, pruned=fronts[0].url, bare=fronts[1].url, whole=fronts[2].url) as driver:
        assert (await driver.read_block_by_number(known.FIRST_SLOT + 1, ReadView())).solana.hash
        # The node that has the history knows that there is no block; the others only lack it.
        with pytest.raises(NotFound):
            await driver.read_block_by_number(known.SKIPPED[0], ReadView())


async def test_a_throttling_endpoint_is_spared(fronts: list[Front], tally: CallTally):
    limit = {"error": {"code": -32005, "message": "daily request count exceeded, request rate limited"}}
    for method in ("getBalance", "getTokenAccountsByOwner", "getMultipleAccounts", "getBlock"):
        fronts[0].twists[method] = lambda _: limit
    async with drive(tally, mean=fronts[0].url, one=fronts[1].url, two=fronts[2].url) as driver:
        await _read_everything(driver)


async def test_health_of_nodes_behind(fronts: list[Front], tally: CallTally):
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


async def test_a_second_read_is_not_older_than_the_first(fronts: list[Front], ledger: Ledger, tally: CallTally):
    """A metadata pointer names a third account: a machine that is behind may not answer about that."""
    mint = known.key_of("mint that points elsewhere")
    world.make_mint(ledger, mint, known.TOKEN_2022, 3)
    refused = {"error": {"code": -32016, "message": "Minimum context slot has not been reached"}}
    async with drive(tally, one=fronts[0].url) as driver:
        view = ReadView()
        assert (await driver.read_token_metadata(str(mint.pubkey()), view)).solana.decimals == 3
        first, second = [params[1] for method, params in fronts[0].asked if method == "getMultipleAccounts"]
        assert ("minContextSlot" in first, second["minContextSlot"]) == (False, view.block)
    for front in fronts[:2]:
        front.asked.clear()
        front.twists["getMultipleAccounts"] = lambda params: refused if "minContextSlot" in params[1] else None
    # Where nobody has reached the slot yet, an older answer is better than none.
    async with drive(tally, one=fronts[0].url) as driver:
        assert (await driver.read_token_metadata(str(mint.pubkey()), ReadView())).solana.decimals == 3
    async with drive(tally, one=fronts[0].url, two=fronts[1].url, three=fronts[2].url) as driver:
        for _ in range(4):
            assert (await driver.read_token_metadata(str(mint.pubkey()), ReadView())).solana.decimals == 3


async def test_nodes_refuse_reads_at_slots_that_they_have_not_reached(fronts: list[Front], tally: CallTally):
    async with drive(tally, one=fronts[0].url) as driver:
        slot = await driver.read_height(ReadView())
        options = {"minContextSlot": slot + 1}
        with pytest.raises(UpstreamUnavailable, match="not reached that slot"):
            await driver.pool.call("getBalance", [str(known.ALICE), options])
        reply = await driver.pool.call("getBalance", [str(known.ALICE), {"minContextSlot": slot}])
        assert b"12345678901" in reply.result


async def test_another_transaction_is_not_believed(fronts: list[Front], ledger: Ledger, tally: CallTally):
    wanted, other = world.failed(ledger), world.versioned(ledger)
    call = {"jsonrpc": "2.0", "id": 1, "method": "getTransaction"}
    spoilt: list[str] = []

    def another(params: list[Any]) -> dict[str, Any]:
        return {"result": answer_one(ledger, call | {"params": [other, params[1]]})["result"]}

    def once(params: list[Any]) -> dict[str, Any] | None:
        spoilt.append(params[0])
        return another(params) if len(spoilt) == 1 else None

    # Whoever is asked first has another transaction.
    fronts[0].twists["getTransaction"] = fronts[1].twists["getTransaction"] = once
    async with drive(tally, one=fronts[0].url, two=fronts[1].url) as driver:
        found = (await driver.read_transaction(wanted, ReadView())).solana
        assert json.loads(found.native.json)["transaction"]["signatures"][0] == wanted
    assert spoilt == [wanted, wanted]
    assert all("getTransaction" in [method for method, _ in front.asked] for front in fronts[:2])
    fronts[2].twists["getTransaction"] = another
    async with drive(tally, odd=fronts[2].url) as driver:
        with pytest.raises(UpstreamUnavailable):
            await driver.read_transaction(wanted, ReadView())


@pytest.mark.parametrize("what", ["token balance", "holdings"])
async def test_token_accounts_of_somebody_else_are_not_believed(
    fronts: list[Front], ledger: Ledger, tally: CallTally, what: str
) -> None:
    """Bob holds none: a node that answers about Alice must not make him rich."""
    bob, usdc = str(known.BOB), str(known.USDC)
    mixed, often = 0, 1

    def mixed_up(params: list[Any]) -> dict[str, Any] | None:
        nonlocal mixed
        mixed += 1
        if mixed > often:
            return None
        asked = [str(known.ALICE), *params[1:]]
        call = {"jsonrpc": "2.0", "id": 1, "method": "getTokenAccountsByOwner", "params": asked}
        return {"result": json.loads(json.dumps(answer_one(ledger, call)))["result"]}

    async def read(driver: Any) -> list[str | None]:
        if what == "holdings":
            held = await driver.read_holdings(bob, [KnownAsset(usdc, 6)], ReadView())
            return [row.address for row in held.rows]
        balance = await driver.read_token_balance(bob, usdc, ReadView())
        return [usdc, None] if balance.raw else [None]

    for front in fronts[:2]:
        front.twists["getTokenAccountsByOwner"] = mixed_up
    async with drive(tally, one=fronts[0].url, two=fronts[1].url) as driver:
        assert await read(driver) == [None]
    assert mixed > 1
    often = 99
    async with drive(tally, one=fronts[0].url, two=fronts[1].url) as driver:
        with pytest.raises(UpstreamUnavailable):
            await read(driver)
