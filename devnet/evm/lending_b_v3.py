"""lend-b V3: markets of our own code with the original's read interface and arithmetic, at the 22 real addresses.

Prices come from Chainlink's published mock aggregator; `updateAnswer` of one changes them, with 0 there is no price.
"""

from decimal import Decimal

from devnet import known
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import give_back, provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import PRICES, PRICES_AT_FIRST, TREASURY
from devnet.known_lending_b import BROKEN, LEND_B_V3, Comet, price_feed

_PLACES = 8  # of prices
_BORROW, _LIQUIDATE = 72 * 10**16, 78 * 10**16  # what a collateral counts when one borrows, and before liquidation
_SUPPLY = "supplyTo(address,address,uint256)"


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's markets with their positions."""
    feeds: dict[str, tuple[str, str]] = {}
    for market in LEND_B_V3[chain.slug]:
        for symbol in (market.base, *market.collaterals):
            feeds[price_feed(symbol, market.quoted)] = symbol, market.quoted
    for address, (symbol, quoted) in feeds.items():
        first = encode_arguments("f(uint8,int256)", [_PLACES, _price(symbol, quoted, PRICES_AT_FIRST)])
        await builder.place(address, original("feed_aggregator") + first)
    for market in LEND_B_V3[chain.slug]:
        await _market(chain, builder, market)
    for address, (symbol, quoted) in feeds.items():
        if (symbol, quoted) == BROKEN:
            await builder.call(known.DEVELOPER, address, "updateAnswer(int256)", 0)
        elif symbol in PRICES_AT_FIRST:
            await builder.call(known.DEVELOPER, address, "updateAnswer(int256)", _price(symbol, quoted, PRICES))


async def _market(chain: Chain, builder: Builder, market: Comet) -> None:
    base = token_of(chain, market.base)
    values = [market.name, market.symbol, base.address, price_feed(market.base, market.quoted), base.decimals]
    described = encode_arguments("f(string,string,address,address,uint8)", values)
    await builder.place(market.address, stand_ins()["comet"] + described)
    for symbol in market.collaterals:
        token = token_of(chain, symbol)
        values = [token.address, price_feed(symbol, market.quoted), token.decimals, _BORROW, _LIQUIDATE]
        signature = "add_asset(address,address,uint8,uint64,uint64)"
        await builder.call(known.DEVELOPER, market.address, signature, *values)
    supplies = [(TREASURY, market.base, market.rest)]
    supplies += [(holder, market.base, amount) for holder, amount in market.supplies.items()]
    supplies += [(holder, symbol, amount) for (holder, symbol), amount in market.held.items()]
    for holder, symbol, millionths in supplies:
        amount = known.units(token_of(chain, symbol), millionths)
        token = await provide(chain, builder, symbol, amount, market.address)
        await builder.call(TREASURY, market.address, _SUPPLY, holder, token.address, amount)
    for holder, millionths in market.debts.items():
        amount = known.units(base, millionths)
        signature = "withdrawTo(address,address,uint256)"
        await builder.call(holder, market.address, signature, holder, base.address, amount)
        await give_back(builder, holder, base, amount)


def _price(symbol: str, quoted: str, prices: dict[str, str]) -> int:
    """Return a feed's answer: the price of a symbol in another, in dollars for ""."""
    unit = Decimal(PRICES[quoted]) if quoted else Decimal(1)
    return int((Decimal(prices.get(symbol, PRICES[symbol])) / unit).scaleb(_PLACES))


PROTOCOL = Protocol(
    name="lend-b V3",
    word="stand-in",
    note="our own code with the original's read interface and arithmetic, without rewards",
    chains=tuple(LEND_B_V3),
    build=build,
)
