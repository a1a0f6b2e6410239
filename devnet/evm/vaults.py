"""vault-a and vault-b: stand-ins at the addresses of known_vaults.py, with what wallets have in them.

A vault holds in reserve what it can grow by within some years, so that all shares can be redeemed for their worth.
"""

from devnet import known
from devnet.evm.artifacts import stand_ins
from devnet.evm.builder import Builder
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import Chain
from devnet.known_lending import TREASURY
from devnet.known_vaults import (
    BEEFY,
    RANGE_AMOUNTS,
    YEARN,
    YEARN_APR_ORACLE,
    YEARN_V2_REGISTRIES,
    YEARN_V3_REGISTRY,
    BeefyVault,
    YearnVault,
    per_second,
)

_SHARE_DECIMALS = 18  # of vault-a
_MILLIONTH = 10 ** (_SHARE_DECIMALS - 6)


async def build_beefy(chain: Chain, builder: Builder) -> None:
    """Build the chain's vaults of vault-a, those of shares after the vaults whose shares they are."""
    for vault in BEEFY:
        if vault.chain == chain.slug:
            await _BEEFY[vault.kind](chain, builder, vault)


async def build_yearn(chain: Chain, builder: Builder) -> None:
    """Build the chain's registries, the oracle of rates and the vaults of vault-b."""
    v2, v3 = YEARN_V2_REGISTRIES[chain.slug], YEARN_V3_REGISTRY
    for address, contract in (
        (v3, "yearn_v3_registry"),
        (v2, "yearn_v2_registry"),
        (YEARN_APR_ORACLE, "yearn_apr_oracle"),
    ):
        await builder.place(address, stand_ins()[contract])
        await builder.call(known.DEVELOPER, address, "initialize(address)", known.DEVELOPER)
    for vault in YEARN:
        if vault.chain != chain.slug:
            continue
        await _yearn(chain, builder, vault)
        if vault.is_endorsed and vault.is_v3:
            await builder.call(known.DEVELOPER, v3, "endorseMultiStrategyVault(address)", vault.address)
        elif vault.is_endorsed:
            await builder.call(known.DEVELOPER, v2, "endorseVault(address)", vault.address)
        if vault.expected or vault.unlocking:
            rates = [round(rate * 10**16) for rate in (vault.expected, vault.unlocking)]
            signature = "set(address,uint256,uint256)"
            await builder.call(known.DEVELOPER, YEARN_APR_ORACLE, signature, vault.address, *rates)


async def _standard(chain: Chain, builder: Builder, vault: BeefyVault) -> None:
    await builder.place(vault.address, stand_ins()["beefy_vault"])
    want, _ = _want(chain, vault)
    described = (f"Moo {vault.id}"[:64], f"moo-{vault.id}"[:64], want, per_second(vault.percent))
    await builder.call(known.DEVELOPER, vault.address, "initialize(string,string,address,uint256)", *described)
    await _supply(chain, builder, vault, "deposit(uint256)", lambda amount, _: (amount,))


async def _erc4626(chain: Chain, builder: Builder, vault: BeefyVault) -> None:
    await builder.place(vault.address, stand_ins()["growing_vault"])
    want, decimals = _want(chain, vault)
    described = (f"Moo {vault.id}"[:64], f"moo-{vault.id}"[:64], decimals, "", want, per_second(vault.percent))
    signature = "initialize(string,string,uint8,string,address,uint256)"
    await builder.call(known.DEVELOPER, vault.address, signature, *described)
    await _supply(chain, builder, vault, "deposit(uint256,address)", lambda amount, holder: (amount, holder))


async def _pool(chain: Chain, builder: Builder, vault: BeefyVault) -> None:
    await builder.place(vault.address, stand_ins()["beefy_pool"])
    want, _ = _want(chain, vault)
    described = (f"Moo {vault.id}"[:64], f"moo-{vault.id}"[:64], want)
    await builder.call(known.DEVELOPER, vault.address, "initialize(string,string,address)", *described)
    await _supply(chain, builder, vault, "stake(uint256)", lambda amount, _: (amount,))


