"""Swap quotes, and the pools of pool-a."""

from __future__ import annotations

from devnet import known, known_exchanges, known_solana
from devnet.offchain import swaps
from tests.e2e.questions.question import Question, ethereum

WETH, USDC = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
DAI, LINK = "0x6B175474E89094C44Da98b954EedeAC495271d0F", "0x514910771AF9Ca656af840dff83E8264EcF986CA"
NATIVE, ZERO = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "0x" + "0" * 40
SOL, DOLLAR = str(known_solana.WRAPPED_SOL), str(known_solana.USDC)

SELL = ethereum(tokenIn=WETH, tokenOut=USDC, amount="1.5")
MINTS = {"inputMint": SOL, "outputMint": DOLLAR}
ROUTED = {**MINTS, "amount": "1500000000"}

QUESTIONS = [
    Question("getDexAV2Quote", SELL),
    Question("getDexAV2Quote", {**SELL, "tokenIn": NATIVE}, "the native coin"),
    Question("getDexAV2Quote", ethereum(tokenIn=USDC, tokenOut=DAI, amount="1000"), "over WETH"),
    Question("getDexAV2Quote", {**SELL, "tokenIn": WETH.lower()}, "small letters"),
    Question("getDexAV3Quote", SELL),
    Question("getDexAV3Quote", {**SELL, "fee": 3000}, "one fee"),
    Question("getDexAV3Quote", {**SELL, "tokenOut": ZERO, "tokenIn": USDC}, "the native coin"),
    Question("getDexAV3Quote", {**SELL, "blockHeight": 26_050_019}, "history"),
    Question("getDexAV4Quote", SELL),
    Question("getDexAV4Quote", {**SELL, "fee": 10_000, "tickSpacing": 200}, "the wrapped coin"),
    Question("getDexAV4Quote", {**SELL, "tokenIn": ZERO, "blockHeight": 26_050_019}, "history"),
    Question("getSolAggregatorQuote", ROUTED),
    Question("getSolAggregatorQuote", {**ROUTED, "slippageBps": 0}, "no slippage"),
    Question(
        "getSolAggregatorQuote",
        {"inputMint": str(known_solana.TOKEN_2022), "outputMint": SOL, "amount": "7000000000"},
        "two hops",
    ),
    Question("getSolAggregatorPrice", MINTS),
    Question("getSolAggregatorPrice", {"inputMint": swaps.DUST, "outputMint": DOLLAR}, "far below a unit"),
    Question("getPoolAPools", ethereum()),
]

_QUOTES = ("getDexAV2Quote", "getDexAV3Quote", "getDexAV4Quote")
_BAD = {
    "no amount": {"amount": ""},
    "nothing": {"amount": "0"},
    "too fine": {"amount": "0." + "0" * 18 + "1"},
    "too much": {"amount": "1" + "0" * 60},
    "negative": {"amount": "-1"},
    "one token": {"tokenOut": WETH},
    "no contract": {"tokenIn": known.ALICE},
    "no token": {"tokenOut": known_exchanges.V2_ROUTER},
    "burns gas": {"tokenOut": known.GAS_BURNER},
    "reverts at length": {"tokenIn": known.REVERT_BOMBER},
    "returns at length": {"tokenIn": known.RETURN_BOMBER},
    "no address": {"tokenIn": "0x1234"},
    "wrong checksum": {"tokenIn": WETH.replace("C02a", "c02a")},
    "another chain": {"chain": "moonbeam"},
    "no such chain": {"chain": "nowhere"},
    "no EVM chain": {"chain": "solana"},
}
REFUSED = [
    *(Question(method, {**SELL, **bad}, note) for method in _QUOTES for note, bad in _BAD.items()),
    Question("getDexAV2Quote", {**SELL, "tokenOut": NATIVE}, "wrapped and native"),
    Question("getDexAV2Quote", {**SELL, "tokenOut": LINK}, "an empty pair"),
    Question("getDexAV3Quote", {**SELL, "fee": 100}, "no such fee"),
    Question("getDexAV3Quote", {**SELL, "fee": 10_000, "amount": "1000"}, "a pool that runs dry"),
    Question("getDexAV3Quote", {**SELL, "tokenIn": DAI, "tokenOut": LINK}, "no pool"),
    Question("getDexAV3Quote", {**SELL, "tokenIn": DAI, "fee": 3000}, "no pool of that fee"),
    Question("getDexAV3Quote", {**SELL, "blockHeight": 5}, "no archive"),
    Question("getDexAV3Quote", {**SELL, "blockHeight": 99_000_000}, "a block to come"),
    Question("getDexAV4Quote", {**SELL, "fee": 500}, "the usual spacing"),
    Question("getDexAV4Quote", {**SELL, "tokenOut": DAI, "amount": "1000"}, "not enough liquidity"),
    Question("getDexAV4Quote", {**SELL, "tickSpacing": 0}, "no spacing"),
    Question("getDexAV4Quote", {**SELL, "fee": 1_000_001}, "more than everything"),
    Question("getDexAV4Quote", {**SELL, "blockHeight": 5}, "no archive"),
    Question("getSolAggregatorQuote", {**ROUTED, "amount": "0"}, "nothing"),
    Question("getSolAggregatorQuote", {**ROUTED, "amount": str(2**64)}, "too much"),
    Question("getSolAggregatorQuote", {**ROUTED, "amount": "1.5"}, "a fraction"),
    Question("getSolAggregatorQuote", {**ROUTED, "outputMint": SOL}, "one mint"),
    Question("getSolAggregatorQuote", {**ROUTED, "inputMint": "l" * 44}, "no mint"),
    Question("getSolAggregatorQuote", {**ROUTED, "inputMint": str(known_solana.ALICE)}, "not tradable"),
    Question("getSolAggregatorQuote", {**ROUTED, "outputMint": swaps.NO_ROUTE}, "no route"),
    Question("getSolAggregatorQuote", {**ROUTED, "slippageBps": 10_001}, "more than everything"),
    Question("getSolAggregatorPrice", {**MINTS, "outputMint": SOL}, "one mint"),
    Question("getSolAggregatorPrice", {**MINTS, "outputMint": str(known_solana.ALICE)}, "no mint"),
    Question("getSolAggregatorPrice", {**MINTS, "outputMint": swaps.NO_ROUTE}, "no route"),
    Question("getPoolAPools", {"chain": "polygon"}, "another chain"),
]
