"""pool-a's lending vaults on the local chains: both factories' lists, and shares by the original's arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi.abi import decode

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.known_exchanges import LEND_FACTORIES, VAULTS, Vault
from devnet.launcher import Devnet
from devnet.local_chain import NodeError
from server.catalog.protocols import load_address_book
from tests.e2e.devnet_reads import call_raw, read
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node

pytestmark = pytest.mark.devnet

CHAINS = ("ethereum", "arbitrum", "optimism")
NOBODY = "0x" + "00" * 20
KEYS = {1: "oneWayLendingFactory", 2: "lendFactoryV2"}
MARKET = "(address,address,address,address,address,address,address)"


@pytest.fixture(scope="module")
async def lending() -> AsyncIterator[Devnet]:
    """The chains that have lending vaults; blocks are made by the tests."""
    async with Devnet.start(CHAINS, mines=False) as running:
        yield running


def listed(chain: str, generation: int) -> list[Vault]:
    return [vault for vault in VAULTS if (vault.chain, vault.generation) == (chain, generation)]


async def number(node: Node, to: str, signature: str, *arguments: object) -> int:
    return int(await read(node, to, signature, arguments, "uint256"))


@pytest.mark.parametrize(("chain", "generation"), LEND_FACTORIES)
async def test_a_factory_lists_its_vaults(lending: Devnet, chain: str, generation: int) -> None:
    node, factory = lending.nodes[chain], LEND_FACTORIES[chain, generation]
    contracts = load_address_book().protocols["curve-llamalend"].contracts[chain]
    assert contracts[KEYS[generation]].address == factory
    vaults = listed(chain, generation)
    assert await number(node, factory, "market_count()") == len(vaults) > 0
    for place, vault in enumerate(vaults):
        if generation == 1:
            assert await read(node, factory, "vaults(uint256)", [place], "address") == vault.address.lower()
            assert await read(node, factory, "names(uint256)", [place], "string") == vault.name
            continue
        market = await read(node, factory, "markets(uint256)", [place], MARKET)
        assert market[0] == vault.address.lower()
        for index, name in ((1, "controller"), (2, "amm"), (3, "collateral_token"), (4, "borrowed_token")):
            assert market[index] == await read(node, vault.address, f"{name}()", [], "address") != NOBODY
        assert await number(node, factory, "vaults_index(address)", vault.address) == place
        for absent in ("names(uint256)", "vaults(uint256)"):  # the newest original has neither
            with pytest.raises(NodeError):
                await call_raw(node, factory, encode_call(absent, [place]))
    end = len(vaults)
    if generation == 1:
        assert await read(node, factory, "vaults(uint256)", [end], "address") == NOBODY
    else:
        with pytest.raises(NodeError):
            await call_raw(node, factory, encode_call("markets(uint256)", [end]))


@pytest.mark.parametrize("chain", CHAINS)
async def test_one_vault_has_no_name_in_the_first_factory(chain: str) -> None:
    named = [vault.name for vault in listed(chain, 1)]
    assert any(named)
    assert chain == "optimism" or "" in named


@pytest.mark.parametrize("vault", VAULTS, ids=lambda vault: f"{vault.chain}-{vault.address}")
async def test_shares_are_worth_what_the_equation_says(lending: Devnet, vault: Vault) -> None:
    node = lending.nodes[vault.chain]
    asset = await read(node, vault.address, "asset()", [], "address")
    symbol = await read(node, asset, "symbol()", [], "string")
    assert symbol == vault.borrowed
    assert await read(node, vault.address, "name()", [], "string") == f"Curve Vault for {symbol}"
    assert await read(node, vault.address, "symbol()", [], "string") == f"cv{symbol}"
    assert await number(node, vault.address, "decimals()") == 18
    decimals = await number(node, asset, "decimals()")
    unit, scale = 10**decimals, 10 ** (18 - decimals)
    assets = await number(node, vault.address, "totalAssets()")
    assert assets == (sum(vault.supplied.values()) + vault.interest - vault.fees) * unit
    supply = await number(node, vault.address, "totalSupply()")
    worth = {}
    for holder in vault.supplied:
        shares = await number(node, vault.address, "balanceOf(address)", holder)
        worth[holder] = shares * (assets * scale + 1) // ((supply + 1000) * scale)
        assert await number(node, vault.address, "convertToAssets(uint256)", shares) == worth[holder]
        # Everybody has a part of the interest, and shares start at a thousand to one.
        assert worth[holder] >= vault.supplied[holder] * unit - 1
        assert 990 < shares / (vault.supplied[holder] * unit * scale) < 1010
    assert sum(worth.values()) <= assets
    price = await number(node, vault.address, "pricePerShare()")
    assert price == (10**18 * (assets * scale + 1) // (supply + 1000) if supply else 10**15)
    if known.ALICE not in vault.supplied:
        assert await number(node, vault.address, "balanceOf(address)", known.ALICE) == 0
        return
    async with rewound(node):
        had = await number(node, asset, "balanceOf(address)", known.ALICE)
        shares = await number(node, vault.address, "balanceOf(address)", known.ALICE)
        data = to_hex(encode_call("redeem(uint256)", [shares]))
        sent = await node.call("eth_sendTransaction", {"from": known.ALICE, "to": vault.address, "data": data})
        await node.call("evm_mine")
        assert (await node.call("eth_getTransactionReceipt", sent))["status"] == "0x1"
        assert await number(node, asset, "balanceOf(address)", known.ALICE) - had == worth[known.ALICE]


async def test_two_wallets_have_positions_on_every_chain_and_one_has_none(lending: Devnet) -> None:
    for chain, node in lending.nodes.items():
        for holder, has in ((known.ALICE, True), (known.VITALIK, True), (known.BOB, False)):
            shares = [
                decode(["uint256"], await call_raw(node, vault.address, encode_call("balanceOf(address)", [holder])))[0]
                for vault in VAULTS
                if vault.chain == chain
            ]
            assert any(shares) is has
