"""lend-b's yields on the local chains: rates against a day of interest, sizes against what all suppliers have.

Balances are held against withdrawing them on a snapshot, dollars against the feeds as they stand, never against the
reader's formula.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import yield_protocol_pb2

from devnet import known
from devnet.evm.feeds import load_feeds
from devnet.evm.treasury import token_of
from devnet.known_lending import TREASURY
from devnet.known_lending_b import LEND_B_V3, price_feed
from server.errors import NotFound
from server.protocols.compound_v3.yields import YIELDS
from server.protocols.reader import ChainQuestion
from server.protocols.yields import PoolQuestion
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.known_lending_b import Comet
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

LEND_B = yield_protocol_pb2.YIELD_PROTOCOL_LEND_B
DAY, YEAR = 86_400, 31_536_000
ROUND = "uint80,int256,uint256,uint256,uint80"
MARKETS = [(chain, market) for chain in ("ethereum", "arbitrum", "polygon") for market in LEND_B_V3[chain]]
# What the local markets' units are priced as in dollars; that of the bitcoin market is a token of the same price.
UNITS = {"WETH": "ETH", "wstETH": "wstETH", "cbBTC": "BTC"}
every_market = pytest.mark.parametrize(("chain", "market"), MARKETS, ids=lambda one: getattr(one, "address", one))


async def lending(asked: Asked, chain: str, pool: str) -> Any:
    question = PoolQuestion(chain, pool=pool)
    return (await asked.readers.answer_pool("GetYieldsLending", LEND_B, question, asked.view())).answer


async def balance(asked: Asked, chain: str, pool: str, wallet: str) -> Any:
    question = PoolQuestion(chain, pool=pool, address=wallet)
    return (await asked.readers.answer_pool("GetYieldsBalance", LEND_B, question, asked.view())).answer


async def dollars(node: Node, market: Comet) -> Fraction:
    """What a whole unit of the base asset is worth: the market's feed, times the feed of the unit it is in."""
    answer = (await ask(node, price_feed(market.base, market.quoted), "latestRoundData()", types=ROUND))[1]
    price = Fraction(answer, 10**8)
    if market.quoted:
        [row] = [
            one
            for one in load_feeds()["chainlink"]
            if (one["chain"], one["pair"]) == (node.chain.slug, f"{UNITS[market.quoted]} / USD")
        ]
        unit = (await ask(node, row["address"], "latestRoundData()", types=ROUND))[1]
        price *= Fraction(unit, 10 ** await ask(node, row["address"], "decimals()", types="uint8"))
    return price


@every_market
async def test_a_day_of_interest_is_what_the_rates_say(asked: Asked, chain: str, market: Comet) -> None:
    node = asked.devnet.nodes[chain]
    [supplier] = market.supplies
    [borrower, *_] = market.debts
    async with rewound(node):
        start = await now(node) + 60
        # Brings the indices to this block: until it is touched again the market's rates stand still.
        await send(node, known.ALICE, market.address, "accrueAccount(address)", known.ALICE)
        await mine_at(node, start)
        row = await lending(asked, chain, market.address)
        supplied = await ask(node, market.address, "balanceOf(address)", supplier)
        owed = await ask(node, market.address, "borrowBalanceOf(address)", borrower)
        await mine_at(node, start + DAY)
        earned = await ask(node, market.address, "balanceOf(address)", supplier) - supplied
        charged = await ask(node, market.address, "borrowBalanceOf(address)", borrower) - owed
    for apy, growth, whole in ((row.supply_apy, earned, supplied), (row.borrow_apy, charged, owed)):
        # The contract adds simple interest between two touches; of a day that is a rate of its own for each second.
        per_second = math.expm1(math.log1p(apy / 100) / YEAR)
        assert growth > 0
        assert per_second * DAY * whole == pytest.approx(growth, rel=1e-7, abs=2)
    assert (row.basis, row.HasField("block_height")) == (yield_protocol_pb2.YIELD_BASIS_SPOT, True)


