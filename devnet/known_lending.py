"""What is set up in the lend-a markets of the local chains, and who holds stake-a's tokens.

It is what the world is built from, not what a read of it answers: interest accrues from the day before a chain's first
block on. Amounts are millionths of a whole token. TREASURY mints what is supplied and takes back what is borrowed, so
that the wallets' own balances stay what they are. Addresses: @aave-dao/aave-address-book 4.68.1.
"""

from dataclasses import dataclass, field

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known


def place_of(what: str) -> str:
    """Return the address of a contract or account of the devnet that stands at no real one."""
    return to_checksum_address(keccak(text=f"waypost devnet {what}")[-20:])


TREASURY = place_of("treasury")  # no contract; the node impersonates it while a world is built
CLOSE = 1  # the category (e-mode) of assets whose prices move together, of lend-a V3
# In US dollars; those that a Chainlink feed of feeds.toml has too are the same.
PRICES = {
    **dict.fromkeys(("ETH", "WETH", "WETH.e"), "2512.34567891"),
    **dict.fromkeys(("USDC", "USDC.e", "USDbC"), "1.0001"),
    **dict.fromkeys(("DAI", "WXDAI"), "0.9998"),
    **dict.fromkeys(("USDT", "USDT0"), "0.9997"),
    "USDS": "1",
    "USDe": "1.0002",
    "GHO": "0.999",
    "EURC": "1.0845",
    "WBTC": "91200",
    "LINK": "13.57",
    "MKR": "1480",
    "stETH": "2510.5",
    "wstETH": "3071.5",
    "cbETH": "2755",
    "rETH": "2870",
    "weETH": "2720",
    "cbBTC": "91210",
    "tBTC": "91190",
    "UNI": "6.5",
    "AAVE": "165",
    "AERO": "0.88",
    "WPOL": "0.2345",
    "WBNB": "612.5",
    "WAVAX": "21.25",
    "WHYPE": "38.75",
    "kHYPE": "39.9125",
    "UBTC": "91195",
    "UETH": "2511.75",
    **{f"LARGE{number}": "1.25" for number in range(67)},  # of a world of mainnet's size (devnet/evm/mainnet_size.py)
}
PRICES_AT_FIRST = {"WBTC": "118000"}  # what a price was while the loans were given that have become unhealthy since


@dataclass(frozen=True, slots=True)
class Reserve:
    """An asset of a market: limits in basis points, whether it may be borrowed, is frozen or paused, its category."""

    symbol: str
    ltv: int
    threshold: int
    bonus: int = 10_500
    borrowing: bool = True
    frozen: bool = False
    category: int = 0
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Supply:
    """What a wallet has supplied, in millionths, and whether it is used as collateral."""

    holder: str
    symbol: str
    amount: int
    collateral: bool = True


@dataclass(frozen=True, slots=True)
class Debt:
    """What a wallet has borrowed, in millionths; at a stable rate in lend-a V2 alone."""

    holder: str
    symbol: str
    amount: int
    stable: bool = False


@dataclass(frozen=True, slots=True)
class SetUp:
    """Reserves in the order of their ids, the wallets' positions, and the category (e-mode) by wallet.

    `dropped` was listed after the first reserve and is gone again, so that the ids of those after it are one more than
    their places in the list ("" for none).
    """

    reserves: tuple[Reserve, ...]
    supplies: tuple[Supply, ...]
    debts: tuple[Debt, ...]
    categories: dict[str, int] = field(default_factory=dict)
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """A market: its contracts and what is set up in it. Prices are quoted in the asset `base`, in dollars for ""."""

    provider: str
    pool: str
    configurator: str
    data_provider: str
    oracle: str
    set_up: SetUp
    base: str = ""


def _rich(frozen: str, *others: Reserve, dropped: str = "") -> SetUp:
    """Return a V3 market with every case.

    VITALIK: healthy, with bitcoin that is no collateral and an asset that has been frozen since. ALICE: within a
    category, beyond what she could borrow outside it. BOB: a loan that has become unhealthy.
    """
    return SetUp(
        reserves=(
            Reserve("WETH", 8_000, 8_250, category=CLOSE),
            Reserve("wstETH", 7_850, 8_100, 10_600, category=CLOSE),
            Reserve("USDC", 7_700, 8_000, 10_450),
            Reserve("DAI", 6_700, 7_700),
            Reserve("WBTC", 7_000, 7_500, 10_650),
            Reserve(frozen, 5_000, 7_250, 10_700, borrowing=False, frozen=True),
            *others,
        ),
        supplies=(
            Supply(known.VITALIK, "WETH", 10_000_000),
            Supply(known.VITALIK, "USDC", 5_000_123_456),
            Supply(known.VITALIK, "WBTC", 1_250_000, collateral=False),
            Supply(known.VITALIK, frozen, 700_000_000),
            Supply(known.ALICE, "wstETH", 5_000_000),
            Supply(known.BOB, "WBTC", 100_000),
        ),
        debts=(
            Debt(known.VITALIK, "DAI", 6_543_210_987),
            Debt(known.ALICE, "WETH", 5_000_000),
            Debt(known.BOB, "USDC", 8_000_000_000),
        ),
        categories={known.ALICE: CLOSE},
        dropped=dropped,
    )


