"""lend-c: market contract and rate model compiled from their published sources, at their addresses, with mock oracles.

The fixed markets are created with the parameters that the real ones have, so that their ids come out by themselves.
"""

from decimal import Decimal

from devnet import known
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.protocol import Protocol
from devnet.evm.solidity import compiled
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import PRICES, TREASURY
from devnet.known_lending_c import LEND_C, MORPHO, RATE_MODEL, Market

_MARKET = "(address,address,address,address,uint256)"
_PRICE_PLACES = 36  # of one unit of the collateral in units of the loan asset


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's markets with their positions."""
    markets = LEND_C[chain.slug]
    code = compiled("lend_c_market")
    await builder.place(MORPHO, code["Morpho"] + encode_arguments("f(address)", [known.DEVELOPER]))
    rates = compiled("lend_c_rates")["AdaptiveCurveIrm"] + encode_arguments("f(address)", [MORPHO])
    model = await builder.place(RATE_MODEL[chain.slug], rates)
    await builder.call(known.DEVELOPER, MORPHO, "enableIrm(address)", model)
    for lltv in dict.fromkeys(market.lltv for market in markets):
        await builder.call(known.DEVELOPER, MORPHO, "enableLltv(uint256)", lltv)
    await builder.call(known.DEVELOPER, MORPHO, "setFeeRecipient(address)", TREASURY)
    for oracle in dict.fromkeys(market.oracle for market in markets):
        await builder.place(oracle, code["OracleMock"])
    for market in markets:
        await _market(chain, builder, market)


def market_parameters(chain: Chain, market: Market) -> tuple[str, str, str, str, int]:
    """Return what a market's id is the digest of: loan asset, collateral, oracle, rate model, limit."""
    tokens = token_of(chain, market.loan).address, token_of(chain, market.collateral).address
    return *tokens, market.oracle, RATE_MODEL[chain.slug], market.lltv


def oracle_price(chain: Chain, market: Market) -> int:
    """Return what a market's oracle answers: the collateral's price in the loan asset, by units of either."""
    loan, collateral = token_of(chain, market.loan), token_of(chain, market.collateral)
    price = Decimal(PRICES[market.collateral]) / Decimal(PRICES[market.loan])
    return int(price.scaleb(_PRICE_PLACES + loan.decimals - collateral.decimals))


async def _market(chain: Chain, builder: Builder, market: Market) -> None:
    parameters = market_parameters(chain, market)
    loan, collateral = token_of(chain, market.loan), token_of(chain, market.collateral)
    await builder.call(TREASURY, market.oracle, "setPrice(uint256)", oracle_price(chain, market))
    await builder.call(TREASURY, MORPHO, f"createMarket({_MARKET})", parameters)
    if market.fee:
        await builder.call(known.DEVELOPER, MORPHO, f"setFee({_MARKET},uint256)", parameters, market.fee)
    supply = f"supply({_MARKET},uint256,uint256,address,bytes)"
    for holder, millionths in ((TREASURY, market.rest), (known.VITALIK, market.supplied)):
        amount = known.units(loan, millionths)
        await provide(chain, builder, market.loan, amount, MORPHO)
        await builder.call(TREASURY, MORPHO, supply, parameters, amount, 0, holder, b"")
    amount = known.units(collateral, market.collateral_held)
    await provide(chain, builder, market.collateral, amount, MORPHO)
    signature = f"supplyCollateral({_MARKET},uint256,address,bytes)"
    await builder.call(TREASURY, MORPHO, signature, parameters, amount, known.ALICE, b"")
    values = [parameters, known.units(loan, market.owed), 0, known.ALICE, TREASURY]
    await builder.call(known.ALICE, MORPHO, f"borrow({_MARKET},uint256,uint256,address,address)", *values)


PROTOCOL = Protocol(
    name="lend-c",
    word="original",
    note="compiled here: @morpho-org/morpho-blue 1.0.0, its rate model from a third party's copy; mock oracles",
    chains=tuple(LEND_C),
    build=build,
    sources=("lend_c_market", "lend_c_rates"),
)
