"""lend-c's positions against the original contract: by the published formula of interest from what is stored, and by
accruing for good on a snapshot. A block is made twice at one time: empty for the reader, then with the accrual in it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet import known
from devnet.evm.lending_c import market_parameters
from devnet.evm.treasury import token_of
from devnet.known_lending_c import LEND_C, MORPHO, RATE_MODEL
from server.protocols.morpho.rates import Market, accrue, owed, supplied
from server.protocols.reader import load_deployments
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send, units

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

WAD = 10**18
PARAMETERS = "(address,address,address,address,uint256)"
TOTALS = ",".join(["uint128"] * 6)
WALLETS = (known.VITALIK, known.ALICE)
MARKETS = LEND_C["ethereum"]


async def stored(node: Node, market_id: bytes) -> tuple[int, ...]:
    """The market's totals as they stand in the contract, not accrued."""
    totals: tuple[int, ...] = await ask(node, MORPHO, "market(bytes32)", market_id, types=TOTALS)
    return totals


async def position(node: Node, market_id: bytes, wallet: str) -> tuple[int, int, int]:
    """Shares of the supply and of the debt, and the collateral."""
    found: tuple[int, int, int] = await ask(
        node, MORPHO, "position(bytes32,address)", market_id, wallet, types="uint256,uint128,uint128"
    )
    return found


def amounts(totals: tuple[int, ...], shares: tuple[int, int, int]) -> tuple[int, int]:
    """What a wallet can take out and what it has to pay back, by the ratio of assets to shares."""
    supply_assets, supply_shares, borrow_assets, borrow_shares, *_ = totals
    supply = Fraction(shares[0] * (supply_assets + 1), supply_shares + 10**6)
    debt = Fraction(shares[1] * (borrow_assets + 1), borrow_shares + 10**6)
    return floor(supply), ceil(debt)


def with_interest(totals: tuple[int, ...], rate: int, seconds: int) -> tuple[int, ...]:
    """The totals after some seconds: e^(rate * seconds) - 1 by three terms of its series, each cut to 18 places."""
    supply_assets, supply_shares, borrow_assets, borrow_shares, touched, fee = totals
    exponent = Fraction(rate * seconds, WAD)
    terms = [exponent]
    for place in (2, 3):
        terms.append(Fraction(floor(terms[-1] * exponent / place * WAD), WAD))
    interest = floor(borrow_assets * sum(terms))
    supply_assets += interest
    if fee:
        share = floor(Fraction(interest * fee, WAD))
        supply_shares += floor(Fraction(share * (supply_shares + 10**6), supply_assets - share + 1))
    return supply_assets, supply_shares, borrow_assets + interest, borrow_shares, touched + seconds, fee


def rows_of(found: Any) -> dict[str, tuple[int, ...]]:
    """The raw integers of each row, which must be those of its text, by market."""
    rows = {}
    for row in found.markets:
        raw = tuple(map(int, (row.supply_assets_raw, row.borrow_assets_raw, row.collateral_raw)))
        text = (row.supply_assets, row.borrow_assets, row.collateral)
        places = (row.loan_token.decimals, row.loan_token.decimals, row.collateral_token.decimals)
        assert raw == tuple(map(units, text, places))
        rows[row.market_id] = (*raw, int(row.supply_shares), int(row.borrow_shares))
    return rows


@pytest.mark.parametrize("chain", LEND_C)
def test_the_listed_ids_are_the_digests_of_their_parameters(chain: str) -> None:
    for row in load_deployments("server.protocols.morpho")[chain]:
        values = [row[name] for name in ("loan_token", "collateral_token", "oracle", "irm", "lltv")]
        digest = keccak(encode(["address", "address", "address", "address", "uint256"], values))
        assert "0x" + digest.hex() == row["id"]


@pytest.mark.parametrize("wallet", WALLETS)
async def test_positions_are_the_stored_totals_with_the_published_interest(asked: Asked, wallet: str) -> None:
    node = asked.devnet.nodes["ethereum"]
    time = await now(node)
    found = rows_of(await asked.wallet("GetLendCUserPositions", "ethereum", wallet))
    assert set(found) == {market.market_id for market in MARKETS}
    for market in MARKETS:
        market_id = bytes.fromhex(market.market_id[2:])
        totals, shares = await stored(node, market_id), await position(node, market_id, wallet)
        assert time > totals[4]
        rate = await ask(
            node,
            RATE_MODEL["ethereum"],
            f"borrowRateView({PARAMETERS},({TOTALS}))",
            market_parameters(node.chain, market),
            totals,
        )
        supply, debt = amounts(with_interest(totals, rate, time - totals[4]), shares)
        assert found[market.market_id] == (supply, debt, shares[2], shares[0], shares[1])


