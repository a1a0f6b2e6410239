"""pool-a on the local chains: stand-ins of its three pools and of its lending vaults, as in known_exchanges.py."""

from collections.abc import Sequence
from decimal import Decimal

from devnet import known, known_exchanges, known_marketplace
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.exchanges import fund
from devnet.evm.protocol import Protocol
from devnet.evm.world import Chain
from devnet.known_exchanges import CRVUSD, ETHER_POOL, PROVIDER, THREE_POOL, StablePool, Vault, own_address

_NOBODY = "0x" + "00" * 20
_HALF = 5 * 10**9  # of the fees are the protocol's, in parts of 10**10
_EXCHANGE = "exchange(int128,int128,uint256,uint256)"
# Tokens of ethereum that stand for other reasons; all of them have 18 decimals.
_PLACED = {
    "crvUSD": CRVUSD,
    "stETH": known_marketplace.STETH,
    "wstETH": known_marketplace.WSTETH,
    "sUSDe": known_marketplace.SUSDE,
}


async def build_pools(chain: Chain, builder: Builder) -> None:
    """Place the pools and their tokens, make the first deposits and the exchanges after them."""
    await _three_pool(chain, builder)
    await _ether_pool(builder)
    await _tricrypto(chain, builder)


async def build_lending(chain: Chain, builder: Builder) -> None:
    """Place a chain's factories and vaults, supply and lend what is listed."""
    if chain.slug == "ethereum":
        named = encode_arguments("constructor(string,string)", ["Curve.Fi USD Stablecoin", "crvUSD"])
        await builder.place(CRVUSD, original("erc20") + named)
    for (slug, generation), factory in known_exchanges.LEND_FACTORIES.items():
        if slug == chain.slug:
            await builder.place(factory, stand_ins()[f"lending_factory_v{generation}"])
            await builder.call(known.DEVELOPER, factory, "initialize(address)", known.DEVELOPER)
    for vault in known_exchanges.VAULTS:
        if vault.chain == chain.slug:
            await add_vault(chain, builder, vault)


async def _three_pool(chain: Chain, builder: Builder) -> None:
    pool, tokens = THREE_POOL, [chain.token(symbol) for symbol in THREE_POOL.coins]
    coins = [token.address for token in tokens]
    units = [10**token.decimals for token in tokens]
    amounts = [whole * unit for whole, unit in zip(pool.amounts, units, strict=True)]
    await _open(builder, pool, "three_pool", "initialize(address[3],address,uint256,uint256,uint256)", coins)
    for place, coin in enumerate(coins):
        sold = sum(whole for own, _, whole in pool.exchanges if own == place)
        await fund(builder, chain, coin, amounts[place] + sold * units[place], pool.address)
    await builder.call(PROVIDER, pool.address, "add_liquidity(uint256[3],uint256)", amounts, 0)
    for place, bought, whole in pool.exchanges:
        await builder.call(PROVIDER, pool.address, _EXCHANGE, place, bought, whole * units[place], 0)
    await _share_out(builder, pool.token, 10**18)


async def _ether_pool(builder: Builder) -> None:
    pool, staked = ETHER_POOL, known_marketplace.STETH
    await _open(builder, pool, "staked_ether_pool", "initialize(address,address,uint256,uint256,uint256)", staked)
    amounts = [whole * 10**18 for whole in pool.amounts]
    sold = sum(whole for place, _, whole in pool.exchanges if place == 1) * 10**18
    # One more than is needed: a balance of stETH is a share of all ether, rounded down.
    await builder.call(PROVIDER, staked, "submit(address)", _NOBODY, value=amounts[1] + sold + 10**18)
    await builder.call(PROVIDER, staked, "approve(address,uint256)", pool.address, known.UNLIMITED)
    signature = "add_liquidity(uint256[2],uint256)"
    await builder.call(PROVIDER, pool.address, signature, amounts, 0, value=amounts[0])
    for place, bought, whole in pool.exchanges:
        value = 0 if place else whole * 10**18
        await builder.call(PROVIDER, pool.address, _EXCHANGE, place, bought, whole * 10**18, 0, value=value)
    await _share_out(builder, pool.token, 10**18)


