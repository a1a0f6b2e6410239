"""Funding rates."""

from __future__ import annotations

from devnet.offchain import dydx, hyperliquid
from tests.e2e.questions.question import Question

QUESTIONS = [
    Question("getFundingRates"),
    Question("getVenueAFunding"),
    Question("getVenueAFunding", {"coin": "KPEPE"}, "another case"),
    Question("getVenueAFunding", {"coin": hyperliquid.DELISTED}, "delisted"),
    Question("getVenueBFunding"),
    Question("getVenueBFunding", {"ticker": dydx.TINY}, "written with an exponent"),
    Question("getVenueBFunding", {"ticker": dydx.MARKETS[4].lower()}, "commas"),
]
REFUSED = [
    Question("getVenueAFunding", {"coin": "B\nTC"}, "not printable"),
    Question("getVenueAFunding", {"coin": "x" * 129}, "too long"),
    Question("getVenueBFunding", {"ticker": "BTC"}, "no market"),
    Question("getVenueBFunding", {"ticker": "BTC-EUR"}, "another currency"),
    Question("getVenueBFunding", {"ticker": "-USD"}, "nothing but the currency"),
]
