"""What is set up in the lend-b markets of the local chains: V2's five cTokens and V3's 22 markets.

Amounts are millionths of a whole token. TREASURY supplies the rest of what can be borrowed. Addresses:
compound-finance/compound-config, networks/mainnet.json, commit ff8e979; compound-finance/comet, deployments, commit
d5a30b0.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from devnet import known
from devnet.known_lending import PRICES, place_of

COMPTROLLER = "0x3d9819210A31b4961b30EF54bE2aeD79B9c9Cd3B"


@dataclass(frozen=True, slots=True)
class CToken:
    """A market of V2: its asset ("ETH" is the native one), its collateral factor in basis points, amounts by wallet."""

    address: str
    symbol: str
    underlying: str
    factor: int
    rest: int
    supplies: dict[str, int] = field(default_factory=dict)
    debts: dict[str, int] = field(default_factory=dict)


# VITALIK: ether and dollars against a debt. ALICE: a supply alone. BOB: bitcoin against two debts.
LEND_B_V2: tuple[CToken, ...] = (
    CToken(
        "0x4Ddc2D193948926D02f9B1fE9e1daa0718270ED5",
        *("cETH", "ETH", 8_250),
        rest=5_000_000,
        supplies={known.VITALIK: 3_000_000},
        debts={known.BOB: 1_500_000},
    ),
    CToken(
        "0x39AA39c021dfbaE8faC545936693aC917d5E7563",
        *("cUSDC", "USDC", 8_550),
        rest=3_000_000_000,
        supplies={known.VITALIK: 2_000_456_789},
    ),
    CToken(
        "0xf650C3d88D12dB855b8bf7D11Be6C55A4e07dCC9",
        *("cUSDT", "USDT", 0),
        rest=9_000_000_000,
        debts={known.BOB: 4_321_000_001},
    ),
    CToken(
        "0x5d3a536E4D6DbD6114cc1Ead35777bAB948E3643",
        *("cDAI", "DAI", 8_350),
        rest=4_000_000_000,
        supplies={known.ALICE: 812_345_678},
        debts={known.VITALIK: 1_500_750_000},
    ),
    CToken(
        "0xccF4429DB6322D5C611ee964527D42E5d685DD6a",
        *("cWBTC", "WBTC", 7_000),  # the same symbol as an older market of the same asset
        rest=1_000_000,
        supplies={known.BOB: 250_000},
    ),
)
ENTERED = {known.VITALIK: ("cETH", "cUSDC"), known.BOB: ("cWBTC",)}  # what a wallet uses as collateral


@dataclass(frozen=True, slots=True)
class Comet:
    """A market of V3. `quoted` is the symbol that its prices are in, dollars for "".

    `collaterals` in the order of their offsets; `held` is {(wallet, symbol): amount} of them.
    """

    address: str
    symbol: str
    base: str
    quoted: str
    collaterals: tuple[str, ...]
    rest: int
    supplies: dict[str, int]
    held: dict[tuple[str, str], int]
    debts: dict[str, int]

    @property
    def name(self) -> str:
        """What the contract calls itself."""
        return f"Compound {self.base.removesuffix('.e').removesuffix('0')}"


BROKEN = ("rETH", "WETH")  # the collateral, and the unit of its market, whose feed answers 0: no price
SEVENTEEN = (
    *("WETH", "WBTC", "LINK", "MKR", "wstETH", "cbETH", "rETH", "weETH", "USDe"),
    *("cbBTC", "USDS", "tBTC", "UNI", "GHO", "AAVE", "EURC", "DAI"),
)


def price_feed(symbol: str, quoted: str) -> str:
    """Return the address of the feed that markets ask for a symbol's price."""
    return place_of(f"lend-b V3 feed of {symbol} in {quoted or 'dollars'}")


def _worth(symbol: str, dollars: int) -> int:
    """Return the millionths of a token that are worth so many dollars, about."""
    return int(dollars * 10**6 / Decimal(PRICES[symbol]))


def _small(address: str, symbol: str, base: str, *collaterals: str, quoted: str = "") -> Comet:
    """Return a market in which VITALIK supplies and ALICE owes against the first collateral."""
    return Comet(
        *(address, symbol, base, quoted, collaterals),
        rest=_worth(base, 3_000),
        supplies={known.VITALIK: _worth(base, 1_234)},
        held={(known.ALICE, collaterals[0]): _worth(collaterals[0], 5_000)},
        debts={known.ALICE: _worth(base, 2_222)},
    )


