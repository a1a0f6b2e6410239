"""What is known of chains before a node is asked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from server.upstream.heads import HeadGrowth

_TABLE = Path(__file__).with_name("chains.toml")

# Where the table has no block time (one chain), pacing assumes this many seconds.
_ASSUMED_BLOCK_TIME = 6.0


@dataclass(frozen=True, slots=True)
class NativeCoin:
    """The coin that fees are paid in; `denom` is its base denom on Cosmos chains."""

    symbol: str
    decimals: int
    denom: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class WrappedNative:
    """The token contract that wraps the native coin one to one."""

    symbol: str
    address: str


@dataclass(frozen=True, slots=True)
class Multicall:
    """Where Multicall3 is deployed and since which block."""

    address: str
    deploy_block: int


@dataclass(frozen=True, slots=True)
class PublicEndpoint:
    """A public node: label, URL, kind (`jsonrpc`, `rest`, `comet`, `core`, `esplora`)."""

    label: str
    url: str
    kind: str = "jsonrpc"


@dataclass(frozen=True, slots=True)
class GasPolicy:
    """By which ways a chain's base and priority fee are read, the first that works; see `evm/gas.py`."""

    base: tuple[str, ...] = ("history", "block")
    priority: tuple[str, ...] = ("rewards", "suggested", "rest")


@dataclass(frozen=True, slots=True)
class L1Fee:
    """The contract that returns what posting a transaction to layer 1 costs; `signed` if it takes the signature too."""

    oracle: str
    signed: bool


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """One chain as chains.toml describes it; the file's head explains each entry. `block_time` is in seconds."""

    slug: str
    name: str
    type: str
    family: str
    chain_id: int | str
    native: NativeCoin
    endpoints: tuple[PublicEndpoint, ...]
    wrapped_native: WrappedNative | None = None
    block_time: float = _ASSUMED_BLOCK_TIME
    finality: tuple[str, ...] = ()
    multicall: Multicall | None = None
    block_number: str = "opcode"
    marks: tuple[str, ...] = ("parent", "randao")
    history: str = "pinned"
    fees: str = ""
    gas: GasPolicy = GasPolicy()
    l1_fee: L1Fee | None = None
    silent_tokens: tuple[str, ...] = ()
    bech32: str = ""
    genesis: str = ""
    header: str = ""
    bloom: bool = False
    growth: HeadGrowth = field(default_factory=HeadGrowth)
    unverified: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def hex_id(self) -> str:
        """Chain id in hex on EVM chains (`0x1`), else the slug: the `chain` of two answers (contract section 2.2)."""
        return hex(self.chain_id) if isinstance(self.chain_id, int) else self.slug


def parse_facts(slug: str, table: dict[str, Any]) -> ChainFacts:
    """Return the facts of one table.

    Raises:
        TypeError: an entry is missing, or unknown.
    """
    entries = dict(table)
    for key in ("finality", "silent_tokens", "unverified", "aliases"):
        entries[key] = tuple(entries.get(key, ()))
    if "marks" in entries:
        entries["marks"] = tuple(entries["marks"])
    entries["native"] = NativeCoin(**entries["native"])
    entries["endpoints"] = tuple(PublicEndpoint(**endpoint) for endpoint in entries["endpoints"])
    if "wrapped_native" in entries:
        entries["wrapped_native"] = WrappedNative(**entries["wrapped_native"])
    if "multicall" in entries:
        entries["multicall"] = Multicall(**entries["multicall"])
    if "gas" in entries:
        entries["gas"] = GasPolicy(**{fee: tuple(ways) for fee, ways in entries["gas"].items()})
    if "growth" in entries:
        entries["growth"] = HeadGrowth(**entries["growth"])
    if "l1_fee" in entries:
        entries["l1_fee"] = L1Fee(**entries["l1_fee"])
    return ChainFacts(slug=slug, **entries)


@cache
def load_facts() -> dict[str, ChainFacts]:
    """Return every chain of chains.toml by slug, in the file's order."""
    tables = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["chains"]
    return {slug: parse_facts(slug, table) for slug, table in tables.items()}
