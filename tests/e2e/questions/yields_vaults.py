"""Yields of vaults and of tokenised yield, and what a wallet's principal tokens earn."""

from __future__ import annotations

from typing import Any

from devnet import known
from devnet.known_vaults import IMPOSTOR, YEARN
from devnet.known_yield_a import EXPIRED, RUNNING, SIX_DECIMALS
from tests.e2e.questions.question import Question, ethereum

LISTED = YEARN[0].address
OPERATION = "getYieldsVaults"


def of(protocol: str, pool: str, **others: Any) -> dict[str, Any]:
    return ethereum(protocol=protocol, pool=pool, **others)


def entered(pool: str, wallet: str = known.ALICE) -> Question:
    """Ask what a wallet's principal tokens of a market earn."""
    return Question("getYieldsYieldAImpliedApy", ethereum(pool=pool, address=wallet), f"{wallet} in {pool}")


QUESTIONS = [
    Question(OPERATION, of("vault-a", "bifi-vault"), "of a vault by its id"),
    Question(OPERATION, of("vault-b", LISTED.lower()), "of a listed vault, in lower case"),
    Question(OPERATION, of("yield-a", RUNNING.market), "of a market that runs"),
    Question(OPERATION, of("yield-a", EXPIRED.market), "of a market that has expired"),
    Question("getYieldsBalance", of("vault-a", "bifi-vault", address=known.UNTOUCHED), "nothing held"),
    Question("getYieldsBalance", of("vault-b", LISTED, address=known.ALICE), "of a vault by address"),
    Question("getYieldsBalance", of("yield-a", RUNNING.market, address=known.VITALIK), "three tokens"),
    Question("getYieldsPrice", of("yield-a", SIX_DECIMALS.market), "principal tokens"),
    Question("getYieldsPrice", of("tokenized-a", "mtbill"), "a fund in another casing"),
    entered(RUNNING.market),
    entered(RUNNING.market, known.VITALIK),
]

REFUSED = [
    Question(OPERATION, of("vault-a", "bifi vault"), "an id with a space"),
    Question(OPERATION, of("vault-a", "bifi-vaults"), "an id that is none"),
    Question(OPERATION, of("vault-b", IMPOSTOR), "a contract that answers as a vault"),
    Question(OPERATION, of("lend-a", "USDC"), "a protocol without vaults"),
    Question(OPERATION, of("vault-d", LISTED), "a chain without the protocol"),
    entered(RUNNING.market, known.UNTOUCHED),
    entered(LISTED),
    Question("getYieldsYieldAImpliedApy", ethereum(pool="PT-USDS", address=known.ALICE), "a name for a market"),
]
