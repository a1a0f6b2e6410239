"""lend-a V2: the contracts of its own package at the addresses that the markets have.

Prices are quoted in ether with 18 places, on avalanche in dollars with 8, as on the real chains.
"""

from decimal import Decimal

from devnet import known
from devnet.evm.artifacts import linked
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import give_back, provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import LEND_A_V2, PRICES, PRICES_AT_FIRST, TREASURY, Pool, place_of

_ARCHIVE = "lend_a_v2"
_NOBODY = "0x" + "00" * 20
_RAY = 10**27
_STABLE, _VARIABLE = 1, 2
_IN_ETHER, _IN_DOLLARS = 18, 8  # places of prices
_LIQUIDITY = 20_000_000_000  # millionths that TREASURY supplies of each asset, but for those that are dear
_DEAR = {"WBTC": 2_000_000, "WETH": 12_000_000, "WETH.e": 12_000_000}


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's market with its reserves and positions."""
    pool = LEND_A_V2[chain.slug]
    await _registry(pool, builder)
    await _oracle(chain, pool, builder)
    await _reserves(chain, pool, builder)
    await _positions(chain, pool, builder)
    await _end(chain, pool, builder)


def price_in(pool: Pool, symbol: str, prices: dict[str, str]) -> int:
    """Return the price that the market's oracle answers for a symbol, given prices in dollars."""
    price = Decimal(prices.get(symbol, PRICES[symbol]))
    if not pool.base:
        return int(price.scaleb(_IN_DOLLARS))
    return int((price / Decimal(PRICES[pool.base])).scaleb(_IN_ETHER))


async def extend(chain: Chain, pool: Pool, builder: Builder) -> None:
    """List reserves in a market that stands: those of `pool.set_up`, without positions."""
    await _oracle(chain, pool, builder)
    await _reserves(chain, pool, builder)


def price_source(symbol: str) -> str:
    """Return the address of the source that the oracle asks for a symbol's price."""
    return place_of(f"lend-a V2 price of {symbol}")


async def _registry(pool: Pool, builder: Builder) -> None:
    """Place libraries, provider, pool, configurator, liquidation and data provider, known to each other."""
    libraries: dict[str, str] = {}
    for name in ("ReserveLogic", "GenericLogic", "ValidationLogic"):
        libraries[name] = await builder.place(place_of(f"lend-a V2 {name}"), linked(_ARCHIVE, name, libraries))
    named = encode_arguments("f(string)", ["Local Market"])
    provider = await builder.place(pool.provider, linked(_ARCHIVE, "LendingPoolAddressesProvider") + named)
    behind = encode_arguments("f(address)", [provider])

    async def set_up(signature: str, *values: object) -> None:
        await builder.call(known.DEVELOPER, provider, signature, *values)

    await set_up("setPoolAdmin(address)", known.DEVELOPER)
    await set_up("setEmergencyAdmin(address)", known.DEVELOPER)
    for address, key, contract in (
        (pool.pool, "LENDING_POOL", "LendingPool"),
        (pool.configurator, "LENDING_POOL_CONFIGURATOR", "LendingPoolConfigurator"),
    ):
        await builder.place(address, linked(_ARCHIVE, "InitializableImmutableAdminUpgradeabilityProxy") + behind)
        await set_up("setAddress(bytes32,address)", key.encode().ljust(32, b"\0"), address)
        implementation = await builder.place(place_of(f"lend-a V2 {contract}"), linked(_ARCHIVE, contract, libraries))
        await set_up(f"set{contract}Impl(address)", implementation)
    name = "LendingPoolCollateralManager"
    manager = await builder.place(place_of(f"lend-a V2 {name}"), linked(_ARCHIVE, name, libraries))
    await set_up(f"set{name}(address)", manager)
    await builder.place(pool.data_provider, linked(_ARCHIVE, "AaveProtocolDataProvider") + behind)


