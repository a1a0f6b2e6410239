"""yield-a: factories, markets and their tokens out of the protocol's own package, over a token of ours (EIP-5115).

The factories stand at the addresses of every generation, all with the code of the newest release, so each of them
proves its own markets alone. The gauge that markets ask for rewards is the token's own: there are none.
"""

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.artifacts import linked, original, stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import Chain, Token
from devnet.known_lending import TREASURY, place_of
from devnet.known_yield_a import (
    MARKET_FACTORIES,
    ORACLE,
    ROUTER_STATIC,
    YIELD_A,
    YIELD_FACTORY,
    YieldMarket,
)

_ARCHIVE = "yield_a"
_DAY = 86_400
_GROWTH = 4 * 10**16 // (365 * _DAY)  # of the token's exchange rate, per second
_FEE = 5 * 10**14  # logarithm of the yearly rate that trading costs
_RESERVE_PERCENT = 80
_SHARE = 3 * 10**16  # of the interest, which the protocol keeps
_BLOCK_CYCLE = 11_000  # thousandths of seconds per block, ethereum's in the oracle
_LIQUIDITY_PART = 1_000  # VITALIK's part of the liquidity is one of so many
_CREATE = "createNewMarket(address,int256,int256,uint80)"
_DEPOSIT = "deposit(address,address,uint256,uint256)"
_SET_FACETS = "setFacetForSelectors((address,bytes4[])[])"
_FACETS = {
    "ActionMarketAuxStatic": (
        "getMarketState(address)",
        "getPtToAssetRate(address)",
        "getYtToAssetRate(address)",
        "getLpToAssetRate(address)",
    ),
    "ActionMarketCoreStatic": ("readMarketState(address)",),
    "ActionMintRedeemStatic": ("pyIndexCurrentViewMarket(address)", "pyIndexCurrentViewYt(address)"),
}


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's factories and markets, and on ethereum oracle and router."""
    await _factories(chain, builder)
    tokens: set[str] = set()
    for market in YIELD_A[chain.slug]:
        token, asset = market.token(chain.slug), token_of(chain, market.asset)
        if token not in tokens:
            await builder.place(token, _token_code(asset))
            tokens.add(token)
        await _market(chain, builder, market)
    if chain.slug == "ethereum":
        await _oracle(builder)
        await _router_static(builder)


async def _factories(chain: Chain, builder: Builder) -> None:
    """Place the factory of principal and yield tokens, and those of markets with their gauge controller."""
    address = YIELD_FACTORY[chain.slug]
    halves = await _halve(builder, "PendleYieldToken", linked(_ARCHIVE, "PendleYieldToken"))
    code = encode_arguments("f(address,uint256,address,uint256)", halves)
    behind = await _place(builder, "PendleYieldContractFactoryUpg", code)
    rules = [_DAY, _SHARE, _SHARE, TREASURY, known.DEVELOPER]
    await _proxy(builder, address, behind, encode_call("initialize(uint96,uint128,uint128,address,address)", rules))

    library = await _place(builder, "OracleLib")
    halves = await _halve(builder, "PendleMarketV7", linked(_ARCHIVE, "PendleMarketV7", {"OracleLib": library}))
    gauge = place_of("yield-a gauge controller")
    await builder.place(gauge, _token_code(token_of(chain, YIELD_A[chain.slug][0].asset)))
    code = encode_arguments("f(address,address,uint256,address,uint256,address)", [address, *halves, gauge])
    behind = await _place(builder, "PendleMarketFactoryV7Upg", code)
    set_up = encode_call("initialize(address,address,uint8)", [known.DEVELOPER, TREASURY, _RESERVE_PERCENT])
    for factory in MARKET_FACTORIES[chain.slug]:
        await _proxy(builder, factory, behind, set_up)


async def _market(chain: Chain, builder: Builder, market: YieldMarket) -> None:
    """Have the factories make a market; ValueError where it does not come to stand where it is known to."""
    token, made_by = market.token(chain.slug), YIELD_FACTORY[chain.slug]
    await builder.call(TREASURY, made_by, "createYieldContract(address,uint32,bool)", token, market.expiry, True)
    pair = [token, market.expiry]
    principal = await builder.read(made_by, "getPT(address,uint256)", pair, "address")
    yields = await builder.read(made_by, "getYT(address,uint256)", pair, "address")
    factory = MARKET_FACTORIES[chain.slug][market.factory]
    signature, values = _CREATE, [principal, market.scalar, market.anchor, _FEE]
    place = await builder.read(factory, signature, values, "address")
    await builder.call(TREASURY, factory, signature, *values)
    stands = tuple(map(to_checksum_address, (place, principal, yields)))
    if stands != (market.market, market.principal, market.yield_token):
        raise ValueError(f"the market of {market.asset} on {chain.slug} came to stand at {stands}")
    await _fund(chain, builder, market)


