"""pool-a's lending vaults by redeeming on a snapshot, stake-a by shares of the whole and by wrapping and unwrapping.

The contracts are stand-ins with the originals' arithmetic, so what is proved is decoding and arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet import known, known_marketplace
from devnet.known_exchanges import PROVIDER, VAULTS
from server.catalog.protocols import load_address_book
from server.protocols.llamalend.reader import worth
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send, units

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

WALLETS = (known.ALICE, known.VITALIK, known.BOB)
WITH_ASSETS = [vault for vault in VAULTS if vault.chain == "ethereum" and vault.supplied]


async def asset_of(node: Node, vault: str) -> tuple[str, int]:
    """Return a vault's asset, in lower case, and its decimals."""
    asset = await ask(node, vault, "asset()", types="address")
    return asset, await ask(node, asset, "decimals()", types="uint8")


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("chain", ["ethereum", "arbitrum"])
async def test_positions_are_what_redeeming_brings(asked: Asked, chain: str, wallet: str) -> None:
    node = asked.devnet.nodes[chain]
    found = await asked.wallet("GetPoolALend", chain, wallet)
    positions = {row.vault_address: row for row in found.positions}
    held = []
    for vault in (vault for vault in VAULTS if vault.chain == chain):
        shares = await ask(node, vault.address, "balanceOf(address)", wallet)
        if not shares:
            continue
        held.append(vault.address)
        asset, decimals = await asset_of(node, vault.address)
        assert units(positions[vault.address].shares, 18) == shares
        async with rewound(node):
            before = await ask(node, asset, "balanceOf(address)", wallet)
            await send(node, wallet, vault.address, "redeem(uint256)", shares)
            await mine_at(node, await now(node) + 1)
            brought = await ask(node, asset, "balanceOf(address)", wallet) - before
        assert units(positions[vault.address].assets, decimals) == brought > 0
    assert sorted(positions) == sorted(held)
    assert (wallet == known.BOB) is not held


@pytest.mark.parametrize("chain", ["ethereum", "arbitrum"])
async def test_the_vaults_are_those_of_both_factories(asked: Asked, chain: str) -> None:
    node = asked.devnet.nodes[chain]
    found = (await asked.listing("GetPoolALendMarkets", chain))["markets"]
    expected = [vault for vault in VAULTS if vault.chain == chain]
    assert [row.vault_address for row in found] == [vault.address for vault in expected]
    for row, vault in zip(found, expected, strict=True):
        asset, decimals = await asset_of(node, vault.address)
        assert row.name == (vault.name or f"{vault.collateral}/{vault.borrowed}")
        assert row.symbol == f"cv{vault.borrowed}"
        assert row.asset_address.lower() == asset
        whole = sum(vault.supplied.values()) + vault.interest - vault.fees
        assert units(row.total_assets, decimals) == whole * 10**decimals
        assert units(row.total_supply, 18) == await ask(node, vault.address, "totalSupply()")
    positions = await asked.wallet("GetPoolALend", chain, known.ALICE)
    assert [row.vault_address for row in positions.markets] == [vault.address for vault in expected]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, len(WITH_ASSETS) - 1),
    part=st.integers(1, 10**6),
    interest=st.integers(0, 10**9),
)
async def test_shares_are_worth_what_the_vault_pays(devnet: Devnet, place: int, part: int, interest: int) -> None:
    """Any part of the provider's shares, after any interest."""
    node, vault = devnet.nodes["ethereum"], WITH_ASSETS[place]
    asset, decimals = await asset_of(node, vault.address)
    async with rewound(node):
        await send(node, known.DEVELOPER, vault.address, "accrue(uint256,uint256)", interest, 0)
        await mine_at(node, await now(node) + 1)
        total_assets = await ask(node, vault.address, "totalAssets()")
        total_supply = await ask(node, vault.address, "totalSupply()")
        free = await ask(node, vault.address, "maxRedeem(address)", PROVIDER)
        shares = min(await ask(node, vault.address, "balanceOf(address)", PROVIDER), free) * part // 10**6
        before = await ask(node, asset, "balanceOf(address)", PROVIDER)
        await send(node, PROVIDER, vault.address, "redeem(uint256)", shares)
        await mine_at(node, await now(node) + 1)
        paid = await ask(node, asset, "balanceOf(address)", PROVIDER) - before
    assert worth(shares, total_assets, total_supply, decimals) == paid


