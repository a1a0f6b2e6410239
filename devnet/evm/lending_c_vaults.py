"""lend-c's vaults: generation V1 compiled from its published sources at listed addresses, factories and V2 of our own.

The markets are those of `lending_c`, which is built before, and one of each asset without borrowers.
"""

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.artifacts import stand_ins
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.lending_c import market_parameters
from devnet.evm.protocol import Protocol
from devnet.evm.solidity import compiled
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import TREASURY
from devnet.known_lending_c import LEND_C, MORPHO
from devnet.known_lending_c_vaults import (
    FACTORIES,
    HELD_BY_VITALIK,
    IDLE,
    SECOND,
    VAULTS,
    VAULTS_V2,
    Vault,
    VaultV2,
)

Parameters = tuple[str, str, str, str, int]

_MARKET = "(address,address,address,address,uint256)"
_NONE = "0x" + "00" * 20
_TIMELOCK = 86_400  # the least that the contract takes
# What the compiler made of MetaMorpho's state variables (it can be asked for `storageLayout`).
_TIMELOCK_SLOT = 14


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's factories, and the vaults with what lies in them."""
    factories = FACTORIES[chain.slug]
    for name, address in factories.items():
        contract = "vault_factory_v2" if name == SECOND else "vault_factory_v1"
        await builder.place(address, stand_ins()[contract] + encode_arguments("f(address)", [known.DEVELOPER]))
    vaults = VAULTS.get(chain.slug, ())
    for asset in dict.fromkeys(vault.asset for vault in vaults if IDLE in vault.supplied):
        await _create_idle(chain, builder, asset)
    for vault in vaults:
        await _vault(chain, builder, vault)
        if vault.factory:
            await builder.call(known.DEVELOPER, factories[vault.factory], "add(address)", vault.address)
    for second in VAULTS_V2.get(chain.slug, ()):
        await _vault_v2(chain, builder, second)
        await builder.call(known.DEVELOPER, factories[SECOND], "add(address)", second.address)


def queue_of(chain: Chain, vault: Vault) -> list[Parameters]:
    """Return the parameters of a vault's markets in the order of its queue."""
    return [
        idle_parameters(chain, vault.asset) if place == IDLE else market_parameters(chain, LEND_C[chain.slug][place])
        for place in vault.supplied
    ]


def idle_parameters(chain: Chain, asset: str) -> Parameters:
    """Return the parameters of an asset's market without borrowers."""
    return token_of(chain, asset).address, _NONE, _NONE, _NONE, 0


def market_id(parameters: Parameters) -> bytes:
    """Return the id of a market."""
    return keccak(encode(["address", "address", "address", "address", "uint256"], parameters))


async def _create_idle(chain: Chain, builder: Builder, asset: str) -> None:
    await builder.call(known.DEVELOPER, MORPHO, "enableIrm(address)", _NONE)
    await builder.call(known.DEVELOPER, MORPHO, "enableLltv(uint256)", 0)
    await builder.call(TREASURY, MORPHO, f"createMarket({_MARKET})", idle_parameters(chain, asset))


async def _vault(chain: Chain, builder: Builder, vault: Vault) -> None:
    asset = token_of(chain, vault.asset)
    values = [known.DEVELOPER, MORPHO, _TIMELOCK, asset.address, vault.name, vault.symbol]
    creation = compiled("lend_c_vault")["MetaMorpho"]
    made = encode_arguments("f(address,address,uint256,address,string,string)", values)
    await builder.place(vault.address, creation + made)
    await _list_markets(
        builder, vault, queue_of(chain, vault), [known.units(asset, one) for one in vault.supplied.values()]
    )
    if vault.fee:
        await builder.call(known.DEVELOPER, vault.address, "setFeeRecipient(address)", TREASURY)
        await builder.call(known.DEVELOPER, vault.address, "setFee(uint256)", vault.fee)
    total = sum(known.units(asset, one) for one in vault.supplied.values())
    parts = {known.VITALIK: total // HELD_BY_VITALIK, TREASURY: total - total // HELD_BY_VITALIK}
    for holder, amount in parts.items():
        await provide(chain, builder, vault.asset, amount, vault.address)
        await builder.call(TREASURY, vault.address, "deposit(uint256,address)", amount, holder)


async def _list_markets(builder: Builder, vault: Vault, markets: list[Parameters], caps: list[int]) -> None:
    """Give the vault its markets. Caps wait for the timelock, longer than a world takes to build: meanwhile it is 0."""
    await builder.store(vault.address, {_TIMELOCK_SLOT: bytes(32)})
    for parameters, cap in zip(markets, caps, strict=True):
        await builder.call(known.DEVELOPER, vault.address, f"submitCap({_MARKET},uint256)", parameters, cap)
        await builder.call(known.DEVELOPER, vault.address, f"acceptCap({_MARKET})", parameters)
    await builder.store(vault.address, {_TIMELOCK_SLOT: _TIMELOCK.to_bytes(32, "big")})
    queue = [market_id(parameters) for parameters in markets]
    await builder.call(known.DEVELOPER, vault.address, "setSupplyQueue(bytes32[])", queue)


async def _vault_v2(chain: Chain, builder: Builder, vault: VaultV2) -> None:
    asset = token_of(chain, vault.asset)
    made = encode_arguments("f(string,string,address)", [vault.name, vault.symbol, asset.address])
    await builder.place(vault.address, stand_ins()["vault_v2"] + made)
    for holder, millionths in vault.deposited.items():
        amount = known.units(asset, millionths)
        await provide(chain, builder, vault.asset, amount, vault.address)
        await builder.call(TREASURY, vault.address, "deposit(uint256,address)", amount, holder)
    interest = known.units(asset, vault.interest)
    await provide(chain, builder, vault.asset, interest, vault.address)
    await builder.call(TREASURY, asset.address, "transfer(address,uint256)", vault.address, interest)


PROTOCOL = Protocol(
    name="lend-c vaults",
    word="original",
    note="V1 compiled here from a third party's copy; stand-ins: both generations' factories, V2",
    chains=tuple(FACTORIES),
    build=build,
    sources=("lend_c_market", "lend_c_rates", "lend_c_vault"),
)
