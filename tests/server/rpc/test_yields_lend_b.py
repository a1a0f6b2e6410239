"""lend-b's yields on every chain of the contract's table, over both faces; what is refused, and in which words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.evm.treasury import token_of
from devnet.evm.world import load_world
from devnet.known_lending import PRICES
from devnet.known_lending_b import LEND_B_V3
from server.protocols.compound_v3.yields import CHAINS
from tests.server.rpc.every import WORKING, message_of

if TYPE_CHECKING:
    from devnet.known_lending_b import Comet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

OPERATIONS = {operation.name: operation for operation in WORKING}
MARKETS = [(chain, market) for chain in CHAINS for market in LEND_B_V3[chain]]
LENDING, BALANCE = "getYieldsLending", "getYieldsBalance"
USDC = "0xc3d688B66703497DAA19211EEdff47f25384cdc3"


def members(chain: str, pool: str, **others: str) -> dict[str, Any]:
    return {"chain": chain, "protocol": "lend-b", "pool": pool, **others}


def test_the_contract_gives_it_five_chains_and_twenty_markets() -> None:
    assert set(CHAINS) == {"ethereum", "polygon", "optimism", "base", "arbitrum"}
    assert len(MARKETS) == 20


@pytest.mark.parametrize(("chain", "market"), MARKETS, ids=lambda one: getattr(one, "symbol", one))
async def test_a_market_answers_over_both_faces(faces: RunningGateway, chain: str, market: Comet) -> None:
    asked = members(chain, market.address)
    answer = await faces.ask(LENDING, asked)
    assert "result" in answer, answer
    [row] = answer["result"]["data"]["results"]
    assert {name: row[name] for name in asked} == asked
    assert row["basis"] == "spot"
    assert row["blockHeight"] > 0
    assert row["updatedAt"].endswith("Z")
    assert 0 < row["supplyApy"] < row["borrowApy"] < 400
    # The world is built with so many millionths; a month of interest at most came to them.
    supplied = (market.rest + sum(market.supplies.values())) / 10**6 * float(PRICES[market.base])
    assert supplied * 0.999 < row["tvl"] < supplied * 1.2
    found: Any = await faces.ask_grpc(OPERATIONS[LENDING], message_of(OPERATIONS[LENDING], asked))
    [message] = found.results
    assert (message.chain, message.protocol, message.pool, message.basis) == (chain, 2, market.address, 1)
    assert message.supply_apy == pytest.approx(row["supplyApy"], rel=1e-3)
    assert message.borrow_apy == pytest.approx(row["borrowApy"], rel=1e-3)
    assert message.tvl == pytest.approx(row["tvl"], rel=1e-3)


@pytest.mark.parametrize("chain", CHAINS)
async def test_balances_answer_over_both_faces(faces: RunningGateway, chain: str) -> None:
    for market in LEND_B_V3[chain]:
        [(wallet, millionths)] = market.supplies.items()
        asked = members(chain, market.address, address=wallet)
        answer = await faces.ask(BALANCE, asked)
        assert "result" in answer, answer
        [row] = answer["result"]["data"]["results"]
        assert {name: row[name] for name in asked} == asked
        symbol = token_of(load_world()[chain], market.base).symbol
        assert set(row["balance"]) == {symbol, "USD"}
        whole = millionths / 10**6
        assert whole * 0.999 < row["balance"][symbol] < whole * 1.2
        assert row["balance"]["USD"] == pytest.approx(row["balance"][symbol] * float(PRICES[market.base]), rel=0.01)
        found: Any = await faces.ask_grpc(OPERATIONS[BALANCE], message_of(OPERATIONS[BALANCE], asked))
        [message] = found.results
        assert dict(message.balance.amounts) == pytest.approx({symbol: row["balance"][symbol]}, rel=1e-6)
        assert message.balance.usd == pytest.approx(row["balance"]["USD"], rel=1e-3)
        assert (message.address, message.pool) == (wallet, market.address)


async def test_an_address_may_be_in_small_letters_and_is_repeated_as_asked(faces: RunningGateway) -> None:
    for pool in (USDC.lower(), USDC):
        answer = await faces.ask(LENDING, members("ethereum", pool))
        assert [row["pool"] for row in answer["result"]["data"]["results"]] == [pool]
    aliased = await faces.ask(LENDING, members("ethereum", USDC) | {"protocol": "compound"})
    assert aliased["result"]["data"]["results"][0]["protocol"] == "lend-b"


REFUSED: dict[str, tuple[dict[str, Any], int, str, str, str]] = {
    "a chain that the protocol is not on": (
        members("avalanche", USDC),
        *(400, "CHAIN_UNSUPPORTED", "chain", "ethereum, polygon, optimism, base, arbitrum"),
    ),
    "a chain that has markets, but no yields": (
        members("linea", "0x8D38A3d6B3c3B7d96D6536DA7Eef94A9d7dbC991"),
        *(400, "CHAIN_UNSUPPORTED", "chain", "base"),
    ),
    "no chain": (members("atlantis", USDC), 404, "CHAIN_UNKNOWN", "chain", "atlantis"),
    "a symbol for an address": (members("ethereum", "USDC"), 400, "INVALID_ARGUMENT", "pool", "40 hex digits"),
    "a market's symbol": (members("ethereum", "cUSDCv3"), 400, "INVALID_ARGUMENT", "pool", "40 hex digits"),
    "a cut address": (members("ethereum", USDC[:-1]), 400, "INVALID_ARGUMENT", "pool", "40 hex digits"),
    "a wrong checksum": (members("ethereum", USDC[:-1] + "C"), 400, "INVALID_ARGUMENT", "pool", "EIP-55"),
    "a market of another chain": (
        members("ethereum", "0xF25212E676D1F7F89Cd72fFEe66158f541246445"),
        *(404, "NOT_FOUND", "pool", "no such pool of lend-b on ethereum"),
    ),
    "a contract that is no market": (members("ethereum", known.PROBER), 404, "NOT_FOUND", "pool", "no such pool"),
    "almost a market": (members("ethereum", USDC[:-1].lower() + "4"), 404, "NOT_FOUND", "pool", USDC),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("operation", [LENDING, BALANCE])
async def test_what_is_no_market_is_refused(faces: RunningGateway, operation: str, case: str) -> None:
    asked, code, reason, field, words = REFUSED[case]
    wallet = {"address": known.ALICE} if operation == BALANCE else {}
    error = (await faces.ask(operation, asked | wallet))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (code, reason, field)
    assert words in error["message"]


async def test_a_wallet_that_is_none_is_refused(faces: RunningGateway) -> None:
    for wallet, code in (("vitalik.eth", 400), ("0x12", 400), (known.ALICE[:-1] + "d", 400)):
        error = (await faces.ask(BALANCE, members("ethereum", USDC, address=wallet)))["error"]
        assert (error["code"], error["data"]["field"]) == (code, "address")


async def test_there_is_no_price_of_a_share(faces: RunningGateway) -> None:
    error = (await faces.ask("getYieldsPrice", members("ethereum", USDC)))["error"]
    assert (error["code"], error["data"]["field"]) == (400, "protocol")
    assert "lend-a" in error["message"]


async def test_an_unknown_wallet_is_a_row_of_zeros(faces: RunningGateway) -> None:
    answer = await faces.ask(BALANCE, members("ethereum", USDC, address=known.UNTOUCHED))
    [row] = answer["result"]["data"]["results"]
    assert row["balance"] == {"USDC": 0, "USD": 0}
    assert math.copysign(1, row["balance"]["USD"]) == 1
