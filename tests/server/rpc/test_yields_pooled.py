"""lend-a's and lend-d's yields on every chain of the contract's table, over both faces; what is refused, and how."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import yield_protocol_pb2

from devnet import known
from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_lending import LEND_A_V3, LEND_D, PRICES
from tests.server.rpc.every import WORKING, message_of

if TYPE_CHECKING:
    from devnet.known_lending import Pool
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

OPERATIONS = {operation.name: operation for operation in WORKING}
LENDING, BALANCE, PRICE = "getYieldsLending", "getYieldsBalance", "getYieldsPrice"
# Contract section 4.12.
LEND_A = ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum")
MARKETS: dict[tuple[str, str], Pool] = {
    **{("lend-a", chain): LEND_A_V3[chain] for chain in LEND_A},
    ("lend-d", "hyperliquid"): LEND_D["hyperliquid"],
}
WHYPE = "0x5555555555555555555555555555555555555555"


def pool_of(protocol: str, chain: str, symbol: str) -> str:
    return symbol if protocol == "lend-a" else token_of(load_world()[chain], symbol).address


def members(protocol: str, chain: str, pool: str, **others: str) -> dict[str, str]:
    return {"chain": chain, "protocol": protocol, "pool": pool, **others}


async def both(faces: RunningGateway, name: str, asked: dict[str, str]) -> tuple[dict[str, Any], Any]:
    """Return the row as JSON and as a message."""
    answer = await faces.ask(name, asked)
    assert "result" in answer, answer
    [row] = answer["result"]["data"]["results"]
    found: Any = await faces.ask_grpc(OPERATIONS[name], message_of(OPERATIONS[name], asked))
    [message] = found.results
    assert {member: row[member] for member in asked} == asked
    assert (message.chain, message.pool) == (asked["chain"], asked["pool"])
    assert message.protocol == {"lend-a": 1, "lend-d": 4}[asked["protocol"]]
    assert row["updatedAt"].endswith("Z")
    assert message.block_height >= row["blockHeight"] > 0
    return row, message


def test_the_numbers_of_the_protocols() -> None:
    assert yield_protocol_pb2.YIELD_PROTOCOL_LEND_A == 1
    assert yield_protocol_pb2.YIELD_PROTOCOL_LEND_D == 4


@pytest.mark.parametrize(("protocol", "chain"), MARKETS)
async def test_rates_of_every_reserve(faces: RunningGateway, protocol: str, chain: str) -> None:
    market = MARKETS[protocol, chain].set_up
    owed = {debt.symbol for debt in market.debts}
    for reserve in market.reserves:
        row, message = await both(faces, LENDING, members(protocol, chain, pool_of(protocol, chain, reserve.symbol)))
        assert set(row) == {
            *("chain", "protocol", "pool", "supplyApy", "borrowApy", "tvl", "updatedAt", "basis", "blockHeight")
        }
        assert row["basis"] == "spot"
        assert (row["borrowApy"] > 0) is (reserve.symbol in owed)
        assert 0 <= row["supplyApy"] <= row["borrowApy"] < 100
        assert row["tvl"] > 1_000
        assert message.supply_apy == pytest.approx(row["supplyApy"], rel=1e-3)
        assert message.borrow_apy == pytest.approx(row["borrowApy"], rel=1e-3)
        assert message.tvl == pytest.approx(row["tvl"], rel=1e-3)


@pytest.mark.parametrize(("protocol", "chain"), MARKETS)
async def test_balances_of_every_supply(faces: RunningGateway, protocol: str, chain: str) -> None:
    for supply in MARKETS[protocol, chain].set_up.supplies:
        asked = members(protocol, chain, pool_of(protocol, chain, supply.symbol), address=supply.holder)
        row, message = await both(faces, BALANCE, asked)
        symbol, whole = supply.symbol, supply.amount / 10**6
        assert list(row["balance"]) == [symbol, "USD"]
        # The world is built with so many millionths; interest of at most a month came to them.
        assert whole <= row["balance"][symbol] + 1e-9 < whole * 1.1
        assert row["balance"]["USD"] == pytest.approx(row["balance"][symbol] * float(PRICES[symbol]), rel=1e-9)
        assert dict(message.balance.amounts) == pytest.approx({symbol: row["balance"][symbol]}, rel=1e-6)
        assert message.balance.usd == pytest.approx(row["balance"]["USD"], rel=1e-6)
        assert message.address == supply.holder


@pytest.mark.parametrize(("protocol", "chain"), MARKETS)
async def test_a_wallet_with_nothing_is_a_row_of_zeros(faces: RunningGateway, protocol: str, chain: str) -> None:
    asked = members(protocol, chain, pool_of(protocol, chain, "USDC"), address=known.UNTOUCHED)
    row, _ = await both(faces, BALANCE, asked)
    assert row["balance"] == {"USDC": 0, "USD": 0}


@pytest.mark.parametrize("chain", LEND_A)
async def test_prices_of_shares(faces: RunningGateway, chain: str) -> None:
    for reserve in LEND_A_V3[chain].set_up.reserves:
        row, message = await both(faces, PRICE, members("lend-a", chain, reserve.symbol))
        assert Decimal(str(row["price"]["USD"])) == Decimal(PRICES[reserve.symbol])
        assert set(row) == {"chain", "protocol", "pool", "price", "updatedAt", "blockHeight"}
        assert message.price.usd == row["price"]["USD"]


async def test_pools_are_repeated_as_asked(faces: RunningGateway) -> None:
    for protocol, chain, pool in (
        ("lend-a", "polygon", "usdc"),
        ("lend-a", "polygon", "UsDc.E"),
        ("lend-a", "ethereum", "mkr"),
        ("lend-d", "hyperliquid", "0xBe6727B535545C67d5cAa73dEa54865B92CF7907".lower()),
    ):
        await both(faces, LENDING, members(protocol, chain, pool))
    aliased = await faces.ask(LENDING, members("aave", "ethereum", "USDC"))
    assert aliased["result"]["data"]["results"][0]["protocol"] == "lend-a"


REFUSED: dict[str, tuple[dict[str, str], int, str, str, str]] = {
    "lend-a where it has positions, but no yields": (
        members("lend-a", "bsc", "USDC"),
        *(400, "CHAIN_UNSUPPORTED", "chain", "ethereum, polygon, optimism, base, avalanche, arbitrum"),
    ),
    "lend-a where lend-d is": (members("lend-a", "hyperliquid", "USDC"), 400, "CHAIN_UNSUPPORTED", "chain", "ethereum"),
    "lend-d where lend-a is": (members("lend-d", "ethereum", WHYPE), 400, "CHAIN_UNSUPPORTED", "chain", "hyperliquid"),
    "a chain of another family": (members("lend-a", "solana", "USDC"), 400, "CHAIN_UNSUPPORTED", "chain", "ethereum"),
    "no such chain": (members("lend-a", "atlantis", "USDC"), 404, "CHAIN_UNKNOWN", "chain", "atlantis"),
    "no such symbol": (members("lend-a", "polygon", "USDCC"), 404, "NOT_FOUND", "pool", "USDC"),
    "a symbol of another chain": (members("lend-a", "polygon", "MKR"), 404, "NOT_FOUND", "pool", "no such pool"),
    "a reserve that was dropped": (members("lend-a", "ethereum", "UNI"), 404, "NOT_FOUND", "pool", "no such pool"),
    "a token's address for a symbol": (members("lend-a", "ethereum", WHYPE), 400, "INVALID_ARGUMENT", "pool", "symbol"),
    "spaces": (members("lend-a", "ethereum", " USDC"), 400, "INVALID_ARGUMENT", "pool", "symbol"),
    "a line": (members("lend-a", "ethereum", "USDC\n"), 400, "INVALID_ARGUMENT", "pool", "symbol"),
    "nothing": (members("lend-a", "ethereum", ""), 400, "INVALID_ARGUMENT", "pool", "pool"),
    "more than any symbol": (members("lend-a", "ethereum", "x" * 41), 400, "INVALID_ARGUMENT", "pool", "symbol"),
    "more than any pool": (members("lend-a", "ethereum", "x" * 5000), 400, "INVALID_ARGUMENT", "pool", "200"),
    "letters that look alike": (members("lend-a", "ethereum", "USDС"), 404, "NOT_FOUND", "pool", "USDC"),  # noqa: RUF001
    "a symbol for an address": (members("lend-d", "hyperliquid", "USDC"), 400, "INVALID_ARGUMENT", "pool", "40 hex"),
    "a cut address": (members("lend-d", "hyperliquid", WHYPE[:-1]), 400, "INVALID_ARGUMENT", "pool", "40 hex"),
    "a wrong checksum": (
        members("lend-d", "hyperliquid", "0xbE6727B535545C67d5cAa73dEa54865B92CF7907"),
        *(400, "INVALID_ARGUMENT", "pool", "EIP-55"),
    ),
    "a token that is no reserve": (
        members("lend-d", "hyperliquid", "0x1AC2EE68b8d038C982C1E1f73F596927dd70De59"),
        *(404, "NOT_FOUND", "pool", "no such pool of lend-d on hyperliquid"),
    ),
    "almost a reserve": (members("lend-d", "hyperliquid", WHYPE[:-1] + "6"), 404, "NOT_FOUND", "pool", WHYPE),
    "a wallet for a token": (members("lend-d", "hyperliquid", known.ALICE), 404, "NOT_FOUND", "pool", "no such pool"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("operation", [LENDING, BALANCE])
async def test_what_is_no_pool_is_refused(faces: RunningGateway, operation: str, case: str) -> None:
    asked, code, reason, field, words = REFUSED[case]
    wallet = {"address": known.ALICE} if operation == BALANCE else {}
    error = (await faces.ask(operation, asked | wallet))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (code, reason, field), error
    assert words in error["message"]


@pytest.mark.parametrize("case", [case for case in REFUSED if REFUSED[case][0]["protocol"] == "lend-a"])
async def test_what_is_no_pool_has_no_price(faces: RunningGateway, case: str) -> None:
    asked, code, reason, field, words = REFUSED[case]
    error = (await faces.ask(PRICE, asked))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (code, reason, field), error
    assert words in error["message"]


async def test_shares_of_lend_d_are_not_priced(faces: RunningGateway) -> None:
    for chain, field in (("ethereum", "protocol"), ("hyperliquid", "chain")):
        error = (await faces.ask(PRICE, members("lend-d", chain, WHYPE)))["error"]
        assert error["code"] == 400
        assert error["data"]["field"] in (field, "protocol")


@pytest.mark.parametrize("wallet", ["vitalik.eth", "0x12", known.ALICE[:-1] + "d", "", "0x" + "a" * 5000])
async def test_a_wallet_that_is_none_is_refused(faces: RunningGateway, wallet: str) -> None:
    for protocol, chain in (("lend-a", "ethereum"), ("lend-d", "hyperliquid")):
        asked = members(protocol, chain, pool_of(protocol, chain, "USDC"), address=wallet)
        error = (await faces.ask(BALANCE, asked))["error"]
        assert (error["code"], error["data"]["field"]) == (400, "address")


@pytest.mark.parametrize("pool", [7, True, None, ["USDC"], {"symbol": "USDC"}, 1.5])
async def test_a_pool_of_another_type_is_refused(faces: RunningGateway, pool: Any) -> None:
    error = (await faces.ask(LENDING, {"chain": "ethereum", "protocol": "lend-a", "pool": pool}))["error"]
    assert (error["code"], error["data"]["field"]) == (400, "pool")
