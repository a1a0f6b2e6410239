"""How the vaults of vault-a (Beefy) and vault-b (Yearn) on the local chains are set up, and what they grow by.

They are stand-ins at the addresses of real vaults; those that no source names are at addresses of ours and say so. A
vault's assets grow by a fixed part of themselves per second, counted from the last deposit, so that a share's price at
any moment follows from its `percent` and the times of blocks.
"""

from dataclasses import dataclass, field

from devnet import known
from devnet.known_lending import TREASURY, place_of

SECONDS_PER_YEAR = 31_536_000


def per_second(percent: float) -> int:
    """Return what a growth of so many percent in a year is per second, times 10**18."""
    return round(percent * 10**16) // SECONDS_PER_YEAR


@dataclass(frozen=True, slots=True)
class BeefyVault:
    """A vault of vault-a: `kind` as Beefy names it, `wants` by symbol or, of another vault's shares, by its id.

    `percent` is what it grows by in a year, from the deposit on. Amounts are millionths of a whole want, in shares
    of 18 decimals for the kind `gov`. With `has_apy` False its API reports no rate of it.
    """

    chain: str
    id: str
    kind: str
    address: str
    wants: tuple[str, ...]
    percent: float = 0.0
    supplied: dict[str, int] = field(default_factory=dict)
    status: str = "active"
    has_apy: bool = True


_T, _A, _B, _V = TREASURY, known.ALICE, known.BOB, known.VITALIK
_RANGE = "uniswap-cow-ethereum-wbtc-weth"
_BSC_RANGE = "pancake-cow-bsc-usdt-wbnb"

BEEFY = (
    BeefyVault(
        *("ethereum", "morpho-v2-ethereum-steakhouse-prime-usdc", "standard"),
        "0x48C845d0818bAA17d22b2c0bE41915ec084599bD",
        ("USDC",),
        4.25,
        {_T: 2_500_000_000_000, _A: 1_250_500_000, _V: 333_333_333},
    ),
    BeefyVault(
        *("ethereum", "morpho-v2-ethereum-steakhouse-prime-usdt", "standard"),
        "0x11bAa40e8821E4Df0b09C7087246C8E97d179938",
        ("USDT",),
        3.5,
        {_T: 100_000_000_000},
        has_apy=False,
    ),
    BeefyVault(
        *("ethereum", _RANGE, "cowcentrated"),
        "0xC7AFdB8Ef47C058E8F4094Cca09080BcAb662e80",
        ("WBTC", "WETH"),
        12.5,
        {_T: 40_000_000, _A: 1_234_567, _V: 250_000},
    ),
    # The addresses of the next three are ours.
    BeefyVault(
        *("ethereum", f"{_RANGE}-rp", "gov", place_of("beefy pool")), (_RANGE,), 15.75, {_T: 20_000_000, _A: 600_000}
    ),
    BeefyVault(
        *("ethereum", "waypost-ethereum-dai", "erc4626", place_of("beefy erc4626")),
        ("DAI",),
        6.0,
        {_T: 750_000_000_000, _B: 5_000_000_000},
    ),
    BeefyVault(
        *("ethereum", "waypost-ethereum-link-eol", "standard", place_of("beefy retired")),
        ("LINK",),
        0.0,
        {_T: 1_000_000_000, _A: 12_500_000},
        status="eol",
    ),
    BeefyVault(
        *("ethereum", "bifi-vault", "standard", "0xBEEF8e0982874e0292E6C5751C5A4092b3e1BEEF"),
        ("BIFI",),
        5.0,
        {_T: 12_000_000_000, _A: 3_250_000, _V: 1_500_000},
    ),
    BeefyVault(
        *("polygon", "uniswap-cow-poly-wbtc-usdc", "cowcentrated"),
        "0xF93402fddbC5F94fe81998aB2ef2fC6E12E26b1e",
        ("WBTC", "USDC"),
        9.0,
        {_T: 10_000_000, _A: 2_000_000},
    ),
    BeefyVault(
        *("optimism", "morpho-op-gauntlet-prime-usdc", "standard"),
        "0xb3D2afBBc8485E3C89C8e511470988526763eAA8",
        ("USDC",),
        5.5,
        {_T: 400_000_000_000, _A: 700_000_000},
    ),
    BeefyVault(
        *("base", "morpho-base-gauntlet-prime-usdc", "standard"),
        "0xCCB979379754d605FB4819A3e394D2e4087fC70e",
        ("USDC",),
        6.25,
        {_T: 900_000_000_000, _A: 80_000_000, _V: 20_000_000},
    ),
    BeefyVault(
        *("avalanche", "aavev4-avax-usdc", "standard"),
        "0x8ac9A7D5427bb0b455FB18d6CC3098bD4ad5f855",
        ("USDC",),
        3.75,
        {_T: 150_000_000_000, _A: 45_000_000},
    ),
    BeefyVault(
        *("avalanche", "uniswap-cow-avax-weth.e-wavax", "cowcentrated"),
        "0x4409339D013A65FA029c2f587ee410dFEBcb1c6e",
        ("WETH.e", "WAVAX"),
        18.0,
        {_T: 5_000_000, _A: 100_000},
    ),
    BeefyVault(
        *("arbitrum", "morpho-arb-steakhouse-usdc", "standard"),
        "0x13EaA79178f2b6C0A43cA265B66d70b9d60F827a",
        ("USDC",),
        4.75,
        {_T: 600_000_000_000, _A: 1_100_000_000},
    ),
    BeefyVault(
        *("bsc", _BSC_RANGE, "cowcentrated"),
        "0x39D16B4B83C43207668De708E55ecc721cC27990",
        ("USDT", "WBNB"),
        7.5,
        {_T: 30_000_000, _A: 500_000},
    ),
    BeefyVault(
        *("bsc", f"{_BSC_RANGE}-vault", "standard"),
        "0xB2DAee36f78b1b3f3D04D022c51B705980DF63ba",
        (_BSC_RANGE,),
        8.0,
        {_T: 10_000_000, _A: 250_000},
    ),
)
"""The vaults of vault-a. Of two tokens, what is deposited are so many shares; see `RANGE_AMOUNTS`."""

