"""The vaults of lend-c on local chains: the original contract over the original markets, and stand-ins beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.lending_c_vaults import market_id, queue_of
from devnet.evm.treasury import token_of
from devnet.known_lending_c import LEND_C, MORPHO
from devnet.known_lending_c_vaults import CURRENT, FACTORIES, HELD_BY_VITALIK, SECOND, VAULTS, VAULTS_V2
from tests.e2e.devnet_reads import call_raw, read

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
FIRST_GENERATION = [(slug, place) for slug, vaults in VAULTS.items() for place in range(len(vaults))]
SECOND_GENERATION = [(slug, place) for slug, vaults in VAULTS_V2.items() for place in range(len(vaults))]


async def answers(node: Node, to: str, signature: str, arguments: list[object], *types: str) -> Any:
    """The decoded answer of several values."""
    return decode(types, await call_raw(node, to, encode_call(signature, arguments)))


@pytest.mark.parametrize(("slug", "place"), FIRST_GENERATION)
async def test_a_vault_lies_in_its_markets(full_devnet: Devnet, slug: str, place: int) -> None:
    node, vault = full_devnet.nodes[slug], VAULTS[slug][place]
    asset = token_of(node.chain, vault.asset)
    assert await read(node, vault.address, "asset()", [], "address") == asset.address.lower()
    assert await read(node, vault.address, "symbol()", [], "string") == vault.symbol
    assert await read(node, vault.address, "fee()", [], "uint96") == vault.fee
    assert await read(node, vault.address, "timelock()", [], "uint256") == 86_400
    queue = queue_of(node.chain, vault)
    assert await read(node, vault.address, "withdrawQueueLength()", [], "uint256") == len(queue)
    for at, (parameters, supplied) in enumerate(zip(queue, vault.supplied.values(), strict=True)):
        key = market_id(parameters)
        assert await read(node, vault.address, "withdrawQueue(uint256)", [at], "bytes32") == key
        asked = [key, vault.address]
        shares, _, _ = await answers(node, MORPHO, "position(bytes32,address)", asked, "uint256", "uint128", "uint128")
        assets, all_shares, *_ = await answers(node, MORPHO, "market(bytes32)", [key], *["uint128"] * 6)
        assert shares * assets // all_shares == pytest.approx(known.units(asset, supplied), rel=1e-5)
    total = await read(node, vault.address, "totalAssets()", [], "uint256")
    assert total > sum(known.units(asset, one) for one in vault.supplied.values())  # it has earned
    held = await read(node, vault.address, "balanceOf(address)", [known.VITALIK], "uint256")
    supply = await read(node, vault.address, "totalSupply()", [], "uint256")
    assert held / supply == pytest.approx(1 / HELD_BY_VITALIK, rel=1e-6)


@pytest.mark.parametrize(("slug", "place"), FIRST_GENERATION)
async def test_its_factory_alone_knows_a_vault(full_devnet: Devnet, slug: str, place: int) -> None:
    node, vault = full_devnet.nodes[slug], VAULTS[slug][place]
    for name, factory in FACTORIES[slug].items():
        if name != SECOND:
            known_there = await read(node, factory, "isMetaMorpho(address)", [vault.address], "bool")
            assert known_there is (name == vault.factory)
    assert not await read(node, FACTORIES[slug][SECOND], "isVaultV2(address)", [vault.address], "bool")


@pytest.mark.parametrize(("slug", "place"), SECOND_GENERATION)
async def test_a_vault_of_the_second_generation_is_a_stand_in(full_devnet: Devnet, slug: str, place: int) -> None:
    node, vault = full_devnet.nodes[slug], VAULTS_V2[slug][place]
    asset = token_of(node.chain, vault.asset)
    total = await read(node, vault.address, "totalAssets()", [], "uint256")
    assert total == sum(known.units(asset, one) for one in (*vault.deposited.values(), vault.interest))
    assert await read(node, vault.address, "decimals()", [], "uint8") == 18
    assert await read(node, vault.address, "convertToAssets(uint256)", [10**18], "uint256") > 10**asset.decimals
    assert await read(node, FACTORIES[slug][SECOND], "isVaultV2(address)", [vault.address], "bool")
    assert not await read(node, FACTORIES[slug][CURRENT], "isMetaMorpho(address)", [vault.address], "bool")


async def test_the_vaults_leave_the_markets_lent_out(full_devnet: Devnet) -> None:
    """More than half of every market is owed, so that interest matters."""
    for slug, markets in LEND_C.items():
        for market in markets:
            key = bytes.fromhex(market.market_id[2:])
            supplied, _, borrowed, *_ = await answers(
                full_devnet.nodes[slug], MORPHO, "market(bytes32)", [key], *["uint128"] * 6
            )
            assert supplied / 2 < borrowed < supplied