@every_market
async def test_size_is_what_all_suppliers_have_in_dollars(asked: Asked, chain: str, market: Comet) -> None:
    node = asked.devnet.nodes[chain]
    row = await lending(asked, chain, market.address)
    holders = (TREASURY, *market.supplies)
    balances = [await ask(node, market.address, "balanceOf(address)", holder) for holder in holders]
    places = token_of(node.chain, market.base).decimals
    price = await dollars(node, market)
    expected = Fraction(sum(balances), 10**places) * price
    # Each balance is rounded down by itself.
    assert row.tvl == pytest.approx(float(expected), rel=1e-12, abs=float(2 * price / 10**places))
    assert row.tvl > 1_000
    head = await node.call("eth_getBlockByNumber", "latest", False)
    assert row.block_height == int(head["number"], 16)
    told_at = int(head["timestamp"], 16)
    if market.quoted:
        # As old as the price of the unit, which the chain's feeds told in its last block but those made by tests.
        assert row.updated_at.seconds <= told_at
    else:
        assert row.updated_at.seconds == told_at


@every_market
async def test_a_balance_is_what_withdrawing_brings(asked: Asked, chain: str, market: Comet) -> None:
    node, [wallet] = asked.devnet.nodes[chain], market.supplies
    token = token_of(node.chain, market.base)
    async with rewound(node):
        time = await now(node) + 300
        await mine_at(node, time)
        found = (await balance(asked, chain, market.address, wallet)).balance
    symbol = await ask(node, token.address, "symbol()", types="string")
    assert list(found.amounts) == [symbol]
    whole = round(Fraction(found.amounts[symbol]) * 10**token.decimals)
    async with rewound(node):
        before = await ask(node, token.address, "balanceOf(address)", wallet)
        # A double has sixteen places; what is beyond them stays behind.
        amount = whole - max(whole >> 50, 2)
        await send(node, wallet, market.address, "withdrawTo(address,address,uint256)", wallet, token.address, amount)
        await mine_at(node, time)
        assert await ask(node, token.address, "balanceOf(address)", wallet) - before == pytest.approx(amount, abs=3)
        left = await ask(node, market.address, "balanceOf(address)", wallet)
        assert left <= 2 * max(whole >> 50, 2) + 2
        assert await ask(node, market.address, "borrowBalanceOf(address)", wallet) == 0
    expected = Fraction(whole, 10**token.decimals) * await dollars(node, market)
    assert found.usd == pytest.approx(float(expected), rel=1e-9)


async def test_new_code_of_a_market_costs_one_request_once(asked: Asked) -> None:
    """The upper slope for suppliers becomes three times as steep, while nearly all of the market is lent out."""
    node, market = asked.devnet.nodes["ethereum"], LEND_B_V3["ethereum"][1]
    [supplier] = market.supplies
    token = token_of(node.chain, market.base).address
    async with rewound(node):
        for holder in (TREASURY, supplier):
            whole = await ask(node, market.address, "balanceOf(address)", holder)
            left = await ask(node, token, "balanceOf(address)", market.address)
            amount = min(whole, left) * 96 // 100
            await send(node, holder, market.address, "withdrawTo(address,address,uint256)", holder, token, amount)
            await mine_at(node, await now(node) + 10)
        assert await ask(node, market.address, "getUtilization()") > 9 * 10**17
        await asked.mine("ethereum")
        before = await lending(asked, "ethereum", market.address)
        code = await node.call("eth_getCode", market.address, "latest")
        slope = 303 * 10**16 // YEAR
        assert f"{slope:010x}" in code
        await node.call("anvil_setCode", market.address, code.replace(f"{slope:010x}", f"{3 * slope:010x}"))
        await asked.mine("ethereum")
        with asked.sends("ethereum", "ethereum"):
            row = await lending(asked, "ethereum", market.address)
        assert row.supply_apy > before.supply_apy
        assert row.borrow_apy == pytest.approx(before.borrow_apy, rel=1e-4)
        usage = await ask(node, market.address, "getUtilization()")
        per_second = await ask(node, market.address, "getSupplyRate(uint256)", usage, types="uint64")
        assert row.supply_apy == pytest.approx(math.expm1(YEAR * math.log1p(per_second / 10**18)) * 100, rel=1e-9)
        await asked.mine("ethereum")
        with asked.sends("ethereum"):
            await lending(asked, "ethereum", market.address)


