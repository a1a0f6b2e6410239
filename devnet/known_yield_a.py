"""What is set up in the yield-a markets of the local chains.

Amounts are millionths of a whole token. A market trades the principal of a token of ours (EIP-5115) over one asset.
Its address, and those of its principal and yield tokens, are where the factories put them (CREATE2), so they change
with everything that they are made from; `devnet/evm/yield_a.py` refuses to build others than these. VITALIK has
liquidity, principal and yield, ALICE principal, BOB yield; what they have of principal they bought from the market.

Addresses of factories, oracle and router: pendle-finance/pendle-core-v2-public, deployments (`@pendle/core-v2` 6.11.0).
"""

from dataclasses import dataclass

from devnet.evm.world import FIRST_TIMESTAMP
from devnet.known_lending import place_of

ORACLE = "0x5542be50420E88dd7D5B4a3D488FA6ED82F6DAc2"  # ethereum
ROUTER_STATIC = "0x263833d47eA3fA4a30f269323aba6a107f9eB14C"  # ethereum
YIELD_FACTORY = {
    "ethereum": "0x3E6EBa46AbC5ab18ED95F6667d8B2fd4020E4637",
    "optimism": "0x2bA5e078b1fF6f1AB02a3B4462F3Be6E950E60e8",
    "bsc": "0xd8c12d46dde7a04F782d417FAE78516448CB2c5b",
    "arbitrum": "0xBA814Bf6E27A6d6baE4a8aC65c8Bc3d8e9B0aaCF",
    "base": "0xdDBfA21ecf024971486684E4E1600998ADeabc88",
}
# By chain, oldest generation first; all of them run the code of the newest release.
MARKET_FACTORIES = {
    "ethereum": (
        "0x27b1dAcd74688aF24a64BD3C9C1B143118740784",
        "0x1A6fCc85557BC4fB7B534ed835a03EF056552D52",
        "0x3d75Bd20C983edb5fD218A1b7e0024F1056c7A2F",
        "0x6fcf753f2C67b83f7B09746Bbc4FA0047b35D050",
        "0x6d247b1c044fA1E22e6B04fA9F71Baf99EB29A9f",
    ),
    "optimism": (
        "0x17F100fB4bE2707675c6439468d38249DD993d58",
        "0x4A2B38b9cBd83c86F261a4d64c243795D4d44aBC",
        "0x73Be47237F12F36203823BAc9A4d80dC798B7015",
        "0x02Adf72d5D06a9C92136562Eb237C07696833a84",
        "0x95a937f7064C75C6Bc257160088C0a9D58cca333",
    ),
    "bsc": (
        "0x2bEa6BfD8fbFF45aA2a893EB3B6d85D10EFcC70E",
        "0xC40fEbF5A33b8C92B187d9be0fD3fe0ac2E4B07c",
        "0x7D20e644D2A9e149e5be9bE9aD2aB243a7835d37",
        "0x7C7f73f7a320364DBB3C9aAa9bCcd402040EE0f9",
        "0x80cE46449DF1c977f6ba60495125ce282F83DdFB",
    ),
    "arbitrum": (
        "0xf5a7De2D276dbda3EEf1b62A9E718EFf4d29dDC8",
        "0x2FCb47B58350cD377f94d3821e7373Df60bD9Ced",
        "0xd9f5e9589016da862D2aBcE980A5A5B99A94f3E8",
        "0xd29e76c6F15ada0150D10A1D3f45aCCD2098283B",
        "0x49F2f7002669E0e4425Fa0203975625Ab4af3143",
    ),
    "base": (
        "0x59968008a703dC13E6beaECed644bdCe4ee45d13",
        "0x81E80A50E56d10C501fF17B5Fe2F662bd9EA4590",
    ),
}

RUNNING_UNTIL = 1_987_977_600  # 2032-12-30T00:00:00Z, a Thursday as the real ones
EXPIRED_AT = FIRST_TIMESTAMP  # with the first block; the world before it is built some seconds earlier