RANGE_AMOUNTS = {
    _RANGE: (10_000, 400_000),
    "uniswap-cow-poly-wbtc-usdc": (5_000, 480_000_000),
    "uniswap-cow-avax-weth.e-wavax": (20_000, 2_300_000),
    _BSC_RANGE: (1_000_000_000, 1_600_000),
}
"""What lies in a vault of two tokens for each share, in millionths of a whole one of the first and of the second."""


@dataclass(frozen=True, slots=True)
class YearnVault:
    """A vault of vault-b over one token.

    `percent` is as above. `is_listed`: whether Kong lists it, with a rate if `has_rate`; `is_endorsed` whether the
    registry of its version knows it. The oracle of rates reports `expected` (percent per year) as its strategy's and
    `unlocking` as what its profits unlock by; 0 for none.
    """

    chain: str
    address: str
    symbol: str
    version: str
    asset: str
    percent: float
    supplied: dict[str, int]
    is_listed: bool = True
    has_rate: bool = True
    is_endorsed: bool = True
    expected: float = 0.0
    unlocking: float = 0.0

    @property
    def is_v3(self) -> bool:
        """Whether it has the interface of EIP-4626."""
        return self.version.startswith("3")


YEARN = (
    YearnVault(
        *("ethereum", "0xBe53A109B494E5c9f97b9Cd39Fe969BE68BF6204", "yvUSDC-1", "3.0.2", "USDC", 5.25),
        {_T: 8_000_000_000_000, _A: 2_400_600_000, _V: 111_111_111},
        expected=6.5,
    ),
    YearnVault(
        *("ethereum", "0x028eC7330ff87667b6dfb0D94b954c820195336c", "yvDAI-1", "3.0.2", "DAI", 4.0),
        {_T: 1_500_000_000_000, _A: 800_000_000},
        has_rate=False,
        expected=4.4,
        unlocking=3.9,
    ),
    YearnVault(
        *("ethereum", "0xc56413869c6CDf96496f2b1eF801fEDBdFA7dDB0", "yvWETH-1", "3.0.2", "WETH", 2.5),
        {_T: 3_000_000_000, _A: 4_200_000},
        has_rate=False,
        unlocking=2.45,
    ),
    YearnVault(
        *("ethereum", "0x310B7Ea7475A0B449Cfd73bE81522F1B88eFAFaa", "yvUSDT-1", "3.0.2", "USDT", 7.0),
        {_T: 900_000_000_000, _B: 65_000_000},
        has_rate=False,
        is_endorsed=False,
    ),
    YearnVault(
        *("ethereum", "0xa354F35829Ae975e850e23e9615b11Da1B3dC4DE", "yvUSDC", "0.4.3", "USDC", 3.25),
        {_T: 1_200_000_000_000, _A: 340_000_000},
    ),
    YearnVault(
        *("ethereum", "0xdA816459F1AB5631232FE5e97a05BBBb94970c95", "yvDAI", "0.4.3", "DAI", 3.0),
        {_T: 500_000_000_000, _A: 55_000_000},
        has_rate=False,
        is_endorsed=False,
    ),
    YearnVault(
        *("ethereum", "0x3B27F92C0e212C671EA351827EDF93DB27cc0c65", "yvUSDT", "0.4.3", "USDT", 2.0),
        {_T: 90_000_000_000, _V: 12_000_000},
        is_listed=False,
    ),
    # Neither listed nor endorsed, at an address of ours: it answers all that the others answer.
    YearnVault(
        *("ethereum", place_of("yearn impostor"), "yvFAKE", "3.0.2", "USDC", 900.0),
        {_T: 1_000_000, _A: 1_000_000},
        is_listed=False,
        is_endorsed=False,
    ),
    YearnVault(
        *("arbitrum", "0x6FAF8b7fFeE3306EfcFc2BA9Fec912b4d49834C1", "yvUSDC-A", "3.0.1", "USDC", 5.75),
        {_T: 700_000_000_000, _A: 90_000_000},
    ),
    YearnVault(
        *("arbitrum", "0x9FA306b1F4a6a83FEC98d8eBbaBEDfF78C407f6B", "yvUSDC-2", "3.0.2", "USDC.e", 4.5),
        {_T: 120_000_000_000, _A: 6_000_000},
        is_listed=False,
        expected=4.6,
    ),
)
YEARN_V3_REGISTRY = "0xff31A1B020c868F6eA3f61Eb953344920EeCA3af"
YEARN_V2_REGISTRIES = {
    "ethereum": "0x50c1a2eA0a861A967D9d0FFE2AE4012c2E053804",
    "arbitrum": "0x3199437193625DCcD6F9C9e98BDf93582200Eb1f",
}
YEARN_APR_ORACLE = "0x1981AD9F44F2EA9aDd2dC4AD7D075c102C70aF92"
IMPOSTOR = next(vault.address for vault in YEARN if vault.symbol == "yvFAKE")
