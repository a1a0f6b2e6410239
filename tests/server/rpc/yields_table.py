"""The contract's table of protocols (section 4.12), written out once more, and questions made of it."""

from __future__ import annotations

from typing import NamedTuple

from runtime.operations import load_operations
from server.protocols.yields import PoolForm

MARKET = "0xc3d688B66703497DAA19211EEdff47f25384cdc3"
"""An address with a right checksum; whose it is does not matter where no node is asked."""


class Row(NamedTuple):
    """A protocol: what names its pools, an example of that form, its chains."""

    form: PoolForm
    pool: str
    chains: tuple[str, ...]


_SIX = ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum")
TABLE: dict[str, Row] = {
    "lend-a": Row(PoolForm.SYMBOL, "USDC", _SIX),
    "lend-b": Row(PoolForm.ADDRESS, MARKET, ("ethereum", "polygon", "optimism", "base", "arbitrum")),
    "lend-c": Row(PoolForm.ADDRESS, MARKET, (*_SIX, "bsc")),
    "lend-d": Row(PoolForm.ADDRESS, MARKET, ("hyperliquid",)),
    "vault-a": Row(PoolForm.VAULT_ID, "bifi-vault", (*_SIX, "bsc")),
    "vault-b": Row(PoolForm.ADDRESS, MARKET, ("ethereum", "arbitrum")),
    "yield-a": Row(PoolForm.ADDRESS, MARKET, ("ethereum", "optimism", "bsc", "arbitrum", "base")),
    "vault-d": Row(PoolForm.ADDRESS, MARKET, ("hyperliquid",)),
    "tokenized-a": Row(PoolForm.TOKEN_NAME, "mTBILL", ("ethereum",)),
}

TAKES: dict[str, tuple[str, ...]] = {
    "getYieldsLending": ("lend-a", "lend-b", "lend-c", "lend-d"),
    "getYieldsVaults": ("vault-a", "vault-b", "yield-a", "vault-d"),
    "getYieldsBalance": ("lend-a", "lend-b", "lend-c", "lend-d", "vault-a", "vault-b", "yield-a", "vault-d"),
    "getYieldsPrice": ("lend-a", "lend-c", "yield-a", "tokenized-a"),
}
"""The protocols that each operation takes."""

OPERATIONS = {operation.name: operation for operation in load_operations()}
YIELDS = [operation for operation in OPERATIONS.values() if operation.service.endswith("YieldService")]
NOT_COMPARED = {"tokenized-a"}
"""Protocols without a row in getYieldsBest: a fund has a price, no rate."""

COMPARED_ALONE = {"stake-a": ("ethereum",)}
"""What stands in getYieldsBest alone, with its chains."""

WRONG_POOLS: dict[PoolForm, tuple[str, ...]] = {
    PoolForm.SYMBOL: (" USDC", "USDC ", "US\tDC", "USDC\x00", "\u202eUSDC", "x" * 41),
    PoolForm.ADDRESS: (
        "USDC",
        "0x",
        "0x12",
        MARKET[:-1],
        MARKET + "0",
        MARKET[2:],
        MARKET[:-1] + "C",
        "0x" + "g" * 40,
        "vitalik.eth",
        " " + MARKET,
        "0x" + "é" * 40,
    ),
    PoolForm.VAULT_ID: ("a b", "é", "\x00", "x" * 101, "bifi\nvault", "bifi-vault "),
    PoolForm.TOKEN_NAME: ("m TBILL", "é", "\x00", "x" * 101, "mTBILL\n"),
}
"""What is no pool of the form; each is text of an allowed length otherwise."""


def members_of(operation: str, chain: str, protocol: str, pool: str) -> dict[str, str]:
    """Return the parameters of one of the four operations that take a pool of any protocol."""
    wallet = {"address": MARKET} if operation == "getYieldsBalance" else {}
    return {"chain": chain, "protocol": protocol, "pool": pool, **wallet}
