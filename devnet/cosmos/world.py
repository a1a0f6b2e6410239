"""The chains that are modelled, and whom they know."""

import hashlib
from dataclasses import dataclass
from functools import cache

from cosmpy.crypto.address import Address
from cosmpy.crypto.keypairs import PrivateKey


@dataclass(frozen=True)
class CosmosChain:
    """One chain: `first` is the height of its first block; `exponent` that of the denom in which amounts are shown."""

    slug: str
    chain_id: str
    prefix: str
    denom: str
    display: str
    symbol: str
    name: str
    sdk: str
    first: int
    exponent: int = 6
    stake: str = ""
    distributes: bool = True

    @property
    def stake_denom(self) -> str:
        """The denom that is staked."""
        return self.stake or self.denom


CHAINS = {
    chain.slug: chain
    for chain in (
        CosmosChain(
            "cosmoshub", "cosmoshub-4", "cosmos", "uatom", "atom", "ATOM", "Cosmos Hub Atom", "v0.53.8", 20_000_000
        ),
        CosmosChain("osmosis", "osmosis-1", "osmo", "uosmo", "osmo", "OSMO", "Osmosis", "v0.50.14", 30_000_000),
        CosmosChain("axelar", "axelar-dojo-1", "axelar", "uaxl", "axl", "AXL", "Axelar", "v0.53.8", 15_000_000),
        CosmosChain(
            "noble",
            "noble-1",
            "noble",
            "uusdc",
            "usdc",
            "USDC",
            "USD Coin",
            "v0.50.14",
            12_000_000,
            stake="ustake",
            distributes=False,
        ),
        CosmosChain("agoric", "agoric-3", "agoric", "ubld", "bld", "BLD", "Agoric", "v0.50.14", 18_000_000),
    )
}


@cache
def key(name: str) -> PrivateKey:
    """Return the secp256k1 key of a name."""
    return PrivateKey(hashlib.sha256(f"waypost devnet cosmos {name}".encode()).digest())


@cache
def address(chain: CosmosChain, name: str) -> str:
    """Return the account address of a name: of its key, or of the module of that name."""
    if name.endswith("_pool"):
        return str(Address(hashlib.sha256(name.encode()).digest()[:20], chain.prefix))
    return str(Address(key(name).public_key, chain.prefix))


@cache
def operator(chain: CosmosChain, number: int) -> str:
    """Return the operator address of a validator, counted from 1."""
    return str(Address(key(f"validator {number}").public_key, chain.prefix + "valoper"))