LEND_B_V3: dict[str, tuple[Comet, ...]] = {
    "ethereum": (
        # VITALIK owes against the first collateral and the 17th; ALICE supplies; BOB has collateral alone.
        Comet(
            *("0xc3d688B66703497DAA19211EEdff47f25384cdc3", "cUSDCv3", "USDC", "", SEVENTEEN),
            rest=4_000_000_000,
            supplies={known.ALICE: 2_345_678_901},
            held={
                (known.VITALIK, "WETH"): 1_000_000,
                (known.VITALIK, "DAI"): 1_500_000_000,
                (known.BOB, "LINK"): 40_000_000,
                (known.BOB, "MKR"): 250_000,
            },
            debts={known.VITALIK: 2_500_123_456},
        ),
        # BOB's collateral has no price any more, so whether he can be liquidated is not to be had.
        Comet(
            *("0xA17581A9E3356d9A858b789D68B4d866e593aE94", "cWETHv3", "WETH", "WETH", ("wstETH", "cbETH", "rETH")),
            rest=3_000_000,
            supplies={known.ALICE: 1_750_000},
            held={(known.VITALIK, "wstETH"): 2_000_000, (known.BOB, "rETH"): 1_000_000},
            debts={known.VITALIK: 1_600_000, known.BOB: 500_000},
        ),
        # BOB can be liquidated.
        Comet(
            *("0x3Afdc9BCA9213A35503b077a6072F3D0d5AB0840", "cUSDTv3", "USDT", "", ("WETH", "WBTC")),
            rest=9_000_000_000,
            supplies={known.VITALIK: 1_000_000_001},
            held={(known.BOB, "WBTC"): 100_000},
            debts={known.BOB: 8_000_000_000},
        ),
        _small("0x3D0bb1ccaB520A66e607822fC55BC921738fAFE3", "cWstETHv3", "wstETH", "cbETH", quoted="wstETH"),
        _small("0x5D409e56D886231aDAf00c8775665AD0f9897b56", "cUSDSv3", "USDS", "WETH", "cbBTC"),
        _small("0xe85Dc543813B8c2CFEaAc371517b925a166a9293", "cWBTCv3", "WBTC", "cbBTC", quoted="cbBTC"),
    ),
    "polygon": (
        _small("0xF25212E676D1F7F89Cd72fFEe66158f541246445", "cUSDCv3", "USDC.e", "WETH", "WBTC"),
        _small("0xaeB318360f27748Acb200CE616E389A6C9409a07", "cUSDTv3", "USDT0", "WETH", "WBTC"),
    ),
    "arbitrum": (
        _small("0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf", "cUSDCv3", "USDC", "WETH", "WBTC"),
        _small("0xA5EDBDD9646f8dFF606d7448e414884C7d905dCA", "cUSDCv3", "USDC.e", "WETH", "WBTC"),
        _small("0xd98Be00b5D27fc98112BdE293e487f8D4cA57d07", "cUSDTv3", "USDT0", "WETH", "WBTC"),
        _small("0x6f7D514bbD4aFf3BcD1140B7344b32f063dEe486", "cWETHv3", "WETH", "wstETH", quoted="WETH"),
    ),
    "optimism": (
        _small("0x2e44e174f7D53F0212823acC11C01A11d58c5bCB", "cUSDCv3", "USDC", "WETH", "WBTC"),
        _small("0x995E394b8B2437aC8Ce61Ee0bC610D617962B214", "cUSDTv3", "USDT", "WETH", "WBTC"),
        _small("0xE36A30D249f7761327fd973001A32010b521b6Fd", "cWETHv3", "WETH", "wstETH", quoted="WETH"),
    ),
    "base": (
        _small("0xb125E6687d4313864e53df431d5425969c15Eb2F", "cUSDCv3", "USDC", "WETH", "cbETH"),
        _small("0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf", "cUSDbCv3", "USDbC", "WETH", "cbETH"),
        _small("0x46e6b214b524310239732D51387075E0e70970bf", "cWETHv3", "WETH", "cbETH", quoted="WETH"),
        _small("0x784efeB622244d2348d4F2522f8860B96fbEcE89", "cAEROv3", "AERO", "WETH", "wstETH"),
        _small("0x2c776041CCFe903071AF44aa147368a9c8EEA518", "cUSDSv3", "USDS", "WETH", "cbETH"),
    ),
    "linea": (
        _small("0x8D38A3d6B3c3B7d96D6536DA7Eef94A9d7dbC991", "cUSDCv3", "USDC", "WETH", "wstETH"),
        _small("0x60F2058379716A64a7A5d29219397e79bC552194", "cWETHv3", "WETH", "wstETH", quoted="WETH"),
    ),
}
