"""vault-d and tokenized-a: feeds, tokens and a vault of our own code at the real addresses."""

import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from devnet import known
from devnet.evm.artifacts import stand_ins
from devnet.evm.builder import Builder
from devnet.evm.feeds import shifted
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import FIRST_TIMESTAMP, Chain
from devnet.known_funds import (
    ALWAYS,
    FEED_VAULTS,
    HEALTHY,
    LEAST,
    MOST,
    OLD,
    OLD_BY,
    PLACES,
    SHARE_VAULT,
    FeedVault,
)
from devnet.known_lending import TREASURY, place_of

FUND_FEEDS = Path(__file__).with_name("fund_feeds.toml")

_TOKEN_SET_UP = "initialize(string,string,uint8,address)"
_WIDEST = Decimal(10**6)  # for prices of whole funds
# Of every stand-in the code stands here first; the contracts at real addresses are copies of it.
_PATTERNS = {name: place_of(f"pattern of {name}") for name in ("fund_aggregator", "fund_feed")}


@cache
def fund_feeds() -> list[dict[str, Any]]:
    """Return the rows of fund_feeds.toml of ethereum."""
    rows: list[dict[str, Any]] = tomllib.loads(FUND_FEEDS.read_text(encoding="utf-8"))["ethereum"]
    return rows


async def build_tokenized_a(chain: Chain, builder: Builder) -> None:
    """Build the feeds of all tokens: reports are as of the first block, one is older than its feed takes."""
    code = await _patterns(builder)
    for row in fund_feeds():
        is_old = row["name"] == OLD
        if "placed" not in row:
            reported_at = FIRST_TIMESTAMP - OLD_BY if is_old else FIRST_TIMESTAMP
            await _aggregator(builder, code, row["custom_feed"], row["name"])
            price = shifted(row["price"], PLACES)
            await builder.call(known.DEVELOPER, row["custom_feed"], "report(int256,uint256)", price, reported_at)
        if "data_feed" in row:
            healthy = HEALTHY if is_old or "placed" in row else ALWAYS
            await _data_feed(builder, code, row["data_feed"], row["custom_feed"], healthy)


async def build_vault_d(chain: Chain, builder: Builder) -> None:
    """Build the tokens with a feed, and the EIP-4626 vault."""
    code = await _patterns(builder)
    for vault in FEED_VAULTS:
        await _feed_vault(builder, code, vault)
    await _share_vault(chain, builder)


async def _feed_vault(builder: Builder, code: dict[str, bytes], vault: FeedVault) -> None:
    await builder.place(vault.address, stand_ins()["token"])
    set_up = [vault.symbol, vault.symbol, 18, known.DEVELOPER]
    await builder.call(known.DEVELOPER, vault.address, _TOKEN_SET_UP, *set_up)
    for holder, millionths in vault.shares.items():
        await builder.call(known.DEVELOPER, vault.address, "mint(address,uint256)", holder, millionths * 10**12)
    await _aggregator(builder, code, vault.aggregator, vault.symbol)
    for place, price in enumerate(reversed(vault.prices)):
        number, at = len(vault.prices) - place, FIRST_TIMESTAMP - place * vault.every
        signature = "store_round(uint80,int256,uint256)"
        await builder.call(known.DEVELOPER, vault.aggregator, signature, number, shifted(price, PLACES), at)
    await _data_feed(builder, code, vault.data_feed, vault.aggregator, ALWAYS)


async def _share_vault(chain: Chain, builder: Builder) -> None:
    vault = SHARE_VAULT
    asset = token_of(chain, vault.asset)
    await builder.place(vault.address, stand_ins()["share_vault"])
    rate = int(Decimal(vault.rate).scaleb(16))
    set_up = [vault.name, vault.symbol, asset.address, rate]
    await builder.call(known.DEVELOPER, vault.address, "initialize(string,string,address,uint256)", *set_up)
    for holder, millionths in vault.deposits.items():
        amount = known.units(asset, millionths)
        await provide(chain, builder, vault.asset, amount, vault.address)
        await builder.call(TREASURY, vault.address, "deposit(uint256,address)", amount, holder)
        # What interest is paid from.
        await builder.call(known.DEVELOPER, asset.address, "mint(address,uint256)", vault.address, amount)


async def _patterns(builder: Builder) -> dict[str, bytes]:
    """Return the runtime code of the stand-ins that stand at many addresses: they have no constructors to run there."""
    code = {}
    for name, address in _PATTERNS.items():
        await builder.place(address, stand_ins()[name])
        code[name] = await builder.runtime(address)
    return code


async def _aggregator(builder: Builder, code: dict[str, bytes], address: str, name: str) -> None:
    await builder.put(address, code["fund_aggregator"])
    bounds = [shifted(str(LEAST), PLACES), shifted(str(_WIDEST), PLACES)]
    await builder.call(known.DEVELOPER, address, "initialize(int192,int192,string)", *bounds, f"{name}/USD")


async def _data_feed(builder: Builder, code: dict[str, bytes], address: str, aggregator: str, healthy: int) -> None:
    await builder.put(address, code["fund_feed"])
    values = [aggregator, healthy, shifted(str(LEAST), PLACES), shifted(str(MOST), PLACES)]
    await builder.call(known.DEVELOPER, address, "initialize(address,uint256,int256,int256)", *values)


TOKENIZED_A = Protocol(
    name="tokenized-a",
    word="stand-in",
    note="feeds of our own code; that of mRe7YIELD reads Chainlink's mock",
    chains=("ethereum",),
    build=build_tokenized_a,
)
VAULT_D = Protocol(
    name="vault-d",
    word="stand-in",
    note="feeds, tokens and an EIP-4626 vault of our own code",
    chains=("hyperliquid",),
    build=build_vault_d,
)
