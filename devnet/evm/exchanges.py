"""dex-a on the local chains: the published contracts of its three versions, with the pools of known_exchanges.py."""

from devnet import known, known_exchanges
from devnet.evm.artifacts import linked
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.liquidity import NATIVE_COIN, Currency, Deposit, currency, deposit, in_order, root_price
from devnet.evm.protocol import Protocol
from devnet.evm.world import Chain
from devnet.known_exchanges import PROVIDER

_NOBODY = "0x" + "00" * 20
_FOREVER = 2**64
_KEY = "(address,address,uint24,int24,address)"  # a pool of the fourth version: currencies, fee, spacing, hooks


async def fund(builder: Builder, chain: Chain, token: str, amount: int, *spenders: str) -> None:
    """Give PROVIDER an amount of a token and let the spenders take all of it."""
    if token == chain.wrapped_native.address:
        await builder.call(PROVIDER, token, "deposit()", value=amount)
    else:
        await builder.call(known.DEVELOPER, token, "mint(address,uint256)", PROVIDER, amount)
    for spender in spenders:
        await builder.call(PROVIDER, token, "approve(address,uint256)", spender, known.UNLIMITED)


async def build_v2(chain: Chain, builder: Builder) -> None:
    """Place factory and router, and make the pairs of V2_PAIRS."""
    factory, router = known_exchanges.V2_FACTORY, known_exchanges.V2_ROUTER
    owner = encode_arguments("constructor(address)", [known.DEVELOPER])
    await builder.place(factory, linked("dex_a_v2_core", "UniswapV2Factory") + owner)
    behind = encode_arguments("constructor(address,address)", [factory, chain.wrapped_native.address])
    await builder.place(router, linked("dex_a_v2_periphery", "UniswapV2Router02") + behind)
    for pair in known_exchanges.V2_PAIRS:
        sides = [currency(chain, symbol) for symbol in (pair.base, pair.quote)]
        tokens = [side.address for side in sides]
        if not pair.dollars:
            await builder.call(PROVIDER, factory, "createPair(address,address)", *tokens)
            continue
        amounts = [side.amount(pair.dollars) for side in sides]
        for token, amount in zip(tokens, amounts, strict=True):
            await fund(builder, chain, token, amount, router)
        signature = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"
        await builder.call(PROVIDER, router, signature, *tokens, *amounts, 0, 0, PROVIDER, _FOREVER)


async def build_v3(chain: Chain, builder: Builder) -> None:
    """Place factory, position manager, QuoterV2 and SwapRouter, and make the chain's pools."""
    at = known_exchanges.V3_CONTRACTS[chain.slug]
    await builder.place(at["factory"], linked("dex_a_v3_core", "UniswapV3Factory"))
    behind = [at["factory"], chain.wrapped_native.address]
    short = encode_arguments("constructor(address,address)", behind)
    described = encode_arguments("constructor(address,address,address)", [*behind, _NOBODY])
    await builder.place(at["quoter"], linked("dex_a_v3_periphery", "QuoterV2") + short)
    await builder.place(at["swap"], linked("dex_a_v3_periphery", "SwapRouter") + short)
    await builder.place(at["positions"], linked("dex_a_v3_periphery", "NonfungiblePositionManager") + described)
    for pool in known_exchanges.V3_POOLS[chain.slug]:
        first, second = in_order(chain, pool.base, pool.quote)
        place = (first.address, second.address, pool.fee)
        signature = "createAndInitializePoolIfNecessary(address,address,uint24,uint160)"
        await builder.call(PROVIDER, at["positions"], signature, *place, root_price(first, second))
        for wanted in pool.ranges:
            needed = deposit(first, second, pool.spacing, wanted)
            await _fund_sides(builder, chain, (first, second), needed, at["positions"])
            position = (*place, needed.lower, needed.upper, *needed.amounts, 0, 0, PROVIDER, _FOREVER)
            types = "(address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256)"
            await builder.call(PROVIDER, at["positions"], f"mint({types})", position)


async def build_v4(chain: Chain, builder: Builder) -> None:
    """Place the pool manager, V4Quoter, StateView, what adds liquidity and what swaps, and make the chain's pools."""
    at = known_exchanges.V4_CONTRACTS[chain.slug]
    owner = encode_arguments("constructor(address)", [known.DEVELOPER])
    await builder.place(at["manager"], linked("dex_a_v4_core", "PoolManager") + owner)
    behind = encode_arguments("constructor(address)", [at["manager"]])
    for address, archive, contract in (
        (at["quoter"], "dex_a_v4_periphery", "V4Quoter"),
        (at["state"], "dex_a_v4_periphery", "StateView"),
        (known_exchanges.V4_LIQUIDITY, "dex_a_v4_core", "PoolModifyLiquidityTest"),
        (known_exchanges.V4_SWAP, "dex_a_v4_core", "PoolSwapTest"),
    ):
        await builder.place(address, linked(archive, contract) + behind)
    for pool in known_exchanges.V4_POOLS[chain.slug]:
        first, second = in_order(chain, pool.base, pool.quote)
        key = (first.address, second.address, pool.fee, pool.spacing, _NOBODY)
        price = root_price(first, second)
        await builder.call(PROVIDER, at["manager"], f"initialize({_KEY},uint160)", key, price)
        for wanted in pool.ranges:
            needed = deposit(first, second, pool.spacing, wanted)
            await _fund_sides(builder, chain, (first, second), needed, known_exchanges.V4_LIQUIDITY)
            change = (needed.lower, needed.upper, needed.liquidity, bytes(32))
            signature = f"modifyLiquidity({_KEY},(int24,int24,int256,bytes32),bytes)"
            value = needed.amounts[0] if first.address == NATIVE_COIN else 0
            await builder.call(
                PROVIDER, known_exchanges.V4_LIQUIDITY, signature, key, change, b"", value=value
            )  # what is too much comes back


async def _fund_sides(
    builder: Builder, chain: Chain, sides: tuple[Currency, Currency], needed: Deposit, spender: str
) -> None:
    for side, amount in zip(sides, needed.amounts, strict=True):
        if side.address != NATIVE_COIN:
            await fund(builder, chain, side.address, amount, spender)


EXCHANGES = (
    Protocol(
        name="dex-a V2",
        word="original",
        note="Uniswap's v2-core 1.0.1 and v2-periphery 1.1.0-beta.0",
        chains=("ethereum",),
        build=build_v2,
        archives=("dex_a_v2_core", "dex_a_v2_periphery"),
    ),
    Protocol(
        name="dex-a V3",
        word="original",
        note="Uniswap's v3-core 1.0.1 and v3-periphery 1.4.4",
        chains=tuple(known_exchanges.V3_CONTRACTS),
        build=build_v3,
        archives=("dex_a_v3_core", "dex_a_v3_periphery"),
    ),
    Protocol(
        name="dex-a V4",
        word="original",
        note="Uniswap's v4-core 1.0.2 and v4-periphery 1.0.3, with the test contracts that add liquidity and swap",
        chains=tuple(known_exchanges.V4_CONTRACTS),
        build=build_v4,
        archives=("dex_a_v4_core", "dex_a_v4_periphery"),
    ),
)
"""The versions of dex-a, each standing alone."""
