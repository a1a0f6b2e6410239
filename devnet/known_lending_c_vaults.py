"""The vaults of lend-c on the local chains, their factories, and what lies in them.

Amounts are millionths of a whole token. Which factory has made a vault is ours to say, as is who holds its shares:
VITALIK has a part of every vault, TREASURY the rest. Addresses: morpho-org/morpho-blue-api-metadata,
data/vaults-listing.json; @morpho-org/morpho-ts 2.8.0; the first factory: @morpho-org/blue-sdk-viem 5.2.1.
"""

from dataclasses import dataclass

from devnet import known
from devnet.known_lending import TREASURY, place_of

FIRST, CURRENT, SECOND = "first", "current", "second"
"""Factories: the first and the current one of generation V1, and that of V2."""

FACTORIES: dict[str, dict[str, str]] = {
    "ethereum": {
        FIRST: "0xA9c3D3a366466Fa809d1Ae982Fb2c46E5fC41101",
        CURRENT: "0x1897A8997241C1cD4bD0698647e4EB7213535c24",
        SECOND: "0xA1D94F746dEfa1928926b84fB2596c06926C0405",
    },
    "base": {
        FIRST: "0xA9c3D3a366466Fa809d1Ae982Fb2c46E5fC41101",
        CURRENT: "0xFf62A7c278C62eD665133147129245053Bbf5918",
        SECOND: "0x4501125508079A99ebBebCE205DeC9593C2b5857",
    },
    "arbitrum": {
        CURRENT: "0x878988f5f561081deEa117717052164ea1Ef0c82",
        SECOND: "0x6b46fa3cc9EBF8aB230aBAc664E37F2966Bf7971",
    },
    "optimism": {
        CURRENT: "0x3Bb6A6A0Bc85b367EFE0A5bAc81c5E52C892839a",
        SECOND: "0x6128b680b277Bf4Df80DFE9D8c55A498660870ef",
    },
    "polygon": {
        CURRENT: "0xa9c87daB340631C34BB738625C70499e29ddDC98",
        SECOND: "0xC11a53eE9B1eCc7a068D8e40F8F17926584F97Cf",
    },
    "bsc": {CURRENT: "0x92983687e672cA6d96530f9Dbe11a196cE905d72"},
}

IDLE = -1
"""In place of a market: the one without borrowers."""


@dataclass(frozen=True, slots=True)
class Vault:
    """A vault of generation V1: what it has in which markets (places in LEND_C, or IDLE), in the order of its queue.

    `fee` is its share of the interest, 18 places. `factory` is the one that knows it, "" for none: such a vault answers
    as all do and belongs to no factory.
    """

    address: str
    name: str
    symbol: str
    asset: str
    factory: str
    supplied: dict[int, int]
    fee: int = 0
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class VaultV2:
    """A vault of generation V2: what lies in it, and the interest that it has got since the deposits."""

    address: str
    name: str
    symbol: str
    asset: str
    deposited: dict[str, int]
    interest: int
    is_listed: bool = True


STEAKHOUSE = "0xBEEF01735c132Ada46AA9aA4c54623cAA92A64CB"
GAUNTLET = "0xdd0f28e19C1780eb6396170735D45153D261490d"
WETH_VAULT = place_of("lend-c vault of WETH")  # known to the factory, but not listed
NOBODYS = place_of("lend-c vault of nobody")
SECOND_GENERATION = place_of("lend-c vault of generation V2")
BASE_STEAKHOUSE = "0xbeeF010f9cb27031ad51e3333f9aF9C6B1228183"

VAULTS: dict[str, tuple[Vault, ...]] = {
    "ethereum": (
        Vault(
            STEAKHOUSE,
            *("Steakhouse USDC", "steakUSDC", "USDC", FIRST),
            supplied={0: 2_000_123_456, 2: 1_200_000_000, IDLE: 800_000_000},
            fee=5 * 10**16,
        ),
        Vault(
            GAUNTLET,
            *("Gauntlet USDC Prime", "gtUSDC", "USDC", CURRENT),
            supplied={4: 1_500_000_000, 2: 200_000_000},
        ),
        Vault(
            WETH_VAULT,
            *("Ours WETH", "ourWETH", "WETH", CURRENT),
            supplied={3: 200_000},
            fee=15 * 10**16,
            is_listed=False,
        ),
        Vault(NOBODYS, *("Steakhouse USDC", "steakUSDC", "USDC", ""), supplied={1: 100_000_000}),
    ),
    "base": (
        Vault(
            BASE_STEAKHOUSE,
            *("Steakhouse USDC", "steakUSDC", "USDC", CURRENT),
            supplied={0: 500_000_000, 1: 400_000_000, IDLE: 250_000_000},
            fee=10**17,
        ),
    ),
}

VAULTS_V2: dict[str, tuple[VaultV2, ...]] = {
    "ethereum": (
        VaultV2(
            SECOND_GENERATION,
            *("Ours USDC V2", "ourUSDC", "USDC"),
            deposited={TREASURY: 700_000_000, known.VITALIK: 300_000_000},
            interest=12_345_678,
        ),
    ),
    "arbitrum": (
        VaultV2(
            "0xbeeff1D5dE8F79ff37a151681100B039661da518",
            *("Steakhouse High Yield USDC", "bbqUSDC", "USDC"),
            deposited={TREASURY: 1_000_000_000, known.VITALIK: 250_000_000},
            interest=1_000_000,
        ),
    ),
}

HELD_BY_VITALIK = 4
"""VITALIK has deposited one part in so many of each vault of generation V1."""