def _small(native: str, amount: int) -> SetUp:
    """Return a V3 market of two reserves: VITALIK supplies dollars, ALICE this many millionths and owes dollars."""
    return SetUp(
        reserves=(Reserve(native, 7_000, 7_500), Reserve("USDC", 7_500, 7_800)),
        supplies=(Supply(known.VITALIK, "USDC", 2_500_000_000), Supply(known.ALICE, native, amount)),
        debts=(Debt(known.ALICE, "USDC", 1_200_345_678),),
    )


_PROVIDER = "0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb"
_POOL = "0x794a61358D6845594F94dc1DB02A252b5b4814aD"
_CONFIGURATOR = "0x8145eddDf43f50276641b55bd3AD95944510021E"
_DATA = "0x243Aa95cAC2a25651eda86e80bEe66114413c43b"

LEND_A_V3: dict[str, Pool] = {
    "ethereum": Pool(
        "0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e",
        "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
        "0x64b761D848206f447Fe2dd461b0c635Ec39EbB27",
        "0x0a16f2FCC0D44FaE41cc54e079281D84A363bECD",
        "0x54586bE62E3c3580375aE3723C145253060Ca0C2",
        # MKR's name and symbol are bytes32.
        _rich("LINK", Reserve("USDT", 7_500, 7_800), Reserve("MKR", 6_500, 7_000), dropped="UNI"),
    ),
    "polygon": Pool(
        *(_PROVIDER, _POOL, _CONFIGURATOR, _DATA, "0xb023e699F5a33916Ea823A16485e259257cA8Bd1"),
        _rich("USDC.e", Reserve("WPOL", 6_800, 7_300)),
    ),
    "arbitrum": Pool(
        *(_PROVIDER, _POOL, _CONFIGURATOR, _DATA, "0xb56c2F0B653B2e0b10C9b928C8580Ac5Df02C7C7"), _rich("USDC.e")
    ),
    "base": Pool(
        "0xe20fCBdBfFC4Dd138cE8b2E6FBb6CB49777ad64D",
        "0xA238Dd80C259a72e81d7e4664a9801593F98d1c5",
        "0x5731a04B1E775f0fdd454Bf70f3335886e9A96be",
        "0x0F43731EB8d45A581f4a36DD74F5f358bc90C73A",
        "0x2Cc0Fc26eD4563A5ce5e8bdcfe1A2878676Ae156",
        _rich("USDbC", Reserve("cbETH", 7_500, 7_900, category=CLOSE)),
    ),
    "optimism": Pool(
        *(_PROVIDER, _POOL, _CONFIGURATOR, _DATA, "0xD81eb3728a631871a7eBBaD631b5f424909f0c77"),
        _small("WETH", 2_000_000),
    ),
    "avalanche": Pool(
        *(_PROVIDER, _POOL, _CONFIGURATOR, _DATA, "0xEBd36016B3eD09D4693Ed4251c67Bd858c3c7C9C"),
        _small("WAVAX", 150_000_000),
    ),
    "bsc": Pool(
        "0xff75B6da14FfbbfD355Daf7a2731456b3562Ba6D",
        "0x6807dc923806fE8Fd134338EABCA509979a7e0cB",
        "0x67bdF23C7fCE7C65fF7415Ba3F2520B45D6f9584",
        "0xc90Df74A7c16245c5F5C5870327Ceb38Fe5d5328",
        "0x39bc1bfDa2130d6Bb6DBEfd366939b4c7aa7C697",
        _small("WBNB", 5_000_000),
    ),
    "gnosis": Pool(
        "0x36616cf17557639614c1cdDb356b1B83fc0B2132",
        "0xb50201558B00496A145fE76f7424749556E326D8",
        "0x7304979ec9E4EaA0273b6A037a31c4e9e5A75D16",
        "0xF1F5acB596568895393cB5E4D0452D6592A2fA70",
        "0xeb0a051be10228213BAEb449db63719d6742F7c4",
        _small("WXDAI", 3_000_000_000),
    ),
}

# lend-d's contracts are those of lend-a V3, under addresses of their own. VITALIK: two supplies and a debt, one of the
# supplies frozen since; ALICE: a debt against bitcoin; BOB: a supply that has been paused since.
LEND_D: dict[str, Pool] = {
    "hyperliquid": Pool(
        "0x72c98246a98bFe64022a3190e7710E157497170C",
        "0x00A89d7a5A02160f20150EbEA7a2b5E4879A1A8b",
        place_of("lend-d configurator"),
        "0x5481bf8d3946E6A3168640c1D7523eB59F055a29",
        "0xC9Fb4fbE842d57EAc1dF3e641a281827493A630e",
        SetUp(
            reserves=(
                Reserve("WHYPE", 6_000, 7_000),
                Reserve("kHYPE", 5_500, 6_500),
                Reserve("USDC", 7_500, 7_800),
                Reserve("USDT0", 7_500, 7_800),
                Reserve("UBTC", 7_000, 7_500),
                Reserve("UETH", 7_000, 7_500, borrowing=False, frozen=True),
                Reserve("USDe", 7_200, 7_500, paused=True),
            ),
            supplies=(
                Supply(known.VITALIK, "WHYPE", 300_500_000),
                Supply(known.VITALIK, "UETH", 1_250_000),
                Supply(known.ALICE, "UBTC", 500_000),
                Supply(known.BOB, "USDe", 750_123_456, collateral=False),
            ),
            debts=(
                Debt(known.VITALIK, "USDC", 2_345_678_901),
                Debt(known.ALICE, "USDT0", 9_000_000_000),
                Debt(known.ALICE, "WHYPE", 25_000_000),
            ),
            dropped="LINK",
        ),
    ),
}

