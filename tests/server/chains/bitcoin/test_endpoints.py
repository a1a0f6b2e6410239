"""One of three endpoints dead, behind, throttling, of another chain; a head that moves while a balance is read."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known_bitcoin as known
from server.chains.view import ReadView
from server.errors import NotFound, NotSupported, UpstreamDisagrees, UpstreamUnavailable
from server.rpc.pipeline.errors import facts_of
from server.upstream import open_session
from tests.faults.families import relay as faults
from tests.operations import Operations
from tests.server.chains.bitcoin.conftest import endpoints_of, open_chains
from tests.server.chains.bitcoin.fronts import Front, front
from tests.tallies import EndpointTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from devnet.bitcoin.node import BitcoinNode
    from tests.server.chains.bitcoin.fronts import Twist

pytestmark = pytest.mark.devnet

DEAD = [
    {"label": "dead-core", "url": "http://127.0.0.1:9", "kind": "core"},
    {"label": "dead-esplora", "url": "http://127.0.0.1:9/api", "kind": "esplora"},
]


@pytest_asyncio.fixture(loop_scope="session")
async def fronts(node: BitcoinNode, http: aiohttp.ClientSession) -> AsyncIterator[list[Front]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(front(node, http)) for _ in range(2)]


@asynccontextmanager
async def drive(endpoints: list[dict[str, str]]) -> AsyncIterator[Any]:
    async with open_session() as session:
        chains = open_chains(session, EndpointTally(), endpoints)
        yield Operations(chains.get("bitcoin"))
        await chains.close()


async def read_everything(driver: Any) -> None:
    for _ in range(4):
        assert await driver.read_height(ReadView()) == known.HEIGHT
        assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
        block = await driver.read_block_by_number(known.PAYMENTS, ReadView())
        assert block.bitcoin.hash == known.PAYMENTS_HASH


async def test_dead_endpoints_are_passed_over(fronts: list[Front]) -> None:
    async with drive([*DEAD, *fronts[0].endpoints("one"), *fronts[1].endpoints("two")]) as driver:
        await read_everything(driver)
        assert (await driver.read_health()).state == "ok"


async def test_where_all_are_dead_the_chain_is_down() -> None:
    async with drive(DEAD) as driver:
        health = await driver.read_health()
        assert (health.state, health.height, health.latency) == ("down", None, None)
        for read in (driver.read_height(ReadView()), driver.read_balance(known.P2SH, ReadView())):
            with pytest.raises(UpstreamUnavailable):
                await read


async def test_indexers_tell_the_head_where_no_node_does(fronts: list[Front]) -> None:
    async with drive([DEAD[0], fronts[0].endpoints("one")[1]]) as driver:
        assert await driver.read_height(ReadView()) == known.HEIGHT
        health = await driver.read_health()
        assert (health.state, health.height) == ("ok", known.HEIGHT)


async def test_without_an_indexer_balances_are_not_supported(node: BitcoinNode) -> None:
    async with drive(endpoints_of(node)[:1]) as driver:
        with pytest.raises(NotSupported, match="esplora"):
            await driver.read_balance(known.P2SH, ReadView())
        assert await driver.read_height(ReadView()) == known.HEIGHT


async def test_another_chain_is_never_asked(fronts: list[Front]) -> None:
    genesis = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"

    async def other(what: str) -> tuple[int, bytes]:
        if what == "getblockhash":
            return 200, f'{{"jsonrpc":"2.0","result":"{genesis}","id":1}}'.encode()
        return 200, f'[{{"id":"{genesis}","height":0,"timestamp":1296688602}}]'.encode()

    fronts[0].twist = other
    async with drive([*fronts[0].endpoints("other"), *fronts[1].endpoints("right")]) as driver:
        await read_everything(driver)
    assert set(fronts[0].asked) <= {"getblockhash", "/blocks/0"}


async def test_a_throttling_endpoint_is_spared(fronts: list[Front]) -> None:
    async def throttle(what: str) -> tuple[int, bytes]:
        return 429, b"Too Many Requests"

    fronts[0].twist = throttle
    async with drive([*fronts[0].endpoints("mean"), *fronts[1].endpoints("kind")]) as driver:
        await read_everything(driver)
    assert len(fronts[0].asked) < 10


async def test_a_block_that_one_node_pruned_is_read_from_another(fronts: list[Front]) -> None:
    pruned: list[Front] = []

    def twist_of(relay: Front) -> Twist:
        async def prune(what: str) -> tuple[int, bytes] | None:
            words = b'{"result":null,"error":{"code":-1,"message":"Block not available (pruned data)"},"id":null}'
            if what == "getblock" and not pruned:
                pruned.append(relay)
            return (500, words) if what == "getblock" and relay in pruned else None

        return prune

    for front_ in fronts:
        front_.twist = twist_of(front_)
    async with drive([*fronts[0].endpoints("one"), *fronts[1].endpoints("two")]) as driver:
        await read_everything(driver)
    [whole] = [relay for relay in fronts if relay not in pruned]
    assert "getblock" in whole.asked


async def test_a_block_that_one_node_lacks_is_read_from_another(fronts: list[Front]) -> None:
    async def lag(what: str) -> tuple[int, bytes] | None:
        words = b'{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":null}'
        return (500, words) if what == "getblockhash" and fronts[0].asked.count(what) > 1 else None

    fronts[0].twist = lag
    async with drive([*fronts[0].endpoints("behind"), *fronts[1].endpoints("ahead")]) as driver:
        await read_everything(driver)
        with pytest.raises(NotFound):
            await driver.read_block_by_number(known.HEIGHT + 1, ReadView())


# Bitcoin Core's words, and btcd's (btcjson.ErrRPCOutOfRange).
@pytest.mark.parametrize(("code", "words"), [(-8, "Block height out of range"), (-1, "Block number out of range")])
async def test_a_height_above_the_chain_is_not_found_with_the_head(fronts: list[Front], code: int, words: str) -> None:
    async def refuse(what: str) -> tuple[int, bytes] | None:
        if what == "getblockhash" and fronts[0].asked.count(what) > 1:
            reported = {"jsonrpc": "1.0", "result": None, "error": {"code": code, "message": words}, "id": 1}
            return 200, json.dumps(reported).encode()
        return None

    fronts[0].twist = refuse
    async with drive(fronts[0].endpoints("one")) as driver:
        await driver.read_height(ReadView())
        fronts[0].asked.clear()
        fronts[0].asked.append("getblockhash")
        with pytest.raises(NotFound) as caught:
            await driver.read_block_by_number(known.HEIGHT + 7, ReadView())
        assert (
            caught.value.message
            == f"bitcoin has no block {known.HEIGHT + 7} yet: the newest is {known.HEIGHT} (1 endpoint was asked)"
        )
        assert facts_of(caught.value) == {"head": str(known.HEIGHT), "endpointsAsked": "1"}
        assert fronts[0].asked[1:] == ["getblockhash", "getblockchaininfo"]
        with pytest.raises(NotFound) as caught:
            await driver.pass_call("getblockhash", b"[%d]" % (known.HEIGHT + 7), ReadView())
        assert facts_of(caught.value) == {"head": str(known.HEIGHT), "endpointsAsked": "1"}


@pytest.mark.parametrize("method", ["getblock", "getblockhash"])
async def test_another_block_is_not_believed(fronts: list[Front], node: BitcoinNode, method: str) -> None:
    params: list[Any] = [known.GENESIS, 1] if method == "getblock" else [0]
    wrong = {"result": await node.call(method, *params), "error": None, "id": 1}
    asked: list[Front] = []

    def twist_of(relay: Front) -> Twist:
        async def mix_up(what: str) -> tuple[int, bytes] | None:
            if what == method:
                asked.append(relay)
            # Whoever is asked first has another block.
            return (200, json.dumps(wrong).encode()) if what == method and asked[0] is relay else None

        return mix_up

    for front_ in fronts:
        front_.twist = twist_of(front_)
    async with drive([*fronts[0].endpoints("one"), *fronts[1].endpoints("two")]) as driver:
        await read_everything(driver)
    assert set(map(id, asked)) == set(map(id, fronts))


async def test_a_block_between_the_reads_is_noticed(moving: BitcoinNode, http: aiohttp.ClientSession) -> None:
    """The address is read again when the head moved, so that balance and height are of the same moment."""
    async with front(moving, http) as relay:
        was_mined = False

        async def mine(what: str) -> None:
            nonlocal was_mined
            if what.startswith("/address/") and not was_mined:
                was_mined = True
                await moving.mine()

        relay.twist = mine
        async with drive(relay.endpoints("one")) as driver:
            balance = await driver.read_balance(known.P2WPKH, ReadView())
            # What waited in the memory pool is confirmed now.
            assert (balance.block, balance.raw) == (known.HEIGHT + 1, 1_499_980_001)
            assert len([path for path in relay.asked if path.startswith("/address/")]) == 2
            before = await driver.read_block_by_hash(known.PAYMENTS_HASH, ReadView())
            await moving.mine()
            after = await driver.read_block_by_hash(known.PAYMENTS_HASH, ReadView())
            assert '"confirmations":5,' in before.bitcoin.native.json
            assert '"confirmations":6,' in after.bitcoin.native.json


async def test_a_head_that_never_rests_is_said(fronts: list[Front]) -> None:
    heights = iter(range(1, 1000))

    async def run(what: str) -> tuple[int, bytes] | None:
        return (200, b"%064x" % next(heights)) if what == "/blocks/tip/hash" else None

    fronts[0].twist = run
    async with drive(fronts[0].endpoints("one")) as driver:
        with pytest.raises(UpstreamDisagrees):
            await driver.read_balance(known.P2SH, ReadView())


async def test_a_block_that_lost_its_place(moving: BitcoinNode) -> None:
    async with drive(endpoints_of(moving)) as driver:
        head = await driver.read_block_by_number(known.HEIGHT, ReadView())
        await moving.call("invalidateblock", head.bitcoin.hash)
        with pytest.raises(NotFound):
            await driver.read_block_by_number(known.HEIGHT, ReadView())
        assert await driver.read_height(ReadView()) == known.HEIGHT - 1


async def test_a_block_outside_of_the_best_chain_says_nothing_about_its_node(
    node: BitcoinNode, http: aiohttp.ClientSession
) -> None:
    def orphan(call: Any, response: Any) -> None:
        if call["method"] == "getblock":
            response["result"]["confirmations"] = -1

    async with faults.relay(node.url, http) as one:
        one.fault = faults.each_call(orphan)
        async with drive([{"label": "core", "url": one.url, "kind": "core"}]) as driver:
            assert await driver.read_height(ReadView()) == known.HEIGHT
            view = ReadView()
            block = await driver.read_block_by_hash(known.PAYMENTS_HASH, view)
            assert '"confirmations": -1,' in block.bitcoin.native.json
            assert view.block is None
            assert driver.pools["core"].heads.of("core") == known.HEIGHT
            assert not driver.pools["core"].heads.is_lagging("core")
