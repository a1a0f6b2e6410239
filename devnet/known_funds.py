"""What is set up of vault-d and tokenized-a on the local chains: feeds with their rounds, shares, one EIP-4626 vault.

Amounts are millionths of a whole token, prices decimal text in the feed's denomination. Addresses:
midas-apps/contracts, config/constants/addresses.ts, commit bfe2b5f, hyperevm; that of the EIP-4626 vault:
DefiLlama/DefiLlama-Adapters. The feeds of tokenized-a are those of evm/fund_feeds.toml.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from devnet import known

DAY = 86_400
HEALTHY = 30 * DAY
"""How old a report may be in seconds, as the issuer's feeds have it."""

ALWAYS = 3_650 * DAY
"""The same for feeds without reports on the devnet, so that they stay healthy whenever it is started."""

LEAST, MOST = Decimal("0.1"), Decimal(1000)
"""Between what a report has to lie, as most of the issuer's feeds have it."""

PLACES = 8  # of reports


@dataclass(frozen=True, slots=True)
class FeedVault:
    """A token of vault-d with a data feed.

    It reported `prices`, the last one as of the chain's first block, `every` so many seconds.
    """

    address: str
    symbol: str
    data_feed: str
    aggregator: str
    denomination: str
    prices: tuple[str, ...]
    every: int
    shares: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShareVault:
    """An EIP-4626 vault of vault-d: its asset, a yearly rate in percent, deposits by wallet."""

    address: str
    name: str
    symbol: str
    asset: str
    rate: str
    deposits: dict[str, int] = field(default_factory=dict)


HB_USDT = FeedVault(
    "0x5e105266db42f78FA814322Bce7f388B4C2e61eb",
    *("hbUSDT", "0x2812076947e07FF85734afEa2c438BA6dcEb2083", "0xAc3d811f5ff30Aa3ab4b26760d0560faf379536A", "USD"),
    prices=tuple(str(Decimal("1.0412") + Decimal("0.0003") * day) for day in range(12)),
    every=DAY,
    shares={known.VITALIK: 1_234_567_890, known.ALICE: 2_000_000_000_000},
)
LST_HYPE = FeedVault(
    "0x81e064d0eB539de7c3170EDF38C1A42CBd752A76",
    *("lstHYPE", "0x7d876E544F12bD3347B9e904F0fb2d83bEd59a27", "0x2b959a9Deb8e62FaaEA1b226F3bbcbcC0Af31560", "HYPE"),
    prices=("1.0101", "1.0113", "1.0124"),
    every=5 * DAY,
    shares={known.VITALIK: 40_500_000, known.BOB: 90_000_000_000},
)
# All of its rounds are of less than a week.
HB_XAUT = FeedVault(
    "0x6EB6724D8D3D4FF9E24d872E8c38403169dC05f8",
    *("hbXAUt", "0xdb981793d483B612AF23e29F0282aD23Fe6C3845", "0xf3dB9f59f9C90495D1c9556fC5737A679720921d", "XAUt"),
    prices=("1.0033", "1.0034"),
    every=3 * DAY,
    shares={known.ALICE: 12_000_000},
)
FEED_VAULTS = (HB_USDT, LST_HYPE, HB_XAUT)
SHARE_VAULT = ShareVault(
    "0x53A333e51E96FE288bC9aDd7cdC4B1EAD2CD2FfA",
    *("Gauntlet USDT0", "gtUSDT0", "USDT0"),
    rate="7.25",
    deposits={known.VITALIK: 5_000_500_000, known.BOB: 750_000_000_000},
)

OLD = "mBASIS"
"""The token of tokenized-a whose last report is `OLD_BY` old at the first block, more than its feed takes."""

OLD_BY = 40 * DAY
