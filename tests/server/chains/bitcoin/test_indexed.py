"""Indexers that lag, lie or follow another chain: what the nodes know decides, where there are nodes."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known_bitcoin as known
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.view import ReadView
from server.errors import InvalidArgument, UpstreamDisagrees, UpstreamUnavailable
from tests.server.chains.bitcoin.fronts import Front, front
from tests.server.chains.bitcoin.test_endpoints import DEAD, drive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from devnet.bitcoin.node import BitcoinNode
    from tests.server.chains.bitcoin.fronts import Twist

pytestmark = pytest.mark.devnet

TRUE = known.CONFIRMED[known.P2SH]
WRONG = {"chain_stats": {"funded_txo_sum": 1, "spent_txo_sum": 0}, "mempool_stats": {}}
NOWHERE = "ab" * 32


@pytest_asyncio.fixture(loop_scope="session")
async def fronts(node: BitcoinNode, http: aiohttp.ClientSession) -> AsyncIterator[list[Front]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(front(node, http)) for _ in range(3)]


async def at(node: BitcoinNode, height: int) -> str:
    return str(await node.call("getblockhash", height))


def behind(height: int, block_hash: str) -> Twist:
    """An indexer that stopped at a block, with the balance of back then."""

    async def twist(what: str) -> tuple[int, bytes] | None:
        answers: dict[str, Any] = {"/blocks/tip/height": height, "/blocks/tip/hash": block_hash}
        if what in answers:
            return 200, str(answers[what]).encode()
        return (200, json.dumps(WRONG).encode()) if what.startswith("/address/") else None

    return twist


def elsewhere(height: int) -> Twist:
    """An indexer that follows a chain of its own."""

    async def twist(what: str) -> tuple[int, bytes] | None:
        if what == "/blocks/tip/height":
            return 200, str(height).encode()
        if what == "/blocks/tip/hash":
            return 200, NOWHERE.encode()
        if what == f"/block/{NOWHERE}":
            return 200, json.dumps({"id": NOWHERE, "height": height}).encode()
        return (200, json.dumps(WRONG).encode()) if what.startswith("/address/") else None

    return twist


def indexers(*fronts: Front) -> list[dict[str, str]]:
    return [one.endpoints(f"i{number}")[1] for number, one in enumerate(fronts)]


async def reads_true(driver: Any) -> None:
    for _ in range(4):
        balance = await driver.read_balance(known.P2SH, ReadView())
        assert (balance.raw, balance.block) == (TRUE, known.HEIGHT)


@pytest.mark.parametrize("lag", [2, 400])
async def test_an_indexer_that_lags_behind_the_nodes_is_passed_over(
    node: BitcoinNode, fronts: list[Front], lag: int
) -> None:
    """Two indexers cannot tell who of them lags: the node can."""
    height = known.HEIGHT - lag
    fronts[0].twist = behind(height, await at(node, height))
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0], fronts[1])]) as driver:
        await reads_true(driver)
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[1], fronts[0])]) as driver:
        await reads_true(driver)


@pytest.mark.parametrize("ahead", [0, 2, 5000])
async def test_an_indexer_on_another_chain_is_not_believed(fronts: list[Front], ahead: int) -> None:
    fronts[0].twist = elsewhere(known.HEIGHT + ahead)
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0], fronts[1])]) as driver:
        await reads_true(driver)
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0])]) as driver:
        with pytest.raises(UpstreamDisagrees):
            await driver.read_balance(known.P2SH, ReadView())


async def test_an_indexer_that_makes_up_its_tip_is_not_believed(fronts: list[Front]) -> None:
    async def lie(what: str) -> tuple[int, bytes] | None:
        return (200, NOWHERE.encode()) if what == "/blocks/tip/hash" else None

    fronts[0].twist = lie
    for nodes in ([fronts[2].endpoints("node")[0]], []):
        async with drive([*nodes, *indexers(fronts[0], fronts[1])]) as driver:
            await reads_true(driver)


async def test_the_only_indexer_may_lag_and_says_so(node: BitcoinNode, fronts: list[Front]) -> None:
    height = known.HEIGHT - 3
    fronts[0].twist = behind(height, await at(node, height))
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0])]) as driver:
        balance = await driver.read_balance(known.P2SH, ReadView())
        assert (balance.raw, balance.block) == (1, height)


async def test_a_block_that_only_the_indexer_has_yet_is_believed(fronts: list[Front]) -> None:
    """A new block reaches one machine a moment before the other."""
    fronts[0].twist = elsewhere(known.HEIGHT + 1)
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0])]) as driver:
        balance = await driver.read_balance(known.P2SH, ReadView())
        assert (balance.raw, balance.block) == (1, known.HEIGHT + 1)


async def test_of_three_indexers_the_odd_one_is_passed_over_without_nodes(
    node: BitcoinNode, fronts: list[Front]
) -> None:
    for height in (known.HEIGHT - 5, known.HEIGHT + 500):
        block_hash = await at(node, min(height, known.HEIGHT))
        fronts[0].twist = behind(height, block_hash) if height < known.HEIGHT else elsewhere(height)
        for nodes in ([], [DEAD[0]]):
            async with drive([*nodes, *indexers(*fronts)]) as driver:
                await reads_true(driver)


async def test_where_the_head_of_one_indexer_never_rests_another_answers(fronts: list[Front]) -> None:
    numbers = iter(range(1, 10_000))

    async def run(what: str) -> tuple[int, bytes] | None:
        return (200, b"%064x" % next(numbers)) if what == "/blocks/tip/hash" else None

    fronts[0].twist = run
    async with drive(indexers(fronts[0], fronts[1])) as driver:
        await reads_true(driver)


async def test_a_block_replaced_at_its_height_is_noticed(fronts: list[Front]) -> None:
    """Between the two looks another block took the place of the newest."""

    async def replace(what: str) -> tuple[int, bytes] | None:
        is_before = not any(path.startswith("/address/") for path in fronts[0].asked)
        return (200, NOWHERE.encode()) if what == "/blocks/tip/hash" and is_before else None

    fronts[0].twist = replace
    async with drive(fronts[0].endpoints("one")) as driver:
        balance = await driver.read_balance(known.P2SH, ReadView())
        assert (balance.raw, balance.block) == (TRUE, known.HEIGHT)
        assert len([path for path in fronts[0].asked if path.startswith("/address/")]) == 2


async def test_a_tip_is_placed_anew_after_a_while(fronts: list[Front]) -> None:
    """An indexer that stops is found out though its own tip stays what it was."""
    async with drive([fronts[2].endpoints("node")[0], *indexers(fronts[0])]) as driver:
        tips = driver.of(ReadsBalances)._ways[0]._tips
        clock = [1000.0]
        tips._clock = lambda: clock[0]
        for seconds, asked in ((0, 1), (10, 1), (16, 2), (20, 2)):
            clock[0] = 1000.0 + seconds
            await driver.read_balance(known.P2SH, ReadView())
            assert fronts[2].asked.count("getblockheader") == asked


def answers(often: int, status: int, body: bytes) -> Twist:
    """Indexers of which those that are asked first, so often, answer so about an address."""
    asked = 0

    async def twist(what: str) -> tuple[int, bytes] | None:
        nonlocal asked
        asked += what.startswith("/address/")
        return (status, body) if what.startswith("/address/") and asked <= often else None

    return twist


async def test_an_indexer_that_is_too_old_for_an_address_is_passed_over(fronts: list[Front]) -> None:
    async with drive(indexers(*fronts[:2])) as driver:
        fronts[0].twist = fronts[1].twist = answers(1, 400, b"Invalid Bitcoin address")
        assert (await driver.read_balance(known.P2TR, ReadView())).raw == known.CONFIRMED[known.P2TR]
        fronts[0].twist = fronts[1].twist = answers(99, 400, b"Invalid Bitcoin address")
        with pytest.raises(InvalidArgument) as refused:
            await driver.read_balance(known.P2TR, ReadView())
        assert refused.value.field == "address"


async def test_the_balance_of_another_address_is_not_believed(fronts: list[Front]) -> None:
    reported = {"address": known.P2PKH, "chain_stats": {"funded_txo_sum": 1, "spent_txo_sum": 0}, "mempool_stats": {}}
    other = json.dumps(reported).encode()
    async with drive(indexers(*fronts[:2])) as driver:
        for address, raw in ((known.P2SH, TRUE), (known.P2WPKH.upper(), known.CONFIRMED[known.P2WPKH])):
            fronts[0].twist = fronts[1].twist = answers(1, 200, other)
            assert (await driver.read_balance(address, ReadView())).raw == raw
        fronts[0].twist = fronts[1].twist = answers(99, 200, other)
        with pytest.raises(UpstreamUnavailable):
            await driver.read_balance(known.P2SH, ReadView())
