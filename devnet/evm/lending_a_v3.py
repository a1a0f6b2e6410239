"""lend-a V3: the contracts of its own package (release 3.0) at the addresses that the markets have.

What a registry makes a proxy of on a real chain is placed as a proxy of that registry, so that the address answers;
aTokens and debt tokens stand where the configurator puts them.
"""

from decimal import Decimal

from devnet import known
from devnet.evm.artifacts import linked
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import give_back, provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import (
    CLOSE,
    LEND_A_V3,
    PRICES,
    PRICES_AT_FIRST,
    TREASURY,
    Pool,
    Reserve,
    place_of,
)

_ARCHIVE = "lend_a_v3"
_NOBODY = "0x" + "00" * 20
_RAY = 10**27
_VARIABLE = 2
_PLACES = 8  # of prices in dollars
_LIQUIDITY = 20_000_000_000  # millionths that TREASURY supplies of each asset, but for those that are dear
_DEAR = {
    **dict.fromkeys(("WBTC", "UBTC"), 2_000_000),
    **dict.fromkeys(("WETH", "wstETH", "cbETH", "UETH"), 12_000_000),
    "MKR": 10_000_000,
}
_RESERVE_INPUT = (
    "(address,address,address,uint8,address,address,address,address,string,string,string,string,string,string,bytes)"
)


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's market with its reserves and positions."""
    await set_up(chain, LEND_A_V3[chain.slug], builder)


