"""Prices."""

from __future__ import annotations

from server.catalog.tokens import PRICED_SYMBOLS
from tests.e2e.questions.question import Question

QUESTIONS = [
    Question("getPrice", {"symbol": "ETH"}),
    Question("getPrice", {"symbol": "sUSDS"}, "an exchange rate times a price"),
    Question("getPrice", {"symbol": "ETHV"}, "an asset that nobody knows, told by the stand-in"),
    Question("getPrices", [{"symbol": symbol} for symbol in PRICED_SYMBOLS]),
    Question("getPrices", [{"symbol": "BTC"}, {"symbol": "BTC"}], "the same twice"),
    Question("getTopPrices"),
    Question("getTopPrices", {"limit": 3, "currency": "EUR"}, "in euros"),
    Question("getTopPrices", {"limit": 200}, "all of them"),
    Question("getPriceHistory", {"symbol": "BTC"}),
    Question("getPriceHistory", {"symbol": "wstETH", "days": 90, "currency": "EUR"}, "in euros"),
    Question("getPriceHistory", {"symbol": "SSS", "days": 1}, "today"),
]

REFUSED = [
    Question("getPrice", {}, "no symbol"),
    Question("getPrice", {"symbol": "eth"}, "another writing"),
    Question("getPrice", {"symbol": "WETH"}, "not of the set"),
    Question("getPrice", {"symbol": "EUR"}, "a currency"),
    Question("getPrice", {"symbol": "B" * 5000}, "oversized symbol"),
    Question("getPrices", [], "no items"),
    Question("getPrices", [{"symbol": "BTC"}, {"symbol": "DOGE"}], "one unknown symbol"),
    Question("getPrices", [{"symbol": "BTC"}] * 51, "51 items"),
    Question("getTopPrices", {"limit": 0}, "none"),
    Question("getTopPrices", {"limit": 201}, "more than 200"),
    Question("getPriceHistory", {}, "no symbol"),
    Question("getPriceHistory", {"symbol": "BTC", "days": 91}, "91 days"),
    Question("getPriceHistory", {"symbol": "BTC", "days": 0}, "no days"),
]
