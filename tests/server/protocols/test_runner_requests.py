"""Exactly how many requests each operation costs: the first of a chain, warm, and what wallets of one block share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from devnet import known
from server.errors import GatewayError

if TYPE_CHECKING:
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"

# rpc -> the chain, requests of the first read, requests of a warm one
WALLETS = {
    "GetLendAV3UserPositions": ("ethereum", 3, 1),
    "GetLendAV2UserPositions": ("ethereum", 3, 1),
    "GetLendBV3UserPositions": ("ethereum", 3, 1),
    "GetLendBV2UserPositions": ("ethereum", 3, 1),
    "GetLendCUserPositions": ("ethereum", 2, 1),
    "GetStakeAUserPositions": ("ethereum", 1, 1),
    "GetPoolALend": ("ethereum", 3, 1),
}
LISTINGS = {"GetPoolAPools": (2, 1), "GetPoolALendMarkets": (3, 1), "GetYieldAV2Info": (0, 0)}
QUOTES = ("GetDexAV2Quote", "GetDexAV3Quote", "GetDexAV4Quote")


@pytest.mark.parametrize("rpc", WALLETS)
async def test_a_wallets_positions(asked: Asked, rpc: str) -> None:
    chain, cold, warm = WALLETS[rpc]
    with asked.sends(*[chain] * cold):
        await asked.wallet(rpc, chain, known.VITALIK)
    with asked.sends(*[chain] * warm):
        await asked.wallet(rpc, chain, known.ALICE)
    with asked.sends():
        await asked.wallet(rpc, chain, known.ALICE)
    await asked.mine(chain)
    with asked.sends(*[chain] * warm):
        await asked.wallet(rpc, chain, known.ALICE)


@pytest.mark.parametrize("rpc", LISTINGS)
async def test_what_a_protocol_has(asked: Asked, rpc: str) -> None:
    cold, warm = LISTINGS[rpc]
    with asked.sends(*["ethereum"] * cold):
        await asked.listing(rpc, "ethereum")
    await asked.mine("ethereum")
    with asked.sends(*["ethereum"] * warm):
        await asked.listing(rpc, "ethereum")


@pytest.mark.parametrize("rpc", QUOTES)
async def test_a_quote(asked: Asked, rpc: str) -> None:
    with asked.sends("ethereum", "ethereum"):
        await asked.swap(rpc, "ethereum", WETH, USDC, "1")
    with asked.sends("ethereum"):
        await asked.swap(rpc, "ethereum", WETH, USDC, "2")
    with asked.sends("ethereum"):
        await asked.swap(rpc, "ethereum", NATIVE, USDC, "3")


async def test_elsewhere_the_staking_rate_is_ethereums(asked: Asked) -> None:
    with asked.sends("polygon", "ethereum"):
        await asked.wallet("GetStakeAUserPositions", "polygon", known.VITALIK)
    await asked.mine("polygon")
    with asked.sends("polygon"):
        await asked.wallet("GetStakeAUserPositions", "polygon", known.VITALIK)


async def test_a_warm_summary_is_one_request(asked: Asked) -> None:
    await asked.summary("ethereum", known.VITALIK)
    with asked.sends("ethereum"):
        rows = await asked.summary("ethereum", known.ALICE)
    assert [row.member for row in rows.values() if isinstance(row.outcome, GatewayError) or row.outcome is None] == []
    with asked.sends():
        await asked.summary("ethereum", known.ALICE)
    await asked.mine("ethereum")
    with asked.sends("ethereum"):
        await asked.summary("ethereum", known.ALICE)


@pytest.mark.parametrize("chain", ["polygon", "arbitrum"])
async def test_elsewhere_a_warm_summary_is_one_request_and_the_rate(asked: Asked, chain: str) -> None:
    await asked.summary(chain, known.VITALIK)
    await asked.mine("ethereum")
    with asked.sends(chain, "ethereum"):
        await asked.summary(chain, known.ALICE)


async def test_ten_summaries_at_once(asked: Asked) -> None:
    await asked.summary("ethereum", known.VITALIK)
    wallets = [f"0x{0x1000 + number:040x}" for number in range(10)]
    del asked.tally.requests[:]
    await asyncio.gather(*(asked.summary("ethereum", wallet) for wallet in wallets))
    assert len(asked.tally.requests) <= 10
    with asked.sends():
        await asyncio.gather(*(asked.summary("ethereum", wallet) for wallet in wallets))
