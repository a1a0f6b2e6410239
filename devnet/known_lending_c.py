"""What is set up in the lend-c markets of the local chains: the fixed markets, each with a supply and a loan.

Amounts are millionths of a whole token. Every market has VITALIK's supply, and a debt of ALICE's against her
collateral; TREASURY supplies the rest of what can be borrowed. A market's id is the digest of its parameters, so the
ids of the real chains come out where tokens, oracle and rate model stand at their addresses. Addresses:
@morpho-org/morpho-ts 2.8.0; ids recomputed from their parameters.
"""

from dataclasses import dataclass

MORPHO = "0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb"
RATE_MODEL = {
    "ethereum": "0x870aC11D48B15DB9a138Cf899d20F13F79Ba00BC",
    "base": "0x46415998764C29aB2a25CbeA6254146D50D22687",
}


@dataclass(frozen=True, slots=True)
class Market:
    """A market: what is lent against what, at which oracle and limit (18 places), and the wallets' amounts in it.

    `fee` is the market's share of the interest, 18 places.
    """

    market_id: str
    loan: str
    collateral: str
    oracle: str
    lltv: int
    supplied: int
    collateral_held: int
    owed: int
    rest: int
    fee: int = 0


_86, _91_5, _94_5 = 86 * 10**16, 915 * 10**15, 945 * 10**15

LEND_C: dict[str, tuple[Market, ...]] = {
    "ethereum": (
        Market(
            "0x7dde86a1e94561d9690ec678db673c1a6396365f7d1d65e129c5fff0990ff758",
            *("USDC", "WETH", "0xdC6fd5831277c693b1054e19E94047cB37c77615", _86),
            supplied=3_210_987_654,
            collateral_held=4_000_000,
            owed=5_432_109_876,
            rest=5_000_000_000,
            fee=10**17,
        ),
        Market(
            "0xf9acc677910cc17f650416a22e2a14d5da7ccb9626db18f1bf94efe64f92b372",
            *("USDC", "WETH", "0xdC6fd5831277c693b1054e19E94047cB37c77615", _91_5),
            supplied=1_000_000_001,
            collateral_held=1_000_000,
            owed=1_600_000_000,
            rest=2_000_000_000,
        ),
        Market(
            "0xb323495f7e4148be5643a4ea4a8221eef163e4bccfdedc2a6f4696baacbc86cc",
            *("USDC", "wstETH", "0x48F7E36EB6B826B2dF4B2E630B62Cd25e89E40e2", _86),
            supplied=2_500_000_000,
            collateral_held=2_500_000,
            owed=4_000_000_000,
            rest=4_000_000_000,
        ),
        Market(
            "0xc54d7acf14de29e0e5527cabd7a576506870346a78a11a6762e2cca66322ec41",
            *("WETH", "wstETH", "0x2a01EB9496094dA03c4E364Def50f5aD1280AD72", _94_5),
            supplied=1_500_000,
            collateral_held=3_000_000,
            owed=2_400_000,
            rest=3_000_000,
        ),
        Market(
            "0x3a85e619751152991742810df6ec69ce473daef99e28a64ab2340d7b7ccfee49",
            *("USDC", "WBTC", "0xDddd770BADd886dF3864029e4B377B5F6a2B6b83", _86),
            supplied=7_777_777_777,
            collateral_held=150_000,
            owed=8_765_432_100,
            rest=6_000_000_000,
        ),
    ),
    "base": (
        Market(
            "0x8793cf302b8ffd655ab97bd1c695dbd967807e8367a65cb2f4edaf1380ba1bda",
            *("USDC", "WETH", "0xFEa2D58cEfCb9fcb597723c6bAE66fFE4193aFE4", _86),
            supplied=1_234_567_890,
            collateral_held=2_000_000,
            owed=3_000_000_000,
            rest=4_000_000_000,
        ),
        Market(
            "0x1c21c59df9db44bf6f645d854ee710a8ca17b479451447e9f56758aee10a2fad",
            *("USDC", "cbETH", "0xb40d93F44411D8C09aD17d7F88195eF9b05cCD96", _86),
            supplied=900_000_000,
            collateral_held=1_000_000,
            owed=1_800_000_000,
            rest=2_000_000_000,
        ),
        Market(
            "0xdba352d93a64b17c71104cbddc6aef85cd432322a1446b5b65163cbbc615cd0c",
            *("USDC", "cbETH", "0x4756c26E01E61c7c2F86b10f4316e179db8F9425", _86),
            supplied=800_000_000,
            collateral_held=600_000,
            owed=1_000_000_000,
            rest=1_000_000_000,
        ),
    ),
}
