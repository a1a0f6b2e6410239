"""Yields of lend-a; lend-d is on a chain that these gateways have no node of."""

from __future__ import annotations

from devnet import known
from tests.e2e.questions.question import Question

OPERATIONS = ("getYieldsLending", "getYieldsBalance", "getYieldsPrice")
WHYPE = "0x5555555555555555555555555555555555555555"


def asked(name: str, **changed: str) -> dict[str, str]:
    """Return the parameters for dollars on ethereum, with changes."""
    wallet = {"address": known.VITALIK} if name == "getYieldsBalance" else {}
    return {"chain": "ethereum", "protocol": "lend-a", "pool": "USDC", **wallet, **changed}


QUESTIONS = [
    *(Question(name, asked(name), "of lend-a") for name in OPERATIONS),
    *(Question(name, asked(name, chain="polygon", pool="usdc.e"), "a bridged asset, frozen") for name in OPERATIONS),
    *(Question(name, asked(name, pool="MKR"), "a symbol that is a word") for name in OPERATIONS),
    Question("getYieldsBalance", asked("getYieldsBalance", address=known.UNTOUCHED), "of lend-a, nothing supplied"),
]

REFUSED = [
    *(Question(name, asked(name, pool="USDX"), "no such symbol of lend-a") for name in OPERATIONS),
    *(Question(name, asked(name, pool=WHYPE), "an address for a symbol of lend-a") for name in OPERATIONS),
    *(Question(name, asked(name, chain="bsc"), "a chain without lend-a") for name in OPERATIONS),
    *(
        Question(name, asked(name, protocol="lend-d", pool=WHYPE), "a chain without lend-d")
        for name in ("getYieldsLending", "getYieldsBalance")
    ),
    Question("getYieldsPrice", asked("getYieldsPrice", protocol="lend-d"), "a protocol whose shares have no price"),
]
