"""lend-b V2: a fork's contracts at the five cTokens' addresses; the original's bytecode is not published.

The fork accrues by block as the original does. Its test contract of the native market stands for cETH; prices and
leave to change settings come from a contract of ours.
"""

from decimal import Decimal

from devnet import known
from devnet.evm.artifacts import linked, stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import give_back, provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import PRICES, TREASURY, place_of
from devnet.known_lending_b import COMPTROLLER, ENTERED, LEND_B_V2, CToken

_ARCHIVE = "lend_b_v2"
_NATIVE = "ETH"
_PLACES = 18  # of native amounts, factors and rates
_CTOKEN_PLACES = 8
_PRICE_PLACES = 36  # less the asset's own
_NO_LIMIT = 2**255


async def build(chain: Chain, builder: Builder) -> None:
    """Build the five markets with their positions."""
    support = await builder.place(place_of("lend-b V2 support"), stand_ins()["ctoken_support"])
    lens = await builder.place(place_of("lend-b V2 lens"), linked(_ARCHIVE, "ComptrollerLens"))
    await builder.place(COMPTROLLER, linked(_ARCHIVE, "Comptroller"))
    for signature, address in (
        ("_setAccessControl(address)", support),
        ("_setPriceOracle(address)", support),
        ("_setComptrollerLens(address)", lens),
    ):
        await builder.call(known.DEVELOPER, COMPTROLLER, signature, address)
    await builder.call(known.DEVELOPER, COMPTROLLER, "_setCloseFactor(uint256)", 5 * 10**17)
    # 2 % base, 10 % slope up to 80 %, then 109 %, as a year of the fork's blocks.
    rates = encode_arguments("f(uint256,uint256,uint256,uint256)", [2 * 10**16, 10**17, 109 * 10**16, 8 * 10**17])
    model = await builder.place(place_of("lend-b V2 rates"), linked(_ARCHIVE, "JumpRateModel") + rates)
    for market in LEND_B_V2:
        await _market(chain, builder, market, model, support)
    by_symbol = {market.symbol: market.address for market in LEND_B_V2}
    for holder, symbols in ENTERED.items():
        entered = [by_symbol[symbol] for symbol in symbols]
        await builder.call(holder, COMPTROLLER, "enterMarkets(address[])", entered)
    for market in LEND_B_V2:
        for holder, millionths in market.supplies.items():
            await _supply(chain, builder, market, holder, millionths)
    for market in LEND_B_V2:
        for holder, millionths in market.debts.items():
            amount = _units(chain, market, millionths)
            await builder.call(holder, market.address, "borrow(uint256)", amount)
            if market.underlying != _NATIVE:
                await give_back(builder, holder, token_of(chain, market.underlying), amount)


async def _market(chain: Chain, builder: Builder, market: CToken, model: str, support: str) -> None:
    places = _PLACES if market.underlying == _NATIVE else token_of(chain, market.underlying).decimals
    rate = 2 * 10 ** (16 + places - _CTOKEN_PLACES)  # 0.02 of the asset for one cToken
    described = [COMPTROLLER, model, rate, f"Compound {market.underlying}", market.symbol, _CTOKEN_PLACES]
    if market.underlying == _NATIVE:
        arguments = encode_arguments(
            "f(address,address,uint256,string,string,uint8,address)", [*described, known.DEVELOPER]
        )
        await builder.place(market.address, linked(_ARCHIVE, "MockVBNB") + arguments)
    else:
        values = [token_of(chain, market.underlying).address, *described, known.DEVELOPER]
        arguments = encode_arguments("f(address,address,address,uint256,string,string,uint8,address)", values)
        await builder.place(market.address, linked(_ARCHIVE, "VBep20Immutable") + arguments)
    price = int(Decimal(PRICES[market.underlying]).scaleb(_PRICE_PLACES - places))
    await builder.call(known.DEVELOPER, support, "report(address,uint256)", market.address, price)
    for signature, values in (
        ("_supportMarket(address)", [market.address]),
        ("_setCollateralFactor(address,uint256)", [market.address, market.factor * 10**14]),
        ("_setMarketSupplyCaps(address[],uint256[])", [[market.address], [_NO_LIMIT]]),
    ):
        await builder.call(known.DEVELOPER, COMPTROLLER, signature, *values)
    await builder.call(known.DEVELOPER, market.address, "_setReserveFactor(uint256)", 75 * 10**15)
    await _supply(chain, builder, market, TREASURY, market.rest)


async def _supply(chain: Chain, builder: Builder, market: CToken, holder: str, millionths: int) -> None:
    amount = _units(chain, market, millionths)
    if market.underlying == _NATIVE:
        await builder.call(holder, market.address, "mint()", value=amount)
        return
    await provide(chain, builder, market.underlying, amount, market.address)
    await builder.call(TREASURY, market.address, "mintBehalf(address,uint256)", holder, amount)


def _units(chain: Chain, market: CToken, millionths: int) -> int:
    """Return an amount of a market's asset as the raw integer."""
    if market.underlying == _NATIVE:
        return millionths * int(10 ** (_PLACES - 6))
    return known.units(token_of(chain, market.underlying), millionths)


PROTOCOL = Protocol(
    name="lend-b V2",
    word="fork",
    note="@venusprotocol/venus-protocol 0.7.0; cETH is its test contract of the native market",
    chains=("ethereum",),
    build=build,
    archives=(_ARCHIVE,),
)