async def staked(node: Node, wallet: str) -> tuple[int, int]:
    """A wallet's rebasing balance by its shares, and its wrapped balance, whose units are shares."""
    shares = await ask(node, known_marketplace.STETH, "sharesOf(address)", wallet)
    return (
        await ask(node, known_marketplace.STETH, "getPooledEthByShares(uint256)", shares),
        await ask(node, known_marketplace.WSTETH, "balanceOf(address)", wallet),
    )


@pytest.mark.parametrize("wallet", WALLETS)
async def test_staked_ether_is_a_share_of_the_whole(asked: Asked, wallet: str) -> None:
    node = asked.devnet.nodes["ethereum"]
    found = await asked.wallet("GetStakeAUserPositions", "ethereum", wallet)
    rebasing, wrapped = await staked(node, wallet)
    worth_of = await ask(node, known_marketplace.STETH, "getPooledEthByShares(uint256)", wrapped)
    assert units(found.st_eth.balance, 18) == units(found.st_eth.balance_eth, 18) == rebasing
    assert units(found.wst_eth.balance, 18) == wrapped
    # The rate is cut to 18 places before it is multiplied: a part in 10^18 of the amount, and one unit, at most.
    assert 0 <= worth_of - units(found.wst_eth.balance_st_eth, 18) <= wrapped // 10**18 + 1
    assert found.wst_eth.balance_st_eth == found.wst_eth.balance_eth
    assert units(found.total_eth_equivalent, 18) == rebasing + units(found.wst_eth.balance_eth, 18)
    one = 10**18
    per_wrapped = await ask(node, known_marketplace.STETH, "getPooledEthByShares(uint256)", one)
    per_rebasing = await ask(node, known_marketplace.STETH, "getSharesByPooledEth(uint256)", one)
    assert units(found.exchange_rates.st_eth_per_wst_eth, 18) == per_wrapped
    assert units(found.exchange_rates.wst_eth_per_st_eth, 18) == per_rebasing
    assert (found.staking_apr, found.HasField("rate_block_height")) == (3.5, False)
    assert (wallet in (known.ALICE, known.BOB)) is (rebasing > 0) is (wrapped > 0)


@pytest.mark.parametrize("chain", ["polygon", "arbitrum"])
async def test_elsewhere_the_wrapped_balance_is_worth_ethereums_rate(asked: Asked, chain: str) -> None:
    node, token = asked.devnet.nodes[chain], load_address_book().find_contract("lido", chain, "wstETH").address
    minted = 3 * 10**18 + 7
    async with rewound(node):
        wrapped = await ask(node, token, "balanceOf(address)", known.ALICE) + minted
        await send(node, known.DEVELOPER, token, "mint(address,uint256)", known.ALICE, minted)
        await mine_at(node, await now(node) + 1)
        found = await asked.wallet("GetStakeAUserPositions", chain, known.ALICE)
    ethereum = asked.devnet.nodes["ethereum"]
    rate = await ask(ethereum, known_marketplace.STETH, "getPooledEthByShares(uint256)", 10**18)
    assert not found.HasField("st_eth")
    assert units(found.wst_eth.balance, 18) == wrapped
    assert units(found.wst_eth.balance_eth, 18) == units(found.total_eth_equivalent, 18) == wrapped * rate // 10**18
    assert units(found.exchange_rates.st_eth_per_wst_eth, 18) == rate
    assert found.rate_block_height == int(await ethereum.call("eth_blockNumber"), 16)
