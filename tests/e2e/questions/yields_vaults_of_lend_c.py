"""Yields of lend-c's vaults, their listing and their figures."""

from __future__ import annotations

from typing import Any

from devnet import known
from devnet.known_lending_c_vaults import GAUNTLET, NOBODYS, SECOND_GENERATION, STEAKHOUSE, WETH_VAULT
from tests.e2e.questions.question import Question, ethereum

OPERATIONS = ("getYieldsLending", "getYieldsBalance", "getYieldsPrice")


def asked(name: str, **changed: str) -> dict[str, Any]:
    """Return the parameters for a vault of USDC, with changes."""
    wallet = {"address": known.VITALIK} if name == "getYieldsBalance" else {}
    return ethereum(protocol="lend-c", pool=STEAKHOUSE, **wallet) | changed


QUESTIONS = [
    *(Question(name, asked(name), "of a vault of lend-c") for name in OPERATIONS),
    *(
        Question(name, asked(name, pool=WETH_VAULT.lower()), "of an unlisted vault, in lower case")
        for name in OPERATIONS
    ),
    *(Question(name, asked(name, pool=SECOND_GENERATION), "of a vault of generation V2") for name in OPERATIONS),
    Question("getYieldsBalance", asked("getYieldsBalance", address=known.UNTOUCHED), "of lend-c, nothing held"),
    Question("getLendCVaults", ethereum(), "both generations"),
    Question("getLendCVaults", {"chain": "avalanche"}, "a chain without the protocol"),
    Question("getLendCVaultData", ethereum(vaults=[STEAKHOUSE, GAUNTLET]), "as an array"),
    Question("getLendCVaultData", ethereum(vaults=[SECOND_GENERATION, known.ALICE, WETH_VAULT]), "one of three listed"),
    Question("getLendCVaultData", {"chain": "avalanche", "vaults": [STEAKHOUSE]}, "a chain without the protocol"),
]

REFUSED = [
    *(Question(name, asked(name, pool=NOBODYS), "a vault that no factory of lend-c knows") for name in OPERATIONS),
    *(Question(name, asked(name, pool="USDC"), "a symbol for a vault of lend-c") for name in OPERATIONS),
    *(Question(name, asked(name, chain="gnosis"), "a chain without lend-c") for name in OPERATIONS),
    Question("getLendCVaults", {"chain": "gnosis"}, "a chain that is not listed"),
    Question("getLendCVaultData", ethereum(vaults=[]), "no vault"),
    Question("getLendCVaultData", ethereum(vaults=["USDC"]), "a symbol"),
    Question("getLendCVaultData", ethereum(vaults=[f"0x{number:040x}" for number in range(51)]), "51 vaults"),
]