async def _range(chain: Chain, builder: Builder, vault: BeefyVault) -> None:
    """Deposit what all shares are worth at once, for one account, and hand the shares on."""
    await builder.place(vault.address, stand_ins()["beefy_range"])
    tokens = [token_of(chain, symbol) for symbol in vault.wants]
    described = (f"Cow {vault.id}"[:64], f"cow-{vault.id}"[:64], *(token.address for token in tokens))
    await builder.call(known.DEVELOPER, vault.address, "initialize(string,string,address,address)", *described)
    millionths = sum(vault.supplied.values())
    amounts = [
        known.units(token, millionths * each // 10**6)
        for token, each in zip(tokens, RANGE_AMOUNTS[vault.id], strict=True)
    ]
    for token, amount in zip(tokens, amounts, strict=True):
        await provide(chain, builder, token.symbol, amount, vault.address)
    shares = millionths * _MILLIONTH
    await builder.call(TREASURY, vault.address, "deposit(uint256,uint256,uint256)", *amounts, shares)
    await _hand_on(builder, vault.address, vault.supplied, _MILLIONTH)


async def _yearn(chain: Chain, builder: Builder, vault: YearnVault) -> None:
    await builder.place(vault.address, stand_ins()["growing_vault" if vault.is_v3 else "yearn_v2_vault"])
    token = token_of(chain, vault.asset)
    described = (f"{vault.asset} yVault", vault.symbol, token.decimals, vault.version, token.address)
    number = "uint8" if vault.is_v3 else "uint256"
    signature = f"initialize(string,string,{number},string,address,uint256)"
    await builder.call(known.DEVELOPER, vault.address, signature, *described, per_second(vault.percent))
    for holder, millionths in vault.supplied.items():
        amount = known.units(token, millionths)
        await provide(chain, builder, vault.asset, amount, vault.address)
        await builder.call(TREASURY, vault.address, "deposit(uint256,address)", amount, holder)
    await _reserve(chain, builder, vault.asset, known.units(token, sum(vault.supplied.values())), vault.address)


async def _supply(chain: Chain, builder: Builder, vault: BeefyVault, signature: str, arguments: object) -> None:
    """Deposit for one account, hand its shares on, and put in reserve what the vault can grow by."""
    assert callable(arguments)
    total = sum(vault.supplied.values())
    [want] = vault.wants
    other = _vault_of(chain.slug, want)
    if other is None:
        token = token_of(chain, want)
        amount, unit = known.units(token, total), 10**token.decimals
        await provide(chain, builder, want, amount, vault.address)
    else:
        amount, unit = total * _MILLIONTH, 10**_SHARE_DECIMALS
        await builder.call(TREASURY, other.address, "approve(address,uint256)", vault.address, amount)
    await builder.call(TREASURY, vault.address, signature, *arguments(amount, TREASURY))
    await _hand_on(builder, vault.address, vault.supplied, unit // 10**6)
    if other is None:
        await _reserve(chain, builder, want, amount, vault.address)
    elif vault.kind == "standard":
        await builder.call(TREASURY, other.address, "transfer(address,uint256)", vault.address, amount)


async def _hand_on(builder: Builder, shares: str, supplied: dict[str, int], millionth: int) -> None:
    for holder, millionths in supplied.items():
        if holder != TREASURY:
            await builder.call(TREASURY, shares, "transfer(address,uint256)", holder, millionths * millionth)


async def _reserve(chain: Chain, builder: Builder, symbol: str, amount: int, vault: str) -> None:
    """Let a vault hold as much again as was deposited, which it does not count."""
    token = await provide(chain, builder, symbol, amount, vault)
    await builder.call(TREASURY, token.address, "transfer(address,uint256)", vault, amount)


def _want(chain: Chain, vault: BeefyVault) -> tuple[str, int]:
    """Return the address and the decimals of what a vault of one token takes."""
    [want] = vault.wants
    other = _vault_of(chain.slug, want)
    if other is not None:
        return other.address, _SHARE_DECIMALS
    token = token_of(chain, want)
    return token.address, token.decimals


def _vault_of(chain: str, want: str) -> BeefyVault | None:
    return next((vault for vault in BEEFY if (vault.chain, vault.id) == (chain, want)), None)


_BEEFY = {"standard": _standard, "gov": _pool, "cowcentrated": _range, "erc4626": _erc4626}

VAULTS = (
    Protocol(
        name="vault-a",
        word="stand-in",
        note="our own code in the kinds of Beefy's vaults: standard, gov, cowcentrated, erc4626; a fixed growth",
        chains=tuple(dict.fromkeys(vault.chain for vault in BEEFY)),
        build=build_beefy,
    ),
    Protocol(
        name="vault-b",
        word="stand-in",
        note="our own code with the read interface of Yearn's V2 and V3 vaults, registries and rate oracle",
        chains=tuple(dict.fromkeys(vault.chain for vault in YEARN)),
        build=build_yearn,
    ),
)
"""vault-a and vault-b."""