async def set_up(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Build a market of these contracts with its reserves and positions."""
    libraries = await _libraries(builder)
    await _registry(pool, builder, libraries)
    await _oracle(chain, pool, builder)
    await _reserves(chain, pool, builder)
    await _positions(chain, pool, builder)
    await _end(chain, pool, builder)


async def extend(chain: Chain, pool: Pool, builder: Builder) -> None:
    """List reserves in a market that stands: those of `pool.set_up`, without positions."""
    await _oracle(chain, pool, builder)
    await _reserves(chain, pool, builder)


def price_source(symbol: str) -> str:
    """Return the address of the source that the oracle asks for a symbol's price."""
    return place_of(f"lend-a V3 price of {symbol}")


def dollars(price: str, places: int = _PLACES) -> int:
    """Return a price as the integer that an oracle of so many decimal places answers."""
    return int(Decimal(price).scaleb(places))


async def _libraries(builder: Builder) -> dict[str, str]:
    """Place the libraries and return their addresses by name."""
    libraries: dict[str, str] = {}
    names = (
        "SupplyLogic",
        "BorrowLogic",
        "LiquidationLogic",
        "EModeLogic",
        "BridgeLogic",
        "FlashLoanLogic",
        "PoolLogic",
    )
    for name in (*names, "ConfiguratorLogic"):
        libraries[name] = await builder.place(place_of(f"lend-a V3 {name}"), linked(_ARCHIVE, name, libraries))
    return libraries


async def _registry(pool: Pool, builder: Builder, libraries: dict[str, str]) -> None:
    """Place provider, access control, pool, configurator and data provider, and make them known to each other."""
    arguments = encode_arguments("f(string,address)", ["Local Market", known.DEVELOPER])
    provider = await builder.place(pool.provider, linked(_ARCHIVE, "PoolAddressesProvider") + arguments)
    behind = encode_arguments("f(address)", [provider])

    async def configure(signature: str, *values: object) -> None:
        await builder.call(known.DEVELOPER, provider, signature, *values)

    data_provider = await builder.place(pool.data_provider, linked(_ARCHIVE, "AaveProtocolDataProvider") + behind)
    await configure("setPoolDataProvider(address)", data_provider)
    await configure("setACLAdmin(address)", known.DEVELOPER)
    control = await builder.place(place_of("lend-a V3 access control"), linked(_ARCHIVE, "ACLManager") + behind)
    await configure("setACLManager(address)", control)
    for role in ("addPoolAdmin", "addAssetListingAdmin", "addRiskAdmin"):
        await builder.call(known.DEVELOPER, control, f"{role}(address)", known.DEVELOPER)
    for name, key, address, contract in (
        ("Pool", "POOL", pool.pool, "Pool"),
        ("PoolConfigurator", "POOL_CONFIGURATOR", pool.configurator, "PoolConfigurator"),
    ):
        proxy = linked(_ARCHIVE, "InitializableImmutableAdminUpgradeabilityProxy") + behind
        await builder.place(address, proxy)
        await configure("setAddress(bytes32,address)", key.encode().ljust(32, b"\0"), address)
        code = linked(_ARCHIVE, contract, libraries)
        code += behind if contract == "Pool" else b""
        implementation = await builder.place(place_of(f"lend-a V3 {name}"), code)
        await configure(f"set{contract}Impl(address)", implementation)


async def _oracle(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Place the oracle with a source for each asset."""
    assets = [token_of(chain, reserve.symbol).address for reserve in pool.set_up.reserves]
    sources = []
    for reserve in pool.set_up.reserves:
        price = dollars(PRICES_AT_FIRST.get(reserve.symbol, PRICES[reserve.symbol]))
        code = linked(_ARCHIVE, "MockAggregator") + encode_arguments("f(int256)", [price])
        sources.append(await builder.place(price_source(reserve.symbol), code))
    arguments = encode_arguments(
        "f(address,address[],address[],address,address,uint256)",
        [pool.provider, assets, sources, _NOBODY, _NOBODY, 10**_PLACES],
    )
    await builder.place(pool.oracle, linked(_ARCHIVE, "AaveOracle") + arguments)
    await builder.call(known.DEVELOPER, pool.provider, "setPriceOracle(address)", pool.oracle)


async def _reserves(chain: Chain, pool: Pool, builder: Builder) -> None:
    """List the assets, in their order, with their limits."""
    of_pool = encode_arguments("f(address)", [pool.pool])
    implementations = [
        await builder.place(place_of(f"lend-a V3 {name}"), linked(_ARCHIVE, name) + of_pool)
        for name in ("AToken", "StableDebtToken", "VariableDebtToken")
    ]
    # Optimal usage 80 %; variable 0, 4, 75 %; stable as if there were any.
    rates = [80 * _RAY // 100, 0, 4 * _RAY // 100, 75 * _RAY // 100, _RAY // 100, 60 * _RAY // 100]
    rates += [_RAY // 100, 8 * _RAY // 100, 20 * _RAY // 100]
    arguments = encode_arguments(f"f(address{',uint256' * 9})", [pool.provider, *rates])
    name = "DefaultReserveInterestRateStrategy"
    strategy = await builder.place(place_of(f"lend-a V3 {name}"), linked(_ARCHIVE, name) + arguments)
    symbols = [reserve.symbol for reserve in pool.set_up.reserves]
    if pool.set_up.dropped:
        symbols.insert(1, pool.set_up.dropped)
    rows = []
    for symbol in symbols:
        token = token_of(chain, symbol)
        names = [
            text
            for kind, letter in (("", "a"), (" Variable Debt", "variableDebt"), (" Stable Debt", "stableDebt"))
            for text in (f"Local{kind} {token.symbol}", f"{letter}Loc{token.symbol}")
        ]
        addresses = [strategy, token.address, TREASURY, _NOBODY]
        rows.append((*implementations, token.decimals, *addresses, *names, b""))
    for first in range(0, len(rows), 4):  # each costs some two million gas
        await _configure(pool, builder, f"initReserves({_RESERVE_INPUT}[])", rows[first : first + 4])
    if pool.set_up.dropped:
        await _configure(pool, builder, "dropReserve(address)", token_of(chain, pool.set_up.dropped).address)
    values = [CLOSE, 9_000, 9_300, 10_100, _NOBODY, "close to ether"]
    if any(reserve.category for reserve in pool.set_up.reserves):
        await _configure(pool, builder, "setEModeCategory(uint8,uint16,uint16,uint16,address,string)", *values)
    for reserve in pool.set_up.reserves:
        await _limit(chain, pool, builder, reserve)


async def _limit(chain: Chain, pool: Pool, builder: Builder, reserve: Reserve) -> None:
    asset = token_of(chain, reserve.symbol).address
    limits = [asset, reserve.ltv, reserve.threshold, reserve.bonus]
    await _configure(pool, builder, "configureReserveAsCollateral(address,uint256,uint256,uint256)", *limits)
    await _configure(pool, builder, "setReserveFactor(address,uint256)", asset, 1_500)
    if reserve.borrowing:
        await _configure(pool, builder, "setReserveBorrowing(address,bool)", asset, True)
    if reserve.category:
        await _configure(pool, builder, "setAssetEModeCategory(address,uint8)", asset, reserve.category)


async def _positions(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Supply liquidity, then the wallets' supplies and debts; what they borrow they hand over."""
    supply = "supply(address,uint256,address,uint16)"
    for reserve in pool.set_up.reserves:
        amount = known.units(token_of(chain, reserve.symbol), _DEAR.get(reserve.symbol, _LIQUIDITY))
        token = await provide(chain, builder, reserve.symbol, amount, pool.pool)
        await builder.call(TREASURY, pool.pool, supply, token.address, amount, TREASURY, 0)
    for each in pool.set_up.supplies:
        amount = known.units(token_of(chain, each.symbol), each.amount)
        token = await provide(chain, builder, each.symbol, amount, pool.pool)
        await builder.call(TREASURY, pool.pool, supply, token.address, amount, each.holder, 0)
        if not each.collateral:
            signature = "setUserUseReserveAsCollateral(address,bool)"
            await builder.call(each.holder, pool.pool, signature, token.address, False)
    for holder, category in pool.set_up.categories.items():
        await builder.call(holder, pool.pool, "setUserEMode(uint8)", category)
    for debt in pool.set_up.debts:
        token = token_of(chain, debt.symbol)
        amount = known.units(token, debt.amount)
        values = [token.address, amount, _VARIABLE, 0, debt.holder]
        await builder.call(debt.holder, pool.pool, "borrow(address,uint256,uint256,uint16,address)", *values)
        await give_back(builder, debt.holder, token, amount)


async def _end(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Freeze and pause what is, and let the prices fall that have fallen since the loans were given."""
    for reserve in pool.set_up.reserves:
        asset = token_of(chain, reserve.symbol).address
        if reserve.frozen:
            await _configure(pool, builder, "setReserveFreeze(address,bool)", asset, True)
        if reserve.paused:
            await _configure(pool, builder, "setReservePause(address,bool)", asset, True)
        if reserve.symbol in PRICES_AT_FIRST:
            word = dollars(PRICES[reserve.symbol]).to_bytes(32, "big")
            await builder.store(price_source(reserve.symbol), {0: word})  # the only variable of the source


async def _configure(pool: Pool, builder: Builder, signature: str, *values: object) -> None:
    await builder.call(known.DEVELOPER, pool.configurator, signature, *values)


PROTOCOL = Protocol(
    name="lend-a V3",
    word="original",
    note="@aave/core-v3 1.19.3, release 3.0",
    chains=tuple(LEND_A_V3),
    build=build,
    archives=(_ARCHIVE,),
)
