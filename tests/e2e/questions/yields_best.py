"""The comparison of all pools, filtered in every way."""

from __future__ import annotations

from tests.e2e.questions.question import Question

QUESTIONS = [
    Question("getYieldsBest", {}, "the first ten"),
    Question("getYieldsBest", {"limit": 1000}, "all"),
    Question("getYieldsBest", {"token": "usdc", "type": "lending", "limit": 3}, "a token and a type"),
    Question("getYieldsBest", {"token": "WETH", "minTvl": 1000.5, "type": "vault"}, "a size that is no integer"),
    Question("getYieldsBest", {"minTvl": 0}, "pools of known size"),
    Question("getYieldsBest", {"token": "NOSUCH"}, "no pool"),
]

REFUSED = [
    Question("getYieldsBest", {"limit": 0}, "no row"),
    Question("getYieldsBest", {"limit": 1001}, "too many rows"),
    Question("getYieldsBest", {"minTvl": -1}, "less than nothing"),
    Question("getYieldsBest", {"token": ""}, "no token"),
    Question("getYieldsBest", {"token": "x" * 41}, "a long token"),
]