@dataclass(frozen=True, slots=True)
class YieldMarket:
    """A market: its asset by symbol, its tokens, its expiry (unix seconds) and which of the factories made it.

    `anchor` is the first rate of principal per asset (18 places). `bought` is the principal that VITALIK and ALICE
    bought from the market, `left` what VITALIK and BOB have of the yield.
    """

    asset: str
    market: str
    principal: str
    yield_token: str
    expiry: int = RUNNING_UNTIL
    factory: int = -1
    anchor: int = 15 * 10**17
    scalar: int = 50 * 10**18
    liquidity: int = 2_000_000_000_000
    bought: int = 1_500_000_000
    left: int = 750_000_000

    def token(self, chain: str) -> str:
        """Return the address of the token that is split."""
        return place_of(f"yield-a token of {self.asset} on {chain}")


RUNNING = YieldMarket(
    "USDS",
    "0x7195CcebC4e86c2B8441EBEDE4AAf0178Af5e036",
    "0xB522A212e93719Af30aeF6d52003550540e1af24",
    "0xF17E237FDC6eAe1F603189aC21b39d3644687177",
)
SIX_DECIMALS = YieldMarket(
    "USDC",
    "0xa475475666eA36B029A0Bc68FF5Cd4E3fA292b2F",
    "0x7406EC122c24B2721A0Fbb112164c09a7513eB2d",
    "0x1B0262F41D817Cd8FcE600C0A3fbA68f263Db8B0",
    anchor=14 * 10**17,
)
UNPRICED = YieldMarket(
    "GHO",
    "0x4ab2b9E96089c901b7F96F225567d14F97160651",
    "0x9A798aAFe6E5d5945392b0f185AE19E6F684b56D",
    "0xE4b9Bb0a3eFE5bB6ADee2eAb17C1b29E3a43E3d1",
)
EXPIRED = YieldMarket(
    "USDS",
    "0xb356D3bCa59D22d845f5A29645fEdcFbad26c84b",
    "0x2a26B3Fd2e48eBBf0C186540eEFaE265037f0615",
    "0xC4b13A6b0A3E70C607D99D4D7Ad49932Dee10C02",
    expiry=EXPIRED_AT,
    factory=-2,
    anchor=10_003 * 10**14,
)

YIELD_A: dict[str, tuple[YieldMarket, ...]] = {
    "ethereum": (RUNNING, SIX_DECIMALS, UNPRICED, EXPIRED),
    "optimism": (
        YieldMarket(
            "USDC",
            "0x8fBBF5297Bad1b16733BE5Fd793E755c9C38E870",
            "0x04bd087Cc1AefA948ea1D8B4689Df841Ee00a383",
            "0x13DD085445f5d05Add74c22Eb7f7924112F0ba06",
        ),
    ),
    "bsc": (
        YieldMarket(
            "USDC",
            "0x604aaDd9ce980e4d343b8989b1c0AbFcA8FDEF90",
            "0xEA96E00551e662c275a08B7eDc7Ff48E3cbAA521",
            "0xD89B5e355e0434219398e5418Ff963CC1f35E1c1",
        ),
    ),
    "arbitrum": (
        YieldMarket(
            "USDC",
            "0x7ECC6703D549d26b9Cabe6789f7A83DC3f7B7590",
            "0x3eD748e19DaC1d4D082f5AD709C2d574deB5CBCd",
            "0x927EFa5f7b345e0c8E900F315d171FcF7D4ca944",
        ),
    ),
    "base": (
        YieldMarket(
            "USDC",
            "0xa16EC565421a91E16C66b750D89E9AF40963DaDC",
            "0x4B86Ac9b2Afde638F896D0aBb76c6301De1426fe",
            "0x9e9BA115DcabD9432e7B0B3F7A35289dDF0f55f6",
        ),
    ),
}