async def _tricrypto(chain: Chain, builder: Builder) -> None:
    pool, shares = known_exchanges.TRICRYPTO, known_exchanges.TRICRYPTO_TOKEN
    tokens = [chain.token(symbol) for symbol in known_exchanges.TRICRYPTO_COINS]
    coins = [token.address for token in tokens]
    await _shares(builder, shares, "Curve.fi USD-BTC-ETH", "crv3crypto", pool)
    await builder.place(pool, stand_ins()["volatile_pool"])
    prices = [int(Decimal(known_exchanges.PRICES[symbol]) * 10**18) for symbol in known_exchanges.TRICRYPTO_PRICES]
    figures = (known_exchanges.TRICRYPTO_FIGURES, known_exchanges.TRICRYPTO_FEES, prices)
    signature = "initialize(address[3],address,uint256[2],uint256[3],uint256[2])"
    await builder.call(known.DEVELOPER, pool, signature, coins, shares, *figures)
    amounts = [
        whole * 10**token.decimals for whole, token in zip(known_exchanges.TRICRYPTO_AMOUNTS, tokens, strict=True)
    ]
    for coin, amount in zip(coins, amounts, strict=True):
        await fund(builder, chain, coin, amount, pool)
    await builder.call(PROVIDER, pool, "add_liquidity(uint256[3],uint256)", amounts, 0)
    earned = known_exchanges.TRICRYPTO_EARNED * 10 ** tokens[0].decimals
    await builder.call(known.DEVELOPER, coins[0], "mint(address,uint256)", pool, earned)
    await builder.call(known.DEVELOPER, pool, "claim_admin_fees()")
    await _share_out(builder, shares, 10**15)


async def _open(builder: Builder, pool: StablePool, contract: str, signature: str, coins: str | Sequence[str]) -> None:
    await _shares(builder, pool.token, pool.name, pool.symbol, pool.address)
    await builder.place(pool.address, stand_ins()[contract])
    arguments = (coins, pool.token, pool.amplification, pool.fee, _HALF)
    await builder.call(known.DEVELOPER, pool.address, signature, *arguments)


async def _shares(builder: Builder, address: str, name: str, symbol: str, pool: str) -> None:
    await builder.place(address, stand_ins()["pool_token"])
    await builder.call(known.DEVELOPER, address, "initialize(string,string,address)", name, symbol, pool)


async def _share_out(builder: Builder, shares: str, unit: int) -> None:
    for holder, amount in known_exchanges.POOL_SHARES.items():
        await builder.call(PROVIDER, shares, "transfer(address,uint256)", holder, amount * unit)


async def add_vault(chain: Chain, builder: Builder, vault: Vault) -> None:
    """Place a vault, supply and lend what is listed, and enter it into its factory."""
    borrowed, unit = _token(chain, vault.borrowed)
    collateral, _ = _token(chain, vault.collateral)
    await builder.place(vault.address, stand_ins()["lending_vault"])
    # Nothing stands at the controller and the exchange of a stand-in.
    parts = [own_address(f"{part} of {vault.address}") for part in ("controller", "amm")]
    signature = "initialize(address,address,address,address,address)"
    await builder.call(known.DEVELOPER, vault.address, signature, known.DEVELOPER, borrowed, collateral, *parts)
    for holder, whole in vault.supplied.items():
        await fund(builder, chain, borrowed, whole * unit, vault.address)
        await builder.call(PROVIDER, vault.address, "deposit(uint256,address)", whole * unit, holder)
    await builder.call(known.DEVELOPER, vault.address, "lend(address,uint256)", PROVIDER, vault.lent * unit)
    due = (vault.interest * unit, vault.fees * unit)
    await builder.call(known.DEVELOPER, vault.address, "accrue(uint256,uint256)", *due)
    factory = known_exchanges.LEND_FACTORIES[vault.chain, vault.generation]
    if vault.generation == 1:
        await builder.call(known.DEVELOPER, factory, "add(address,string)", vault.address, vault.name)
    else:
        await builder.call(known.DEVELOPER, factory, "add(address)", vault.address)


def _token(chain: Chain, symbol: str) -> tuple[str, int]:
    """Return a token's address and its whole unit."""
    if chain.slug == "ethereum" and symbol in _PLACED:
        return _PLACED[symbol], 10**18
    token = chain.token(symbol)
    return token.address, 10**token.decimals


POOLS = (
    Protocol(
        name="pool-a",
        word="stand-in",
        note="Curve's 3pool, stETH/ETH and tricrypto2 (which exchanges nothing), with their arithmetic",
        chains=("ethereum",),
        build=build_pools,
    ),
    Protocol(
        name="pool-a lending",
        word="stand-in",
        note="both factories of Curve's lending vaults, and vaults with the original's arithmetic of shares",
        chains=("ethereum", "arbitrum", "optimism"),
        build=build_lending,
    ),
)
"""The pools and the lending vaults of pool-a."""
