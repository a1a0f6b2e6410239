"""Approvals of the seeded wallet on every chain, and the transaction that takes one back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.world import load_world
from server.catalog.approvals import load_known_approvals
from server.contracts.address import checksum_address
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

WORLD = load_world()
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SYMBOLS = ["USDC", "USDT", "DAI", "WETH", "WBTC", "LINK"]


def test_the_table_has_at_most_five_spenders_and_six_tokens_for_every_chain():
    table = load_known_approvals()
    assert list(table) == list(WORLD)
    for slug, known_here in table.items():
        symbols = [token.symbol for token in known_here.tokens]
        assert symbols == [symbol for symbol in SYMBOLS if symbol in symbols], slug
        names = [spender.name for spender in known_here.spenders]
        assert len(set(names)) == len(names) <= 5, slug
        for row in (*known_here.spenders, *known_here.tokens):
            assert checksum_address(row.address.lower()) == row.address
    assert len(table["ethereum"].spenders) * len(table["ethereum"].tokens) == 30


@pytest.mark.parametrize("slug", list(WORLD))
async def test_approvals_are_what_each_token_says(client: Client, full_devnet: Devnet, slug: str):
    chain, node = WORLD[slug], full_devnet.nodes[slug]
    answer = await client.ask("getApprovals", chain=slug, address=known.VITALIK.lower())
    assert (answer.chain, answer.address) == (slug, known.VITALIK)
    assert answer.block_height == int(await node.call("eth_blockNumber"), 16)
    expected = {}
    placed = {token.address: token for token in chain.tokens}
    for token in load_known_approvals()[slug].tokens:
        for spender in chain.spenders.values():
            call = {
                "to": token.address,
                "data": "0x" + encode_call("allowance(address,address)", [known.VITALIK, spender]).hex(),
            }
            if token.address in placed:
                expected[token.address, spender] = int(await node.call("eth_call", call, "latest"), 16)
    spenders = {spender.address for spender in load_known_approvals()[slug].spenders}
    wanted = {pair: raw for pair, raw in expected.items() if raw and pair[1] in spenders}
    rows = {(row.token.address, row.spender.address): row for row in answer.approvals}
    assert {pair: int(row.allowance_raw) for pair, row in rows.items()} == wanted
    for (token_address, spender), row in rows.items():
        token = placed[token_address]
        assert int(row.allowance_raw) == known.vitalik_allowance(token, spender, chain)
        assert row.is_unlimited == (int(row.allowance_raw) == known.UNLIMITED)
        if not row.is_unlimited:
            assert row.allowance == "2500"


async def test_ethereum_row_by_row(client: Client):
    answer = await client.ask("getApprovals", chain="ethereum", address=known.VITALIK)
    assert [row.token.symbol for row in answer.approvals] == SYMBOLS
    assert {row.spender.name for row in answer.approvals} == {"Uniswap V3 SwapRouter"}
    assert all(row.is_unlimited for row in answer.approvals)
    usdc = answer.approvals[0]
    assert (usdc.token.address, usdc.allowance_raw) == (USDC, str(2**256 - 1))
    assert usdc.allowance == f"{2**256 - 1}"[:-6] + "." + f"{2**256 - 1}"[-6:]


async def test_a_wallet_without_approvals_and_a_chain_without_spenders(client: Client):
    answer = await client.ask("getApprovals", chain="ethereum", address=known.UNTOUCHED)
    assert list(answer.approvals) == []
    assert answer.block_height > WORLD["ethereum"].height
    answer = await client.ask("getApprovals", chain="berachain", address=known.VITALIK)
    assert list(answer.approvals) == []
    assert answer.block_height > WORLD["berachain"].height


async def test_approvals_in_the_past(client: Client):
    height = WORLD["base"].height
    answer = await client.ask("getApprovals", chain="base", address=known.VITALIK, blockHeight=height)
    assert answer.block_height == height
    assert {row.allowance for row in answer.approvals if not row.is_unlimited} == {"2500"}


async def test_the_revoke_transaction_works_when_it_is_sent(client: Client, full_devnet: Devnet):
    async with unchanged(full_devnet, "gnosis") as node:
        await revoke(client, full_devnet, node)


async def revoke(client: Client, full_devnet: Devnet, node: Node) -> None:
    token, spender = WORLD["gnosis"].tokens[0].address, known.BOB
    approve = {
        "from": known.ALICE,
        "to": token,
        "data": "0x" + encode_call("approve(address,uint256)", [spender, 5]).hex(),
    }
    read = {"to": token, "data": "0x" + encode_call("allowance(address,address)", [known.ALICE, spender]).hex()}
    await node.call("eth_sendTransaction", approve)
    await full_devnet.mine("gnosis")
    assert int(await node.call("eth_call", read, "latest"), 16) == 5
    unsigned = await client.ask(
        "getApprovalsRevoke", chain="gnosis", address=known.ALICE.lower(), token=token.lower(), spender=spender.lower()
    )
    assert (unsigned.to, unsigned.from_address, unsigned.value) == (token, known.ALICE, "0")
    assert unsigned.data == "0x" + encode_call("approve(address,uint256)", [spender, 0]).hex()
    await node.call("eth_sendTransaction", {"from": unsigned.from_address, "to": unsigned.to, "data": unsigned.data})
    await full_devnet.mine("gnosis")
    assert int(await node.call("eth_call", read, "latest"), 16) == 0