async def _fund(chain: Chain, builder: Builder, market: YieldMarket) -> None:
    """Give the market its liquidity and the wallets their tokens; the rest stays TREASURY's."""
    token, asset = market.token(chain.slug), token_of(chain, market.asset)
    amount, bought, left = (known.units(asset, each) for each in (market.liquidity, market.bought, market.left))

    async def move(what: str, receiver: str, value: int) -> None:
        await builder.call(TREASURY, what, "transfer(address,uint256)", receiver, value)

    # More than the token owes, which grows with its rate.
    await provide(chain, builder, market.asset, 8 * amount, token)
    await move(asset.address, token, 4 * amount)
    await builder.call(TREASURY, token, _DEPOSIT, TREASURY, asset.address, 4 * amount, 0)
    await move(token, market.yield_token, 2 * amount)
    await builder.call(TREASURY, market.yield_token, "mintPY(address,address)", TREASURY, TREASURY)
    await move(token, market.market, amount)
    await move(market.principal, market.market, amount)
    await builder.call(TREASURY, market.market, "mint(address,uint256,uint256)", TREASURY, amount, amount)
    shares = await builder.read(market.market, "balanceOf(address)", [TREASURY], "uint256")
    await move(market.market, known.VITALIK, shares // _LIQUIDITY_PART)
    for holder, part in ((known.VITALIK, bought), (known.ALICE, bought // 3)):
        await move(token, market.market, 2 * part)
        await builder.call(TREASURY, market.market, "swapSyForExactPt(address,uint256,bytes)", holder, part, b"")
        await builder.call(TREASURY, market.market, "skim()")
    for holder in (known.VITALIK, known.BOB):
        await move(market.yield_token, holder, left)


async def _oracle(builder: Builder) -> None:
    behind = await _place(builder, "PendlePYLpOracle")
    await _proxy(builder, ORACLE, behind, encode_call("initialize(uint16,address)", [_BLOCK_CYCLE, known.DEVELOPER]))


async def _router_static(builder: Builder) -> None:
    """Place the router that quotes, with the facets that its rates need."""
    storage = await _place(builder, "ActionStorageStatic")
    code = encode_arguments("f(address,address)", [known.DEVELOPER, storage])
    await builder.place(ROUTER_STATIC, linked(_ARCHIVE, "PendleRouterStatic") + code)
    facets = [
        (await _place(builder, name), [keccak(text=signature)[:4] for signature in signatures])
        for name, signatures in _FACETS.items()
    ]
    await builder.call(known.DEVELOPER, ROUTER_STATIC, _SET_FACETS, facets)


def _token_code(asset: Token) -> bytes:
    """Return the creation code of the token of ours over an asset."""
    values = [f"SY Local {asset.symbol}", f"SY-Local{asset.symbol}", asset.address, asset.decimals]
    signature = "f(string,string,address,uint8,address,uint256)"
    return stand_ins()["standardized_yield"] + encode_arguments(signature, [*values, known.DEVELOPER, _GROWTH])


async def _place(builder: Builder, contract: str, arguments: bytes = b"") -> str:
    """Place a contract that no proxy or address book names, and return its address."""
    return await builder.place(place_of(f"yield-a {contract}"), linked(_ARCHIVE, contract) + arguments)


async def _proxy(builder: Builder, address: str, behind: str, set_up: bytes) -> None:
    """Place a proxy and set it up as its owner."""
    await builder.place(address, original("proxy") + encode_arguments("f(address,bytes)", [behind, b""]))
    await builder.send(known.DEVELOPER, address, set_up)


async def _halve(builder: Builder, contract: str, creation: bytes) -> list[str | int]:
    """Put a contract's creation code at two addresses, as factories read it; return each with its size."""
    middle = len(creation) // 2
    found: list[str | int] = []
    for part, code in (("first", creation[:middle]), ("second", creation[middle:])):
        found += (await builder.put(place_of(f"yield-a {part} half of {contract}"), code), len(code))
    return found


PROTOCOL = Protocol(
    name="yield-a",
    word="original",
    note="@pendle/core-v2 6.11.0, its newest market factory at every generation's address, over a token of ours",
    chains=tuple(YIELD_A),
    build=build,
    archives=(_ARCHIVE,),
)