async def test_debts_and_collateral_are_no_balance(asked: Asked, stranger: str) -> None:
    """VITALIK owes to the market, BOB has collateral alone: both have nothing in it, as one who was never there."""
    market = LEND_B_V3["ethereum"][0].address
    for wallet in (known.VITALIK, known.BOB, stranger):
        found = (await balance(asked, "ethereum", market, wallet)).balance
        assert dict(found.amounts) == {"USDC": 0.0}
        assert (found.HasField("usd"), found.usd) == (True, 0.0)


async def test_two_markets_of_one_symbol_are_two(asked: Asked) -> None:
    node = asked.devnet.nodes["arbitrum"]
    native, bridged = [one for one in LEND_B_V3["arbitrum"] if one.symbol == "cUSDCv3"]
    for market, symbol in ((native, "USDC"), (bridged, "USDC.e")):
        found = (await balance(asked, "arbitrum", market.address, known.VITALIK)).balance
        supplied = await ask(node, market.address, "balanceOf(address)", known.VITALIK)
        assert dict(found.amounts) == {symbol: supplied / 10**6}
    with pytest.raises(NotFound, match="nearest"):
        await lending(asked, "ethereum", native.address)


@pytest.mark.parametrize("chain", ["ethereum", "arbitrum", "polygon"])
async def test_all_markets_in_one_read(asked: Asked, chain: str) -> None:
    assert YIELDS.best is not None
    rows = (await asked.readers._runner.answer(YIELDS.best, ChainQuestion(chain), asked.view())).answer
    assert [one.row.pool for one in rows] == [market.address for market in LEND_B_V3[chain]]
    for (row, symbols), market in zip(rows, LEND_B_V3[chain], strict=True):
        alone = await lending(asked, chain, market.address)
        assert (row.apy, row.tvl, row.updated_at) == (alone.supply_apy, alone.tvl, alone.updated_at)
        token = token_of(asked.devnet.nodes[chain].chain, market.base)
        assert symbols == (await ask(asked.devnet.nodes[chain], token.address, "symbol()", types="string"),)


async def test_exact_requests(asked: Asked) -> None:
    """Three for the first market of a chain, one for each other of the block, none for what was read of it."""
    first, second, *_ = [market.address for market in LEND_B_V3["ethereum"]]
    with asked.sends(*["ethereum"] * 3):
        await lending(asked, "ethereum", first)
    with asked.sends():
        await lending(asked, "ethereum", first)
    with asked.sends("ethereum"):
        await lending(asked, "ethereum", second)
    with asked.sends("ethereum"):
        await balance(asked, "ethereum", second, known.ALICE)
    with asked.sends("ethereum"):
        await balance(asked, "ethereum", second, known.BOB)
    with asked.sends():
        await balance(asked, "ethereum", second, known.ALICE)
    for _ in range(2):
        await asked.mine("ethereum")
        with asked.sends("ethereum"):
            await lending(asked, "ethereum", first)
        with asked.sends("ethereum"):
            assert YIELDS.best is not None
            await asked.readers._runner.answer(YIELDS.best, ChainQuestion("ethereum"), asked.view())


async def test_a_balance_is_read_first_in_three_requests(asked: Asked) -> None:
    market = LEND_B_V3["arbitrum"][3].address
    with asked.sends(*["arbitrum"] * 3):
        await balance(asked, "arbitrum", market, known.VITALIK)


async def test_all_markets_are_read_first_in_three_requests(asked: Asked) -> None:
    assert YIELDS.best is not None
    with asked.sends(*["ethereum"] * 3):
        await asked.readers._runner.answer(YIELDS.best, ChainQuestion("ethereum"), asked.view())


async def test_a_pool_that_is_none_asks_nobody(asked: Asked) -> None:
    with asked.sends():
        with pytest.raises(NotFound):
            await lending(asked, "polygon", known.ALICE)
        with pytest.raises(NotFound):
            await balance(asked, "polygon", known.PROBER, known.ALICE)
