"""Positions of wallets in protocols."""

from __future__ import annotations

from devnet import known
from tests.e2e.questions.question import Question, ethereum

# By operation whether it takes a wallet, and an EVM chain that the contract does not list for it.
OPERATIONS = {
    "getLendAV3UserPositions": (True, "linea"),
    "getLendAV2UserPositions": (True, "arbitrum"),
    "getLendBV3UserPositions": (True, "bsc"),
    "getLendBV2UserPositions": (True, "polygon"),
    "getLendCUserPositions": (True, "polygon"),
    "getStakeAUserPositions": (True, "bsc"),
    "getPoolAPools": (False, "arbitrum"),
    "getPoolALendMarkets": (False, "polygon"),
    "getPoolALend": (True, "polygon"),
    "getYieldAV2Info": (False, "polygon"),
    "getDefiSummary": (True, ""),
}
WALLETS = [name for name, (takes_wallet, _) in OPERATIONS.items() if takes_wallet]


def right(name: str, wallet: str = known.VITALIK) -> dict[str, str]:
    """Return the parameters on ethereum."""
    return ethereum(address=wallet) if name in WALLETS else ethereum()


QUESTIONS = [
    *(Question(name, right(name)) for name in OPERATIONS),
    *(Question(name, right(name, known.BOB), "a loan to liquidate") for name in WALLETS),
    *(Question(name, right(name, known.UNTOUCHED), "nothing held") for name in WALLETS),
    *(Question(name, right(name, known.ALICE.lower()), "in lower case") for name in WALLETS),
    Question("getLendAV3UserPositions", {"chain": "arbitrum", "address": known.ALICE}, "another chain"),
    Question("getLendBV3UserPositions", {"chain": "arbitrum", "address": known.ALICE}, "two markets of one symbol"),
    Question("getLendAV2UserPositions", {"chain": "polygon", "address": known.VITALIK}, "another chain"),
    Question("getStakeAUserPositions", {"chain": "polygon", "address": known.ALICE}, "the rate of ethereum"),
    Question("getPoolALend", {"chain": "arbitrum", "address": known.ALICE}, "another chain"),
    Question("getYieldAV2Info", {"chain": "hyperliquid"}, "a chain without nodes"),
    Question("getDefiSummary", {"chain": "polygon", "address": known.VITALIK}, "some are not on the chain"),
    Question("getDefiSummary", {"chain": "moonbeam", "address": known.VITALIK}, "none is on the chain"),
]

REFUSED = [
    *(Question(name, {**right(name), "chain": ""}, "empty chain") for name in OPERATIONS),
    *(Question(name, {**right(name), "chain": "etherium"}, "unknown chain") for name in OPERATIONS),
    *(Question(name, {**right(name), "chain": "e" * 5000}, "oversized chain") for name in OPERATIONS),
    *(Question(name, {**right(name), "chain": "solana"}, "another family's chain") for name in OPERATIONS),
    *(
        Question(name, {**right(name), "chain": chain}, "a chain without the protocol")
        for name, (_, chain) in OPERATIONS.items()
        if chain
    ),
    *(Question(name, {} if name not in WALLETS else {"address": known.BOB}, "no chain") for name in OPERATIONS),
    *(Question(name, {"chain": "ethereum"}, "no address") for name in WALLETS),
    *(
        Question(name, ethereum(address=text), note)
        for name in WALLETS
        for text, note in (
            ("", "empty address"),
            ("vitalik.eth", "a name"),
            (known.VITALIK[:-1], "an address that is cut"),
            (known.VITALIK + "0", "an address that is too long"),
            (known.VITALIK.replace("A", "a", 1), "a wrong checksum"),
            ("0x" + "a" * 5000, "oversized address"),
            ("cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xu", "another family's address"),
        )
    ),
]
