"""The data of world.toml: which EVM chains the devnet has, how their nodes start and which tokens stand where."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WORLD = Path(__file__).with_name("world.toml")
FIRST_TIMESTAMP = 1_793_491_200  # 2026-11-01T00:00:00Z: fixed, so that seeded block hashes are the same on every start


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a chain: what it reports about itself, its checksummed address and the contract it is built from."""

    symbol: str
    name: str
    address: str
    decimals: int
    build: str
    source: str


@dataclass(frozen=True, slots=True)
class Chain:
    """One EVM chain: `height` is the number of its first block, `base_fee` in wei per gas, `interval` in seconds.

    `parent_number` is the block number that contracts see where that is not the chain's own (Arbitrum), else None.
    """

    slug: str
    chain_id: int
    name: str
    native: str
    height: int
    base_fee: int
    interval: float
    tokens: tuple[Token, ...]
    spenders: dict[str, str]
    parent_number: int | None = None

    def token(self, symbol: str) -> Token:
        """Return the chain's first token of this symbol. Raises KeyError."""
        for token in self.tokens:
            if token.symbol == symbol:
                return token
        raise KeyError(f"{self.slug} has no {symbol} on the devnet")

    @property
    def wrapped_native(self) -> Token:
        """Return the token that wraps the chain's native asset."""
        return self.tokens[0]


@cache
def load_world() -> dict[str, Chain]:
    """Return the chains by slug, in the order of the file."""
    chains = {}
    for slug, table in tomllib.loads(WORLD.read_text(encoding="utf-8")).items():
        tokens = tuple(Token(**row) for row in table.pop("tokens"))
        chains[slug] = Chain(slug=slug, tokens=tokens, **table)
    return chains
