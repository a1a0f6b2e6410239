"""Tokens of the catalogue, and wallets over many chains."""

from __future__ import annotations

from devnet import known, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS, address
from tests.e2e.questions.question import Question

HUB_ALICE = address(CHAINS["cosmoshub"], known_cosmos.ALICE)
HELD = {"address": known.VITALIK, "chains": ["ethereum", "polygon"]}

QUESTIONS = [
    Question("searchTokens", {"q": "usd"}),
    Question("searchTokens", {"q": "WRAPPED ", "limit": 3}, "by name, limited"),
    Question("searchTokens", {"q": "no token is called so"}, "nothing found"),
    Question("getTokenAddresses", {"symbol": "USDC"}),
    Question("getTokenAddresses", {"symbol": "stSPK"}, "decimals not confirmed"),
    Question("getTokenAddresses", {"symbol": "SSS"}, "nothing is known of it"),
    Question("getPortfolio", HELD),
    Question("getPortfolio", {"address": known.ALICE.lower(), "chains": ["arbitrum"]}, "one chain, lower case"),
    Question("getPortfolio", {"address": known.UNTOUCHED, "chains": ["ethereum"]}, "nothing held"),
    Question("getPortfolio", {"address": known.VITALIK, "chains": ["ethereum", "gnosis"]}, "one chain without nodes"),
    Question("getPortfolio", {"address": str(known_solana.ALICE)}, "solana, found by its form"),
    Question("getPortfolio", {"address": HUB_ALICE}, "cosmoshub, found by its form"),
]

REFUSED = [
    Question("searchTokens", {}, "no text"),
    Question("searchTokens", {"q": ""}, "empty text"),
    Question("searchTokens", {"q": "x" * 101}, "oversized text"),
    Question("searchTokens", {"q": "usd", "limit": 0}, "limit too small"),
    Question("searchTokens", {"q": "usd", "limit": 101}, "limit too large"),
    Question("getTokenAddresses", {}, "no symbol"),
    Question("getTokenAddresses", {"symbol": "usdc"}, "wrong casing"),
    Question("getTokenAddresses", {"symbol": "DAI"}, "not of the set"),
    Question("getTokenAddresses", {"symbol": "x" * 5000}, "oversized symbol"),
    Question("getPortfolio", {}, "no address"),
    Question("getPortfolio", {"address": "0x1234"}, "an address of no chain"),
    Question("getPortfolio", {"address": "0x" + "a" * 5000}, "oversized address"),
    Question("getPortfolio", HELD | {"chains": ["ethereum", "nowhere"]}, "unknown chain"),
    Question("getPortfolio", HELD | {"chains": ["ethereum", "solana"]}, "another family's address"),
    Question("getPortfolio", HELD | {"chains": ["ethereum", "ethereum"]}, "a chain twice"),
    Question("getPortfolio", HELD | {"chains": ["ethereum"] * 25}, "25 chains"),
    Question("getPortfolio", HELD | {"chains": ["gnosis"]}, "only a chain without nodes"),
]
