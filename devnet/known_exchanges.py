"""How the exchanges, pools and lending vaults of the local chains are set up: where they stand, what is put into them.

Only what is written before a chain's first block: what reads of it answer follows from the contracts. The addresses are
the real ones; those that no source names are ours and say so. Figures "in dollars" are at the PRICES of this page.
"""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known


def own_address(word: str) -> str:
    """Return the address of a contract or an account of ours, which collides with nothing real."""
    return to_checksum_address(keccak(text=f"waypost devnet exchanges {word}")[-20:])


PROVIDER = own_address("provider")  # put in everything that lies in pools and vaults; its key is held nowhere

WRAPPED, NATIVE = "wrapped", "native"  # in place of the symbols of a chain's own
PRICES = {
    "ETH": "2512.34",
    "POL": "0.2345",
    "BNB": "612.5",
    "AVAX": "21.25",
    "USDC": "1",
    "USDT": "0.9997",
    "DAI": "0.9998",
    "LINK": "13.57",
    "WBTC": "91234.5",
}
"""What pools trade at when they are set up, in dollars."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of the second version, by symbols; `dollars` are on each side, 0 for a pair without reserves."""

    base: str
    quote: str
    dollars: int


@dataclass(frozen=True, slots=True)
class Range:
    """Liquidity of one position, as deep as `dollars` on each side of a pool over all prices would be.

    It reaches `spacings` tick spacings to either side of the price, or over all prices.
    """

    dollars: int
    spacings: int | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of the third or fourth version, by symbols: its fee in millionths, its tick spacing, its positions."""

    base: str
    quote: str
    fee: int
    spacing: int
    ranges: tuple[Range, ...]


# dex-a V2, on ethereum.
V2_FACTORY = "0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f"
V2_ROUTER = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"
V2_PAIRS = (
    Pair("WETH", "USDC", 5_000_000),
    Pair("WETH", "DAI", 3_000_000),
    Pair("USDC", "DAI", 2_000),  # thin: more than some dollars go over WETH
    Pair("LINK", "WETH", 0),
)

# dex-a V3: factory, QuoterV2, position manager, SwapRouter; the last is at an address of ours where none is real.
_V3_SWAP = own_address("v3 swap router")
V3_USUAL = {
    "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
    "quoter": "0x61fFE014bA17989E743c5F6cB21bF9697530B21e",
    "positions": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
    "swap": "0xE592427A0AEce92De3Edee1F18E0157C05861564",
}
V3_CONTRACTS = {
    **dict.fromkeys(("ethereum", "polygon", "arbitrum", "optimism"), V3_USUAL),
    "base": {
        "factory": "0x33128a8fC17869897dcE68Ed026d694621f6FDfD",
        "quoter": "0x3d4e44Eb1374240CE5F1B871ab261CD16335B76a",
        "positions": "0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1",
        "swap": _V3_SWAP,
    },
    "bsc": {
        "factory": "0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7",
        "quoter": "0x78D78E420Da98ad378D7799bE8f4AF69033EB077",
        "positions": "0x7b8A01B39D58278b5DE7e48c8449c9f4F5170613",
        "swap": _V3_SWAP,
    },
    "avalanche": {
        "factory": "0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD",
        "quoter": "0xbe0F5544EC67e9B3b2D979aaA43f18Fd87E6257F",
        "positions": "0x655C406EBFa14EE2006250925e54ec43AD184f8B",
        "swap": _V3_SWAP,
    },
}
_V3_RICH = (
    Pool(WRAPPED, "USDC", 500, 10, (Range(2_000_000), Range(1_000_000, 40))),
    Pool(WRAPPED, "USDC", 3000, 60, (Range(4_000_000),)),
    Pool(WRAPPED, "USDC", 10_000, 200, (Range(400, 2),)),  # runs dry after some ten dollars
    Pool("LINK", WRAPPED, 3000, 60, (Range(400, 3),)),  # so does this, and there is no other of its tokens
    Pool("DAI", WRAPPED, 3000, 60, ()),  # initialised, without liquidity
    Pool("USDC", "DAI", 500, 10, (Range(3_000_000),)),
)
_V3_SMALL = (Pool(WRAPPED, "USDC", 3000, 60, (Range(1_000_000),)),)

# dex-a V4: the pool manager, V4Quoter and StateView. What adds liquidity and swaps stands at addresses of ours.
V4_LIQUIDITY = own_address("v4 liquidity")
V4_SWAP = own_address("v4 swap")
V4_CONTRACTS = {
    "ethereum": {
        "manager": "0x000000000004444c5dc75cB358380D2e3dE08A90",
        "quoter": "0x52F0E24D1c21C8A0cB1e5a5dD6198556BD9E1203",
        "state": "0x7fFE42C4a5DEeA5b0feC41C94C136Cf115597227",
    },
    "polygon": {
        "manager": "0x67366782805870060151383F4BbFF9daB53e5cD6",
        "quoter": "0xb3d5c3Dfc3a7aEbFF71895A7191796BFFc2c81b9",
        "state": "0x5eA1bD7974c8A611cBAB0bDCAFcB1D9CC9b3BA5a",
    },
    "arbitrum": {
        "manager": "0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32",
        "quoter": "0x3972C00f7ed4885e145823eb7C655375d275A1C5",
        "state": "0x76Fd297e2D437cd7f76d50F01AfE6160f86e9990",
    },
    "optimism": {
        "manager": "0x9a13F98Cb987694C9F086b1F5eB990EeA8264Ec3",
        "quoter": "0x1f3131A13296FB91C90870043742C3CDBFF1A8d7",
        "state": "0xc18a3169788F4F75A170290584ECA6395C75Ecdb",
    },
    "base": {
        "manager": "0x498581fF718922c3f8e6A244956aF099B2652b2b",
        "quoter": "0x0d5e0F971ED27FBfF6c2837bf31316121532048D",
        "state": "0xA3c0c9b65baD0b08107Aa264b0f3dB444b867A71",
    },
    "bsc": {
        "manager": "0x28e2Ea090877bF75740558f6BFB36A5ffeE9e9dF",
        "quoter": "0x9F75dD27D6664c475B90e105573E550ff69437B0",
        "state": "0xd13Dd3D6E93f276FAfc9Db9E6BB47C1180aeE0c4",
    },
    "avalanche": {
        "manager": "0x06380C0e0912312B5150364B9DC4542BA0DbBc85",
        "quoter": "0xbE40675BB704506a3c2Ccfb762DCFd1e979845C2",
        "state": "0xc3c9e198C735a4b97e3e683f391cCBDD60B69286",
    },
}
_V4_RICH = (
    Pool(NATIVE, "USDC", 500, 10, (Range(2_000_000), Range(1_000_000, 40))),
    Pool(NATIVE, "USDC", 3000, 60, (Range(4_000_000),)),
    Pool(WRAPPED, "USDC", 3000, 60, (Range(1_000_000),)),  # gives less than the native pool of the same fee
    Pool(NATIVE, "USDC", 10_000, 200, (Range(50_000, 20),)),  # gives less than the next
    Pool(WRAPPED, "USDC", 10_000, 200, (Range(800_000),)),
    Pool("USDC", "DAI", 100, 1, (Range(3_000_000),)),
    Pool(NATIVE, "DAI", 3000, 60, (Range(400, 3),)),  # runs dry after some dollars
    Pool(NATIVE, "LINK", 3000, 60, ()),  # initialised, without liquidity
)
_V4_SMALL = (Pool(NATIVE, "USDC", 3000, 60, (Range(1_000_000),)),)

RICH = ("ethereum", "arbitrum", "polygon")
V3_POOLS = {slug: _V3_RICH if slug in RICH else _V3_SMALL for slug in V3_CONTRACTS}
V4_POOLS = {slug: _V4_RICH if slug in RICH else _V4_SMALL for slug in V4_CONTRACTS}


# pool-a, on ethereum: stand-ins with the arithmetic of the pools' invariants. Amounts are whole units, in the order of
# the coins; fees are in parts of 10**10, as the pools answer them.
CRVUSD = "0xf939E0A03FB07F59A73314E73794Be0E57ac1b4E"


@dataclass(frozen=True, slots=True)
class StablePool:
    """A pool of coins of one worth: its token, its coins by symbol, A, fee, the first deposit, exchanges after it.

    Exchanges are (place sold, place bought, whole units); half of every fee is the protocol's.
    """

    address: str
    token: str
    name: str
    symbol: str
    coins: tuple[str, ...]
    amplification: int
    fee: int
    amounts: tuple[int, ...]
    exchanges: tuple[tuple[int, int, int], ...]


THREE_POOL = StablePool(
    address="0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7",
    token="0x6c3F90f043a72FA612cbac8115EE7e52BDe6E490",
    name="Curve.fi DAI/USDC/USDT",
    symbol="3Crv",
    coins=("DAI", "USDC", "USDT"),
    amplification=4000,
    fee=1_500_000,
    amounts=(6_000_000, 7_000_000, 5_000_000),
    exchanges=((0, 1, 1_500_000), (2, 0, 2_500_000), (1, 2, 3_000_000)),
)
ETHER_POOL = StablePool(
    address="0xDC24316b9AE028F1497c275EB9192a3Ea0f67022",
    token="0x06325440D014e39736583c165C2963BA99fAf14E",
    name="Curve.fi ETH/stETH",
    symbol="steCRV",
    coins=("ETH", "stETH"),
    amplification=200,
    fee=1_000_000,
    amounts=(800, 900),
    exchanges=((0, 1, 150), (1, 0, 200)),
)
TRICRYPTO = "0xD51a44d3FaE010294C616388b506AcdA1bfAAE46"
TRICRYPTO_TOKEN = "0xc4AD29ba4B3c580e6D59105FFf484999997675Ff"
TRICRYPTO_COINS = ("USDT", "WBTC", "WETH")
TRICRYPTO_AMOUNTS = (3_100_000, 33, 1_210)
TRICRYPTO_FIGURES = (1_707_629, 11_809_167_828_997)  # A and gamma
TRICRYPTO_FEES = (3_000_000, 30_000_000, 500_000_000_000_000)  # in balance, out of it, the gamma between them
TRICRYPTO_PRICES = ("WBTC", "ETH")  # of the second and the third coin, in dollars
TRICRYPTO_EARNED = 12_345  # whole USDT that came to the pool after its first deposit
POOL_SHARES = {known.ALICE: 1_234, known.BOB: 5}
"""Whole shares of each pool that wallets hold, but of tricrypto2 thousandths of them."""


@dataclass(frozen=True, slots=True)
class Vault:
    """A vault of pool-a's lending markets; amounts are whole units of what is borrowed.

    `generation` states which factory lists it, and `name` by which name (none in the second; "" where the first has
    none). `lent` and `interest` are owed by borrowers, `fees` of the interest are the protocol's.
    """

    chain: str
    generation: int
    address: str
    name: str
    borrowed: str
    collateral: str
    supplied: dict[str, int]
    lent: int = 0
    interest: int = 0
    fees: int = 0


LEND_FACTORIES = {
    ("ethereum", 1): "0xeA6876DDE9e3467564acBeE1Ed5bac88783205E0",
    ("ethereum", 2): "0x8f6B56EC5ddF1F2691a1059f1D3cd97Ac9EaB0bd",
    ("arbitrum", 1): "0xcaEC110C784c9DF37240a8Ce096D352A75922DeA",
    ("optimism", 1): "0x5EA8f3D674C70b020586933A0a5b250734798BeF",
    ("optimism", 2): "0x5F94073E3f51c1FFf92ffc6b4B06b7Af193B3640",
}
"""By chain and generation."""

_A, _V, _P = known.ALICE, known.VITALIK, PROVIDER
VAULTS = (
    Vault(
        *("ethereum", 1, "0x21CF1c5Dc48C603b89907FE6a7AE83EA5e3709aF", "wstETH-long", "crvUSD", "wstETH"),
        supplied={_P: 4_000_000, _A: 25_000, _V: 1_234},
        lent=3_100_000,
        interest=54_321,
    ),
    Vault(
        *("ethereum", 1, "0x4a7999c55d3a93dAf72EA112985e57c2E3b9e95D", "WBTC-long", "crvUSD", "WBTC"),
        supplied={_P: 900_000, _V: 77},
    ),
    Vault(  # six decimals, and no name in the factory
        *("ethereum", 1, own_address("vault of dollars"), "", "USDC", "WETH"),
        supplied={_P: 500_000, _A: 9_999},
        lent=400_000,
        interest=12_345,
    ),
    Vault(*("ethereum", 1, own_address("vault without shares"), "LINK-long", "crvUSD", "LINK"), supplied={}),
    Vault(
        *("ethereum", 2, own_address("second vault of dollars"), "", "crvUSD", "sUSDe"),
        supplied={_P: 1_000_000, _A: 4_321},
        lent=600_000,
        interest=33_333,
        fees=3_333,
    ),
    Vault(*("ethereum", 2, own_address("second vault of bitcoin"), "", "WBTC", "crvUSD"), supplied={_P: 12}, lent=3),
    Vault(
        *("arbitrum", 1, own_address("arbitrum vault"), "WETH-long", "USDC", "WETH"),
        supplied={_P: 300_000, _A: 1_500, _V: 250},
        lent=200_000,
        interest=7_777,
    ),
    Vault(*("arbitrum", 1, own_address("second arbitrum vault"), "", "DAI", "WBTC"), supplied={_P: 80_000, _V: 33}),
    Vault(
        *("optimism", 1, own_address("optimism vault"), "WETH-long", "DAI", "WETH"),
        supplied={_P: 70_000, _A: 700},
        lent=10_000,
        interest=999,
    ),
    Vault(
        *("optimism", 2, own_address("second optimism vault"), "", "USDC", "WBTC"),
        supplied={_P: 60_000, _V: 44},
        lent=20_000,
        interest=888,
        fees=88,
    ),
)