# VITALIK: a supply that has been frozen since, a debt at a stable and one at a variable rate. BOB: an unhealthy loan.
_OLD_RICH = SetUp(
    reserves=(
        Reserve("WBTC", 7_000, 7_500),
        Reserve("WETH", 8_000, 8_250),
        Reserve("DAI", 7_500, 8_000),
        Reserve("LINK", 5_000, 7_000, frozen=True),
        Reserve("USDC", 8_000, 8_500),
    ),
    supplies=(
        Supply(known.VITALIK, "WETH", 6_000_000),
        Supply(known.VITALIK, "LINK", 300_000_000),
        Supply(known.ALICE, "USDC", 1_234_567_891, collateral=False),
        Supply(known.BOB, "WBTC", 50_000),
    ),
    debts=(
        Debt(known.VITALIK, "DAI", 1_000_000_000, stable=True),
        Debt(known.VITALIK, "DAI", 250_500_000),
        Debt(known.BOB, "USDC", 4_000_000_000),
    ),
)


def _old_small(ether: str, dollars: str, *others: Reserve) -> SetUp:
    """Return a V2 market in which VITALIK supplies ether and owes dollars."""
    return SetUp(
        reserves=(Reserve(ether, 8_000, 8_250), Reserve(dollars, 7_500, 8_000), *others),
        supplies=(Supply(known.VITALIK, ether, 2_000_000), Supply(known.ALICE, dollars, 750_000_000)),
        debts=(Debt(known.VITALIK, dollars, 1_500_000_000),),
    )


LEND_A_V2: dict[str, Pool] = {
    "ethereum": Pool(
        "0xB53C1a33016B2DC2fF3653530bfF1848a515c8c5",
        "0x7d2768dE32b0b80b7a3454c06BdAc94A69DDc7A9",
        "0x311Bb771e4F8952E6Da169b425E7e92d6Ac45756",
        "0x057835Ad21a177dbdd3090bB1CAE03EaCF78Fc6d",
        "0xA50ba011c48153De246E5192C8f9258A2ba79Ca9",
        _OLD_RICH,
        base="WETH",
    ),
    "polygon": Pool(
        "0xd05e3E715d945B59290df0ae8eF85c1BdB684744",
        "0x8dFf5E27EA6b7AC08EbFdf9eB090F32ee9a30fcf",
        "0x26db2B833021583566323E3b8985999981b9F1F3",
        "0x7551b5D2763519d4e37e8B81929D336De671d46d",
        "0x0229F777B0fAb107F9591a41d5F02E4e98dB6f2d",
        _old_small("WETH", "USDC.e"),
        base="WETH",
    ),
    "avalanche": Pool(
        "0xb6A86025F0FE1862B372cb0ca18CE3EDe02A318f",
        "0x4F01AeD16D97E3aB5ab2B501154DC9bb0F1A5A2C",
        "0x230B618aD4C475393A7239aE03630042281BD86e",
        "0x65285E9dfab318f57051ab2b139ccCf232945451",
        "0xdC336Cd4769f4cC7E9d726DA53e6d3fC710cEB89",
        _old_small("WETH.e", "USDC.e", Reserve("WAVAX", 5_000, 6_500)),
    ),
}

# stake-a: millionths by wallet and symbol. ALICE receives an eighth of both tokens more on ethereum, in a later block;
# what is there of stETH grows by the report of block REBASED_AT.
STAKED: dict[str, dict[tuple[str, str], int]] = {
    "ethereum": {(known.BOB, "stETH"): 2_500_000, (known.BOB, "wstETH"): 1_750_000},
    **{
        slug: {(known.ALICE, "wstETH"): 1_250_000, (known.BOB, "wstETH"): 3}
        for slug in ("polygon", "arbitrum", "optimism", "base", "gnosis", "linea")
    },
}


@dataclass(frozen=True, slots=True)
class Rebase:
    """What stake-a's oracle reports: seconds that it is of, ether earned in wei, and how much of that is its fee."""

    elapsed: int
    rewards: int
    fee: int


REBASE = Rebase(elapsed=86_400, rewards=214_654_321_987_654_321, fee=21_465_432_198_765_432)
REBASED_AT = 16  # the block of ethereum, counted from the chain's first, that holds the report
