"""The stand-in of the Solana aggregator: its shape, its arithmetic and the ways in which it misbehaves."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from devnet.known_solana import TOKEN_2022, USDC, WRAPPED_SOL, key_of
from devnet.offchain import swaps
from devnet.offchain.server import OffchainServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Ask = Callable[..., Awaitable[tuple[int, Any]]]

SOL, DOLLAR, TOKEN = str(WRAPPED_SOL), str(USDC), str(TOKEN_2022)
# As @jup-ag/api 6.0.48 types a quote: what is always there, and what a step of the route has.
MEMBERS = {"inputMint", "inAmount", "outputMint", "outAmount", "otherAmountThreshold", "swapMode", "slippageBps"} | {
    *("priceImpactPct", "routePlan", "platformFee", "contextSlot", "timeTaken")
}
STEP = {"ammKey", "inputMint", "outputMint", "inAmount", "outAmount"}


@pytest.fixture
async def server() -> AsyncIterator[OffchainServer]:
    async with OffchainServer((swaps.add_routes,)) as running:
        yield running


@pytest.fixture
async def ask(server: OffchainServer) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession() as http:

        async def get(mode: str | None = None, **asked: str) -> tuple[int, Any]:
            [endpoint] = swaps.settings(server.authority, mode)["jupiter"]["endpoints"]
            async with http.get(f"{endpoint['url']}/swap/v1/quote", params=asked) as answer:
                return answer.status, await answer.json()

        yield get


async def test_a_quote_has_the_shape_of_the_real_one(ask: Ask) -> None:
    status, found = await ask(inputMint=SOL, outputMint=DOLLAR, amount="1000000000", slippageBps="100")
    assert status == 200
    assert set(found) == MEMBERS
    assert (found["inputMint"], found["inAmount"], found["outputMint"]) == (SOL, "1000000000", DOLLAR)
    assert (found["swapMode"], found["slippageBps"], found["platformFee"]) == ("ExactIn", 100, None)
    # 143.21 less a fee of a quarter of a percent.
    assert 142_700_000 < int(found["outAmount"]) < 142_900_000
    assert int(found["otherAmountThreshold"]) == int(found["outAmount"]) * 99 // 100
    assert 0.002 < float(found["priceImpactPct"]) < 0.004
    assert len(found["routePlan"]) == 2
    for step in found["routePlan"]:
        assert STEP <= set(step["swapInfo"]) <= STEP | {"label"}
        assert step["percent"] * 100 == step["bps"]
    assert sum(step["bps"] for step in found["routePlan"]) == 10_000
    assert sum(int(step["swapInfo"]["inAmount"]) for step in found["routePlan"]) == 10**9
    assert sum(int(step["swapInfo"]["outAmount"]) for step in found["routePlan"]) == int(found["outAmount"])


async def test_two_hops_hand_on_what_the_first_gives_and_may_say_bps_alone(ask: Ask) -> None:
    status, found = await ask(inputMint=TOKEN, outputMint=SOL, amount="5000000000")
    assert status == 200
    first, *rest = found["routePlan"]
    assert first["swapInfo"]["outputMint"] == DOLLAR
    assert (first["percent"], first["bps"], "label" in first["swapInfo"]) == (None, 10_000, False)
    assert {step["swapInfo"]["inputMint"] for step in rest} == {DOLLAR}
    assert sum(int(step["swapInfo"]["inAmount"]) for step in rest) == int(first["swapInfo"]["outAmount"])
    assert rest[-1]["swapInfo"]["outputMint"] == SOL
    assert sum(int(step["swapInfo"]["outAmount"]) for step in rest) == int(found["outAmount"])


@pytest.mark.parametrize("amount", [1, 999_999, 10**9, 10**13, 2**64 - 1])
def test_a_pool_never_shrinks_and_never_gives_more_than_it_has(amount: int) -> None:
    for pool in swaps.POOLS:
        for own, mint in enumerate(pool.mints):
            given = swaps.received(pool, mint, amount)
            mine, other = pool.reserves[own], pool.reserves[1 - own]
            assert 0 <= given < other
            assert (mine + amount) * (other - given) >= mine * other
            # One unit more would break the product of what counts after the fee.
            counted = Decimal(amount * (10_000 - pool.fee)) / 10_000
            assert (mine + counted) * (other - given - 1) < mine * other


async def test_one_whole_unit_may_be_worth_nothing(ask: Ask) -> None:
    _, whole = await ask(inputMint=swaps.DUST, outputMint=DOLLAR, amount="100")
    _, many = await ask(inputMint=swaps.DUST, outputMint=DOLLAR, amount=str(100 * 10**9))
    assert whole["outAmount"] == "0"
    # A thousand million units at 0.000000042, less a fee of a percent.
    assert 41_500_000 < int(many["outAmount"]) < 41_580_000


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"outputMint": swaps.NO_ROUTE}, "COULD_NOT_FIND_ANY_ROUTE"),
        ({"outputMint": str(key_of("nothing").pubkey())}, "TOKEN_NOT_TRADABLE"),
        ({"outputMint": SOL}, "CIRCULAR_ARBITRAGE_IS_DISABLED"),
        ({"outputMint": "0xA0b8"}, None),
        ({"amount": "0"}, None),
        ({"amount": str(2**64)}, None),
        ({"amount": "1.5"}, None),
        ({"slippageBps": "10001"}, None),
        ({"swapMode": "ExactOut"}, None),
    ],
)
async def test_what_it_refuses(ask: Ask, changed: dict[str, str], code: str | None) -> None:
    status, found = await ask(**{"inputMint": SOL, "outputMint": DOLLAR, "amount": "1000"} | changed)
    assert (status, found.get("errorCode")) == (400, code)
    assert found["error"]


async def test_each_way_to_misbehave_lies_below_an_address_of_its_own(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"inputMint": SOL, "outputMint": DOLLAR, "amount": "1000000000"}
    _, plain = await ask(**asked)
    _, changed = await ask("changed", **asked)
    assert changed["amountOut"] == plain["outAmount"]
    assert "outAmount" not in changed
    _, other = await ask("other", **asked)
    assert (other["inputMint"], set(other)) == (TOKEN, MEMBERS)
    assert await ask("limited", **asked) == (429, {"message": "Rate limit exceeded"})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await ask("slow", **asked)
    monkeypatch.setattr(swaps, "SLOW_SECONDS", 0.05)
    _, late = await ask("slow", **asked)
    assert late["outAmount"] == plain["outAmount"]
    with pytest.raises(ValueError, match="no mode"):
        swaps.settings("127.0.0.1:1", "unknown")
