"""Reads of Bitcoin, and of several families in one call."""

from __future__ import annotations

from devnet import known_bitcoin as known
from devnet import known_cosmos, known_solana
from devnet.cosmos.ledger import Ledger
from devnet.cosmos.transactions import hash_of
from devnet.cosmos.world import CHAINS
from tests.e2e.questions.question import Question, ethereum

BTC = {"chain": "bitcoin"}
SOL = {"chain": "solana"}
HUB = {"chain": "cosmoshub"}
_STAKED = CHAINS["cosmoshub"].first + known_cosmos.STAKED_AT
_BLOCK = Ledger(CHAINS["cosmoshub"], mines=False).block(_STAKED)
assert _BLOCK is not None
HUB_HASH, HUB_TRANSACTION = _BLOCK.hash.hex().upper(), hash_of(_BLOCK.transactions[0])
NO_BLOCK = "ab" * 32
TESTNET = "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"

QUESTIONS = [
    Question("getChainHealth", BTC, "bitcoin"),
    Question("getBlockHeight", BTC, "bitcoin"),
    *(Question("getBalance", BTC | {"address": address}, f"of {address[:4]}") for address in known.CONFIRMED),
    Question("getBalance", BTC | {"address": known.P2WSH.upper()}, "upper case Bech32"),
    Question("getBlockByNumber", [BTC | {"block": known.PAYMENTS}], "bitcoin"),
    Question("getBlockByNumber", [BTC | {"block": 0}], "bitcoin's first"),
    Question("getBlockByHash", [BTC | {"hash": known.PAYMENTS_HASH}], "bitcoin"),
    Question("chainRpc", BTC | {"method": "getbestblockhash"}, "bitcoin"),
    Question(
        "getBlockByNumber",
        [
            BTC | {"block": known.PAYMENTS},
            SOL | {"block": known_solana.VERSIONED_SLOT},
            HUB | {"block": _STAKED},
            ethereum(block=26050010),
            BTC | {"block": 9_999_999},
            SOL | {"block": known_solana.SKIPPED[0]},
            HUB | {"block": 1},
        ],
        "four families, three rows fail",
    ),
    Question(
        "getBlockByHash",
        [
            HUB | {"hash": HUB_HASH.lower()},
            BTC | {"hash": known.PAYMENTS_HASH.upper()},
            ethereum(hash="latest"),
            BTC | {"hash": NO_BLOCK},
        ],
        "three families, hash filled in",
    ),
    Question(
        "getTransactionByHash",
        [
            SOL | {"hash": known_solana.VERSIONED},
            HUB | {"hash": HUB_TRANSACTION},
            ethereum(hash="latest"),
            HUB | {"hash": NO_BLOCK},
        ],
        "three families, transaction filled in",
    ),
]

REFUSED = [
    Question("getBalance", BTC, "no Bitcoin address"),
    Question("getBalance", BTC | {"address": known.P2PKH[:-1] + "1"}, "wrong Base58 checksum"),
    Question("getBalance", BTC | {"address": known.P2WPKH[:-1] + "z"}, "wrong Bech32 checksum"),
    Question("getBalance", BTC | {"address": TESTNET}, "an address of the test network"),
    Question("getBalance", BTC | {"address": known.P2PKH * 50}, "oversized Bitcoin address"),
    Question("getBalance", BTC | {"address": known.P2PKH, "blockHeight": 500}, "history on Bitcoin"),
    Question("getBlockByNumber", [BTC | {"block": -1}], "negative height of Bitcoin"),
    Question("getBlockByNumber", [BTC | {"block": 9_999_999}], "missing block of Bitcoin"),
    Question("getBlockByHash", [BTC | {"hash": "0x" + NO_BLOCK}], "a hash with 0x on Bitcoin"),
    Question("getBlockByHash", [BTC | {"hash": NO_BLOCK}], "missing hash of Bitcoin"),
    Question("getTokenBalance", BTC | {"address": known.P2PKH, "token": known.P2PKH}, "no tokens on Bitcoin"),
    Question("chainRpc", BTC | {"method": "scantxoutset"}, "a scan of Bitcoin"),
    Question("chainRpc", BTC | {"method": "sendrawtransaction"}, "a write on Bitcoin"),
    Question("getBlockByNumber", [ethereum(block=26050010), BTC | {"block": -1}, SOL | {"block": 5}], "one malformed"),
    Question("getBlockByHash", [BTC | {"hash": known.PAYMENTS_HASH}, SOL | {"hash": "x"}], "one family without"),
    Question("getBlockByNumber", [BTC | {"block": 9_999_999}, HUB | {"block": 1}], "no row succeeds"),
]
