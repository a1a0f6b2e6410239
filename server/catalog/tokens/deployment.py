"""Where a token lives: one contract, mint, denom or own coin of one chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from server.catalog.tokens.mistakes import TokenMistake
from server.checksum import checksum_address

NATIVE = "native"
"""The address of a chain's own coin where it has neither contract nor denom (decisions section 4.1)."""

ISSUED = frozenset({"coin", "issued", "oft"})
"""Kinds of deployments that are the asset itself; every other kind is a claim on a bridge or a custodian."""

KINDS = ISSUED | {"canonical-bridge", "bridge", "peg"}
DOUBTS = frozenset({"address", "decimals"})

_MOST_DECIMALS = 36
_EVM_LENGTH = 42
_FELT_LENGTH = 66
_ENTRIES = frozenset(
    {
        "chain",
        "symbol",
        "address",
        "decimals",
        "kind",
        "form",
        "sources",
        "is_priced",
        "mirrors_native",
        "unverified",
    }
)


@dataclass(frozen=True, slots=True)
class Deployment:
    """A token on one chain.

    `symbol` is what it calls itself there, which may differ from the token's; `form` tells several of one symbol apart
    ("Wormhole"). `address` is in the chain's canonical writing, or `NATIVE`. `is_priced` is False where a unit is known
    not to be worth the token's price, or not known to be. `mirrors_native` marks a contract that shows the balance of
    the chain's own coin once more. `unverified` says what only one weak source or nothing confirms: "address",
    "decimals", or "" for neither.
    """

    chain: str
    symbol: str
    address: str
    decimals: int
    kind: str
    sources: tuple[str, ...]
    form: str = ""
    is_priced: bool = True
    mirrors_native: bool = False
    unverified: str = ""

    @property
    def is_bridged(self) -> bool:
        """Whether it is a claim on a bridge or a custodian instead of the asset itself."""
        return self.kind not in ISSUED


def read_deployment(row: dict[str, Any], symbol: str, known_sources: frozenset[str], where: str) -> Deployment:
    """Return a row of a token's file; `symbol` is the token's own.

    Raises:
        TokenMistake: an entry is missing, unknown or impossible; says which one in which file.
    """
    unknown = row.keys() - _ENTRIES
    if unknown:
        raise TokenMistake(f"{where}: unknown entry {min(unknown)}")
    for entry in ("chain", "address", "decimals", "kind", "sources"):
        if entry not in row:
            raise TokenMistake(f"{where}: {entry} is missing")
    found = Deployment(**{"symbol": symbol, **row, "sources": tuple(row["sources"])})
    if not isinstance(found.decimals, int) or not 0 <= found.decimals <= _MOST_DECIMALS:
        raise TokenMistake(f"{where}: decimals is {found.decimals}; write 0 to {_MOST_DECIMALS}")
    if found.kind not in KINDS:
        raise TokenMistake(f"{where}: kind is {found.kind}; write one of {', '.join(sorted(KINDS))}")
    if found.unverified and found.unverified not in DOUBTS:
        raise TokenMistake(f"{where}: unverified is {found.unverified}; write one of {', '.join(sorted(DOUBTS))}")
    if not found.sources or not known_sources.issuperset(found.sources):
        raise TokenMistake(f"{where}: sources are {', '.join(found.sources) or 'none'}; write codes of sources.toml")
    if found.address == NATIVE and found.kind != "coin":
        raise TokenMistake(f"{where}: only a coin has the address {NATIVE}")
    _check_address(found.address, where)
    return found


def _check_address(address: str, where: str) -> None:
    """Refuse an EVM address without its EIP-55 casing, and a Starknet one that is not 64 lower-case digits."""
    if not address:
        raise TokenMistake(f"{where}: address is empty")
    if not address.startswith("0x"):
        return
    if len(address) == _FELT_LENGTH and address == address.lower():
        return
    if len(address) != _EVM_LENGTH:
        raise TokenMistake(f"{where}: {address} is neither 40 hex digits nor 64 in lower case")
    try:
        canonical = checksum_address(address.lower())
    except ValueError as error:
        raise TokenMistake(f"{where}: {address}: {error}") from None
    if canonical != address:
        raise TokenMistake(f"{where}: {address} lacks its checksum; write {canonical}")
