"""Routed quotes and prices on Solana: the aggregator's stand-in and the local chain, over both faces."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_solana
from devnet.offchain import swaps
from server.aggregators.jupiter import Swap
from server.errors import GatewayError
from tests.server.aggregators.conftest import KEY, opened
from tests.server.rpc.refusals import STATUS_CODES

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.solana.ledger import Ledger
    from server.aggregators.jupiter import Jupiter
    from tests.server.aggregators.conftest import Asked, Source

pytestmark = pytest.mark.devnet

SOL, USDC = str(known_solana.WRAPPED_SOL), str(known_solana.USDC)
TOKEN = str(known_solana.TOKEN_2022)
QUOTE, PRICE = "getSolAggregatorQuote", "getSolAggregatorPrice"
PAIR = {"inputMint": SOL, "outputMint": USDC}
ONE_SOL = PAIR | {"amount": "1000000000"}


def stand_in(amount: int) -> dict[str, Any]:
    """Return what the stand-in says of so much SOL."""
    found = swaps.quote(SOL, USDC, amount, 50)
    assert found is not None
    return found


async def test_a_quote_is_what_the_source_says(shared: Asked):
    over_json, over_grpc = await shared.both(QUOTE, **ONE_SOL)
    answered = stand_in(10**9)
    assert list(over_json) == [
        *("inputMint", "outputMint", "amountIn", "amountOut", "priceImpactPct", "routePlan", "otherAmountThreshold")
    ]
    assert (over_json["inputMint"], over_json["outputMint"], over_json["amountIn"]) == (SOL, USDC, "1000000000")
    assert (over_json["amountOut"], over_json["otherAmountThreshold"], over_json["priceImpactPct"]) == (
        *(answered["outAmount"], answered["otherAmountThreshold"], answered["priceImpactPct"]),
    )
    # Both pools hold SOL at 143.21, at fees of 0.25 and 0.3 percent: six tenths go through the first.
    fair = Fraction(14321, 100) * (Fraction(6, 10) * Fraction(9975, 10_000) + Fraction(4, 10) * Fraction(9970, 10_000))
    assert 0 < 1 - Fraction(int(over_json["amountOut"]), 10**6) / fair < Fraction(1, 20_000)
    assert over_json["routePlan"] == [
        {
            "swapInfo": {"ammKey": step["swapInfo"]["ammKey"], "label": label, "inputMint": SOL, "outputMint": USDC},
            "percent": percent,
            "bps": percent * 100,
        }
        for step, label, percent in zip(answered["routePlan"], ("Deep Pool", "Shallow Pool"), (60, 40), strict=True)
    ]
    assert (over_grpc.amount_in, over_grpc.amount_out) == (over_json["amountIn"], over_json["amountOut"])
    assert [step.percent for step in over_grpc.route_plan] == [60, 40]


async def test_a_quote_is_one_request_and_says_what_it_is_asked(asked: Asked):
    await asked.both(QUOTE, **ONE_SOL, slippageBps=123)
    assert asked.source.asked == [{**PAIR, "amount": "1000000000", "slippageBps": "123", "swapMode": "ExactIn"}]
    assert asked.reads == []
    assert asked.source.headers[0]["User-Agent"].startswith("waypost/")


async def test_equal_quotes_of_one_moment_are_one_request(asked: Asked):
    answers = await asyncio.gather(*(asked.faces.ask(QUOTE, ONE_SOL) for _ in range(20)))
    assert len({answer["result"]["data"]["amountOut"] for answer in answers}) == 1
    assert len(asked.source.asked) == 1
    await asyncio.sleep(2.1)
    await asked.faces.ask(QUOTE, ONE_SOL)
    assert len(asked.source.asked) == 2


async def test_slippage_shows_in_the_least_amount(shared: Asked):
    over_json, _ = await shared.both(QUOTE, **ONE_SOL, slippageBps=10_000)
    assert over_json["otherAmountThreshold"] == "0"
    over_json, _ = await shared.both(QUOTE, **ONE_SOL, slippageBps=0)
    assert over_json["otherAmountThreshold"] == over_json["amountOut"]


async def test_a_route_of_two_hops_with_a_pool_that_has_no_name(shared: Asked):
    over_json, over_grpc = await shared.both(QUOTE, inputMint=TOKEN, outputMint=SOL, amount="5000000000")
    steps = over_json["routePlan"]
    assert [(step["swapInfo"]["inputMint"], step["swapInfo"]["outputMint"]) for step in steps] == [
        *((TOKEN, USDC), (USDC, SOL), (USDC, SOL))
    ]
    assert (steps[0]["swapInfo"]["label"], steps[0]["percent"], steps[0]["bps"]) == (None, 100, 10_000)
    assert not over_grpc.route_plan[0].swap_info.HasField("label")


@pytest.mark.parametrize("amount", ["1", str(2**64 - 1)])
async def test_the_smallest_and_the_largest_amount(shared: Asked, amount: str):
    over_json, _ = await shared.both(QUOTE, **PAIR, amount=amount)
    assert over_json["amountIn"] == amount


BAD = [
    ({"amount": "0"}, "amount"),
    ({"amount": str(2**64)}, "amount"),
    ({"amount": "-1"}, "amount"),
    ({"amount": "1.5"}, "amount"),
    ({"outputMint": SOL}, "outputMint"),
    ({"inputMint": "l" * 44}, "inputMint"),
    ({"inputMint": "z" * 44}, "inputMint"),
    ({"outputMint": "1" * 33}, "outputMint"),
    ({"outputMint": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"}, "outputMint"),
    ({"slippageBps": 10_001}, "slippageBps"),
    ({"slippageBps": -1}, "slippageBps"),
]


@pytest.mark.parametrize(("bad", "field"), BAD, ids=str)
async def test_bad_input_is_refused_before_any_request(shared: Asked, bad: dict[str, Any], field: str):
    code, reason, named, message = await shared.refused(QUOTE, **(ONE_SOL | bad))
    assert (code, reason, named) == (400, "INVALID_ARGUMENT", field), message
    assert field in message
    if field in ("inputMint", "outputMint"):
        code, reason, named, message = await shared.refused(PRICE, **(PAIR | bad))
        assert (code, reason, named) == (400, "INVALID_ARGUMENT", field), message
    assert shared.source.asked == []
    assert shared.reads == []


async def test_a_mint_that_no_pool_trades_and_one_without_a_route(shared: Asked):
    unknown = str(known_solana.ALICE)
    for field, other in (("inputMint", "outputMint"), ("outputMint", "inputMint")):
        answered = await shared.refused(QUOTE, **{field: unknown, other: USDC, "amount": "5"})
        assert answered[:3] == (400, "INVALID_ARGUMENT", field)
        assert unknown in answered[3]
    answered = await shared.refused(QUOTE, inputMint=SOL, outputMint=swaps.NO_ROUTE, amount="5")
    assert answered[:2] == (404, "NOT_FOUND")
    assert "no route" in answered[3]
    answered = await shared.refused(PRICE, inputMint=swaps.NO_ROUTE, outputMint=SOL)
    assert answered[:2] == (404, "NOT_FOUND")


async def test_a_price_is_that_of_one_unit(asked: Asked):
    answered = stand_in(10**9)
    over_json = await asked.faces.ask(PRICE, PAIR)
    assert over_json["result"]["data"] == {"price": int(answered["outAmount"]) / 10**6}
    # Cold: both mints in one request, and the quote.
    assert [method for method, _ in asked.reads] == ["getMultipleAccounts"]
    assert len(asked.reads[0][1][0]) == 2
    assert [one["amount"] for one in asked.source.asked] == ["1000000000"]
    asked.forget()
    await asyncio.sleep(2.1)
    _, over_grpc = await asked.both(PRICE, **PAIR)
    assert over_grpc.price == over_json["result"]["data"]["price"]
    assert (len(asked.reads), len(asked.source.asked)) == (0, 1)
    asked.forget()
    over_json = await asked.faces.ask(PRICE, {"inputMint": USDC, "outputMint": SOL})
    assert over_json["result"]["data"]["price"] == pytest.approx(1 / 143.21, rel=0.004)
    assert (len(asked.reads), len(asked.source.asked)) == (0, 1)


async def test_a_price_below_the_smallest_unit_is_asked_again_for_more_units(shared: Asked):
    over_json, _ = await shared.both(PRICE, inputMint=swaps.DUST, outputMint=USDC)
    assert [one["amount"] for one in shared.source.asked] == ["100", str(100 * 10**6), str(100 * 10**7)]
    # 0.000000042 less the pool's fee of a percent.
    assert over_json["price"] == pytest.approx(0.000000042 * 0.99, rel=1e-5)
    assert over_json["price"] > 0


async def test_an_address_that_is_no_mint_has_no_price(shared: Asked):
    answered = await shared.refused(PRICE, inputMint=SOL, outputMint=str(known_solana.ALICE))
    assert answered[:3] == (400, "NOT_A_TOKEN", "outputMint")
    assert shared.source.asked == []


MODES: dict[str, tuple[int, str, str]] = {
    "changed": (503, "UPSTREAM_UNAVAILABLE", "outAmount"),
    "other": (503, "UPSTREAM_UNAVAILABLE", "another question"),
    "limited": (503, "UPSTREAM_UNAVAILABLE", "throttled"),
}


@pytest.mark.parametrize("mode", MODES)
async def test_a_source_that_misbehaves(ledger: Ledger, tmp_path: Path, mode: str):
    code, reason, words = MODES[mode]
    async with opened(ledger, tmp_path, mode) as asked:
        for name, params in ((QUOTE, ONE_SOL), (PRICE, PAIR)):
            answered = await asked.refused(name, **params)
            assert answered[:3] == (code, reason, None)
            assert words in answered[3]
            assert "127.0.0.1" not in answered[3]


async def test_the_sources_own_limit_says_when_to_try_again(ledger: Ledger, tmp_path: Path):
    async with opened(ledger, tmp_path, "limited") as asked:
        for _ in range(3):
            body = {"jsonrpc": "2.0", "id": 1, "method": QUOTE, "params": ONE_SOL}
            response = await asked.faces.post(body)
            assert response.status == 503
            assert 55 <= int(response.headers["Retry-After"]) <= 60
            data = (await response.json())["error"]["data"]
            assert (data["reason"], data["retryAfterMs"] > 55_000) == ("UPSTREAM_UNAVAILABLE", True)
        # It is left alone for as long as it asked for.
        assert len(asked.source.asked) == 1


async def test_a_source_that_hangs_does_not_hang_its_caller(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("server.aggregators.jupiter.ANSWER_SECONDS", 1.5)
    async with opened(ledger, tmp_path, "slow") as asked:
        async with asyncio.timeout(10):
            answer = await asked.faces.ask(QUOTE, ONE_SOL)
        assert answer["error"]["code"] == 503
        assert answer["error"]["data"]["reason"] in ("DEADLINE_EXCEEDED", "UPSTREAM_UNAVAILABLE")


@pytest.mark.parametrize(
    ("status", "body", "expected", "words"),
    [
        (400, {"error": "Could not find any route"}, (404, "NOT_FOUND"), "no route"),
        (400, {"error": "x", "errorCode": "NO_ROUTES_FOUND"}, (404, "NOT_FOUND"), "no route"),
        (400, {"error": f"The token {SOL} is not tradable"}, (400, "INVALID_ARGUMENT"), "inputMint"),
        (400, {"error": "x", "errorCode": "TOKEN_NOT_TRADABLE"}, (400, "INVALID_ARGUMENT"), "inputMint"),
        (400, {"error": "x", "errorCode": "SOMETHING_NEW"}, (503, "UPSTREAM_UNAVAILABLE"), "SOMETHING_NEW"),
        (400, {"error": {"deep": 1}, "errorCode": 7}, (503, "UPSTREAM_UNAVAILABLE"), "refuses"),
        (401, {"message": "Unauthorized"}, (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (403, {"message": "Forbidden"}, (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (404, {"message": "Route not found"}, (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (429, {"message": "Rate limit exceeded"}, (503, "UPSTREAM_UNAVAILABLE"), "throttled"),
        (500, {"error": "boom"}, (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (502, "<html>bad gateway</html>", (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (200, "", (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (200, "[]", (503, "UPSTREAM_UNAVAILABLE"), "shape"),
        (200, "[" * 5000, (503, "UPSTREAM_UNAVAILABLE"), "jupiter"),
        (200, "null", (503, "UPSTREAM_UNAVAILABLE"), "shape"),
    ],
)
async def test_errors_are_reported_apart(
    source: tuple[Source, Jupiter], status: int, body: Any, expected: tuple[int, str], words: str
):
    answered, jupiter = source
    answered.twist = lambda: (status, body, {})
    with pytest.raises(GatewayError) as caught:
        await jupiter.quote(Swap(SOL, USDC, 10**9), deadline=None, use=None)
    assert (STATUS_CODES[caught.value.status], caught.value.reason) == expected
    assert words in caught.value.message
    assert "boom" not in caught.value.message


async def test_the_quota_without_a_key_is_one_request_in_two_seconds(ledger: Ledger, tmp_path: Path):
    async with opened(ledger, tmp_path, rate=0.5) as asked:
        answers = await asyncio.gather(
            *(asked.faces.ask(QUOTE, ONE_SOL | {"amount": str(amount)}) for amount in range(10**9, 10**9 + 8))
        )
        answered = [answer for answer in answers if "result" in answer]
        refused = [answer["error"] for answer in answers if "error" in answer]
        # At once, after two and after four seconds; the others are refused at once.
        assert (len(answered), len(asked.source.asked), len(refused)) == (3, 3, 5)
        for error in refused:
            assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
            assert "quota" in error["message"]
            assert 4000 < error["data"]["retryAfterMs"] <= 6000


async def test_a_key_of_the_configuration_goes_with_every_request(ledger: Ledger, tmp_path: Path):
    async with opened(ledger, tmp_path, headers_env={"x-api-key": "AGGREGATOR_KEY"}) as asked:
        await asked.both(QUOTE, **ONE_SOL)
        assert [headers["x-api-key"] for headers in asked.source.headers] == [KEY]
        asked.source.twist = lambda: (401, {"message": f"{KEY} is wrong"}, {})
        answered = await asked.refused(QUOTE, **(ONE_SOL | {"amount": "7"}))
        assert "secret" not in answered[3]
