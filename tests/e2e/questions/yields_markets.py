"""Yields of lend-b's markets, and stake-a's row in the comparison."""

from __future__ import annotations

from typing import Any

from devnet import known
from devnet.known_lending_b import LEND_B_V3
from tests.e2e.questions.question import Question

DOLLARS, ETHER, *_ = [market.address for market in LEND_B_V3["ethereum"]]
BRIDGED = LEND_B_V3["arbitrum"][1].address


def of(pool: str, chain: str = "ethereum", **others: Any) -> dict[str, Any]:
    return {"chain": chain, "protocol": "lend-b", "pool": pool} | others


QUESTIONS = [
    Question("getYieldsLending", of(DOLLARS), "a market in dollars"),
    Question("getYieldsLending", of(ETHER.lower()), "a market in ether, in lower case"),
    Question("getYieldsLending", of(BRIDGED, "arbitrum"), "one of two of a symbol"),
    Question("getYieldsBalance", of(DOLLARS, address=known.ALICE), "a supplier"),
    Question("getYieldsBalance", of(ETHER, address=known.UNTOUCHED), "nothing held"),
    Question("getYieldsBalance", of(BRIDGED, "arbitrum", address=known.VITALIK.lower()), "one of two of a symbol"),
    Question("getYieldsBest", {"type": "staking"}, "staking alone"),
]

REFUSED = [
    *(
        Question("getYieldsLending", of(pool, chain), note)
        for pool, chain, note in (
            (DOLLARS, "avalanche", "a chain without the protocol"),
            ("0x8D38A3d6B3c3B7d96D6536DA7Eef94A9d7dbC991", "linea", "a chain without yields"),
            ("cUSDCv3", "ethereum", "a symbol for an address"),
            (DOLLARS[:-1], "ethereum", "an address that is cut"),
            (DOLLARS[:-1] + "C", "ethereum", "a wrong checksum"),
            (BRIDGED, "ethereum", "a market of another chain"),
            (known.PROBER, "ethereum", "a contract that is no market"),
        )
    ),
    Question("getYieldsBalance", of(DOLLARS, address="vitalik.eth"), "a name for an address"),
    Question("getYieldsPrice", of(DOLLARS), "a protocol without shares"),
]