@pytest.mark.parametrize("days", [0, 1, 400])
async def test_positions_are_what_accruing_for_good_leaves(asked: Asked, days: int) -> None:
    node = asked.devnet.nodes["ethereum"]
    time = await now(node) + 1 + days * 86_400
    async with rewound(node):
        await mine_at(node, time)
        found = {wallet: rows_of(await asked.wallet("GetLendCUserPositions", "ethereum", wallet)) for wallet in WALLETS}
    async with rewound(node):
        for market in MARKETS:
            await send(node, known.BOB, MORPHO, f"accrueInterest({PARAMETERS})", market_parameters(node.chain, market))
        await mine_at(node, time)
        for market in MARKETS:
            market_id = bytes.fromhex(market.market_id[2:])
            totals = await stored(node, market_id)
            assert totals[4] == time
            for wallet in WALLETS:
                shares = await position(node, market_id, wallet)
                assert found[wallet][market.market_id] == (*amounts(totals, shares), shares[2], shares[0], shares[1])


async def test_a_debt_is_what_paying_back_costs_and_a_supply_what_withdrawing_brings(asked: Asked) -> None:
    node, market = asked.devnet.nodes["ethereum"], MARKETS[0]
    loan = token_of(node.chain, market.loan)
    market_id, parameters = bytes.fromhex(market.market_id[2:]), market_parameters(node.chain, market)
    time = await now(node) + 10_000
    async with rewound(node):
        await mine_at(node, time)
        answers = [rows_of(await asked.wallet("GetLendCUserPositions", "ethereum", wallet)) for wallet in WALLETS]
        supply, debt = answers[0][market.market_id][0], answers[1][market.market_id][1]
    async with rewound(node):
        supply_shares, _, _ = await position(node, market_id, known.VITALIK)
        _, debt_shares, _ = await position(node, market_id, known.ALICE)
        await send(node, known.DEVELOPER, loan.address, "mint(address,uint256)", known.BOB, 10**12)
        await send(node, known.BOB, loan.address, "approve(address,uint256)", MORPHO, 2**255)
        before = {who: await ask(node, loan.address, "balanceOf(address)", who) for who in (known.BOB, known.VITALIK)}
        repay = f"repay({PARAMETERS},uint256,uint256,address,bytes)"
        await send(node, known.BOB, MORPHO, repay, parameters, 0, debt_shares, known.ALICE, b"")
        withdraw = f"withdraw({PARAMETERS},uint256,uint256,address,address)"
        await send(node, known.VITALIK, MORPHO, withdraw, parameters, 0, supply_shares, known.VITALIK, known.VITALIK)
        await mine_at(node, time)
        after = {who: await ask(node, loan.address, "balanceOf(address)", who) for who in before}
        assert before[known.BOB] + 10**12 - after[known.BOB] == debt
        # Paying back a debt that is rounded up leaves a unit more for the suppliers.
        assert after[known.VITALIK] - before[known.VITALIK] - supply in (0, 1)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, len(MARKETS) - 1),
    seconds=st.one_of(st.integers(1, 100_000), st.integers(1, 4 * 31_536_000)),
    supply=st.integers(1, 10**13),
)
async def test_accrual_is_the_contracts_own(devnet: Devnet, place: int, seconds: int, supply: int) -> None:
    """After any time and another supply, to the wei."""
    node, market = devnet.nodes["ethereum"], MARKETS[place]
    market_id, parameters = bytes.fromhex(market.market_id[2:]), market_parameters(node.chain, market)
    loan = token_of(node.chain, market.loan)
    async with rewound(node):
        start = await now(node) + 1
        if loan.symbol == "USDC":
            await send(node, known.DEVELOPER, loan.address, "mint(address,uint256)", known.BOB, supply)
            await send(node, known.BOB, loan.address, "approve(address,uint256)", MORPHO, 2**255)
            give = f"supply({PARAMETERS},uint256,uint256,address,bytes)"
            await send(node, known.BOB, MORPHO, give, parameters, supply, 0, known.BOB, b"")
        await mine_at(node, start)
        totals = await stored(node, market_id)
        view = f"borrowRateView({PARAMETERS},({TOTALS}))"
        await mine_at(node, start + seconds)
        rate = await ask(node, RATE_MODEL["ethereum"], view, parameters, totals)
        mine = accrue(Market(*totals), rate, start + seconds)
        shares = await position(node, market_id, known.ALICE)
        bob = await position(node, market_id, known.BOB)
    async with rewound(node):
        if loan.symbol == "USDC":
            await send(node, known.DEVELOPER, loan.address, "mint(address,uint256)", known.BOB, supply)
            await send(node, known.BOB, loan.address, "approve(address,uint256)", MORPHO, 2**255)
            await send(node, known.BOB, MORPHO, give, parameters, supply, 0, known.BOB, b"")
        await mine_at(node, start)
        await send(node, known.BOB, MORPHO, f"accrueInterest({PARAMETERS})", parameters)
        await mine_at(node, start + seconds)
        assert tuple(mine) == await stored(node, market_id)
        assert (supplied(mine, bob[0]), owed(mine, shares[1])) == (
            amounts(tuple(mine), bob)[0],
            amounts(tuple(mine), shares)[1],
        )