async def _oracle(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Place the oracle of prices with a source for each asset, and the one of stable rates."""
    assets, sources = [], []
    for reserve in pool.set_up.reserves:
        if reserve.symbol != pool.base:  # its price is one by definition
            price = encode_arguments("f(int256)", [price_in(pool, reserve.symbol, PRICES_AT_FIRST)])
            code = linked(_ARCHIVE, "MockAggregator") + price
            assets.append(token_of(chain, reserve.symbol).address)
            sources.append(await builder.place(price_source(reserve.symbol), code))
    base = token_of(chain, pool.base).address if pool.base else _NOBODY
    arguments = encode_arguments("f(address[],address[],address,address)", [assets, sources, _NOBODY, base])
    await builder.place(pool.oracle, linked(_ARCHIVE, "AaveOracle") + arguments)
    rates = await builder.place(place_of("lend-a V2 rate oracle"), linked(_ARCHIVE, "LendingRateOracle"))
    await builder.call(known.DEVELOPER, pool.provider, "setPriceOracle(address)", pool.oracle)
    await builder.call(known.DEVELOPER, pool.provider, "setLendingRateOracle(address)", rates)
    for reserve in pool.set_up.reserves:
        values = [token_of(chain, reserve.symbol).address, 3 * _RAY // 100]
        await builder.call(known.DEVELOPER, rates, "setMarketBorrowRate(address,uint256)", *values)


async def _reserves(chain: Chain, pool: Pool, builder: Builder) -> None:
    """List the assets, in their order, with their limits: each has implementations of its tokens of its own."""
    rates = [80 * _RAY // 100, 0, 4 * _RAY // 100, 75 * _RAY // 100, 2 * _RAY // 100, 60 * _RAY // 100]
    arguments = encode_arguments(f"f(address{',uint256' * 6})", [pool.provider, *rates])
    name = "DefaultReserveInterestRateStrategy"
    strategy = await builder.place(place_of(f"lend-a V2 {name}"), linked(_ARCHIVE, name) + arguments)
    for reserve in pool.set_up.reserves:
        token = token_of(chain, reserve.symbol)
        implementations = []
        for contract, prefix in (
            ("AToken", "a"),
            ("StableDebtToken", "stableDebt"),
            ("VariableDebtToken", "variableDebt"),
        ):
            texts = [f"Local {prefix} {token.symbol}", f"{prefix}{token.symbol}", _NOBODY]
            if contract == "AToken":
                described = [pool.pool, token.address, TREASURY, *texts]
                arguments = encode_arguments("f(address,address,address,string,string,address)", described)
            else:
                arguments = encode_arguments(
                    "f(address,address,string,string,address)", [pool.pool, token.address, *texts]
                )
            place = place_of(f"lend-a V2 {contract} of {token.symbol}")
            implementations.append(await builder.place(place, linked(_ARCHIVE, contract) + arguments))
        listed = [*implementations, token.decimals, strategy]
        await _configure(pool, builder, "initReserve(address,address,address,uint8,address)", *listed)
        limits = [token.address, reserve.ltv, reserve.threshold, reserve.bonus]
        await _configure(pool, builder, "configureReserveAsCollateral(address,uint256,uint256,uint256)", *limits)
        await _configure(pool, builder, "setReserveFactor(address,uint256)", token.address, 1_500)
        if reserve.borrowing:
            await _configure(pool, builder, "enableBorrowingOnReserve(address,bool)", token.address, True)


async def _positions(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Supply liquidity, then the wallets' supplies and debts; what they borrow they hand over."""
    deposit = "deposit(address,uint256,address,uint16)"
    for reserve in pool.set_up.reserves:
        amount = known.units(token_of(chain, reserve.symbol), _DEAR.get(reserve.symbol, _LIQUIDITY))
        token = await provide(chain, builder, reserve.symbol, amount, pool.pool)
        await builder.call(TREASURY, pool.pool, deposit, token.address, amount, TREASURY, 0)
    for each in pool.set_up.supplies:
        amount = known.units(token_of(chain, each.symbol), each.amount)
        token = await provide(chain, builder, each.symbol, amount, pool.pool)
        await builder.call(TREASURY, pool.pool, deposit, token.address, amount, each.holder, 0)
        if not each.collateral:
            signature = "setUserUseReserveAsCollateral(address,bool)"
            await builder.call(each.holder, pool.pool, signature, token.address, False)
    for debt in pool.set_up.debts:
        token = token_of(chain, debt.symbol)
        amount = known.units(token, debt.amount)
        values = [token.address, amount, _STABLE if debt.stable else _VARIABLE, 0, debt.holder]
        await builder.call(debt.holder, pool.pool, "borrow(address,uint256,uint256,uint16,address)", *values)
        await give_back(builder, debt.holder, token, amount)


async def _end(chain: Chain, pool: Pool, builder: Builder) -> None:
    """Freeze what is frozen and let the prices fall that have fallen since the loans were given."""
    for reserve in pool.set_up.reserves:
        if reserve.frozen:
            await _configure(pool, builder, "freezeReserve(address)", token_of(chain, reserve.symbol).address)
        if reserve.symbol in PRICES_AT_FIRST:
            word = price_in(pool, reserve.symbol, PRICES).to_bytes(32, "big")
            await builder.store(price_source(reserve.symbol), {0: word})  # the only variable of the source


async def _configure(pool: Pool, builder: Builder, signature: str, *values: object) -> None:
    await builder.call(known.DEVELOPER, pool.configurator, signature, *values)


PROTOCOL = Protocol(
    name="lend-a V2",
    word="original",
    note="@aave/protocol-v2 1.0.1",
    chains=tuple(LEND_A_V2),
    build=build,
    archives=(_ARCHIVE,),
)
