"""What stands on the chains: canonical tokens, heights, balances, the seeded transactions."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from eth_utils.address import to_checksum_address

from devnet import known
from devnet.evm.world import load_world
from devnet.install import STATE
from devnet.launcher import Devnet
from tests.e2e.devnet_reads import read

if TYPE_CHECKING:
    from devnet.evm.node import Node

pytestmark = pytest.mark.devnet
WORLD = load_world()


@pytest.mark.parametrize("slug", WORLD)
async def test_a_chain_is_what_it_says(full_devnet: Devnet, slug: str) -> None:
    node, chain = full_devnet.nodes[slug], WORLD[slug]
    assert int(await node.call("eth_chainId"), 16) == chain.chain_id
    assert int(await node.call("eth_blockNumber"), 16) == chain.height + known.SEEDED_BLOCKS + 1
    heads = [await node.call("eth_getBlockByNumber", tag, False) for tag in ("latest", hex(chain.height + 3))]
    assert {int(block["baseFeePerGas"], 16) for block in heads} == {chain.base_fee}
    assert int((await node.call("anvil_nodeInfo"))["environment"]["baseFee"], 16) == chain.base_fee
    safe, finalized = [await node.call("eth_getBlockByNumber", tag, False) for tag in ("safe", "finalized")]
    assert int(finalized["number"], 16) < int(safe["number"], 16) < int(heads[0]["number"], 16)


@pytest.mark.parametrize("slug", WORLD)
async def test_every_token_stands_at_its_address(full_devnet: Devnet, slug: str) -> None:
    node, chain = full_devnet.nodes[slug], WORLD[slug]
    for token in chain.tokens:
        assert await read(node, token.address, "symbol()", [], "string") == token.symbol
        assert await read(node, token.address, "name()", [], "string") == token.name
        assert await read(node, token.address, "decimals()", [], "uint8") == token.decimals
        arguments = [known.VITALIK]
        at_first = await read(node, token.address, "balanceOf(address)", arguments, "uint256", chain.height)
        assert at_first == known.vitalik_at_first(token) > 0
        at_head = await read(node, token.address, "balanceOf(address)", arguments, "uint256")
        assert at_head == known.vitalik_at_head(token) > at_first
        for spender in chain.spenders.values():
            allowed = await read(
                node, token.address, "allowance(address,address)", [known.VITALIK, spender], "uint256", chain.height
            )
            assert allowed == known.vitalik_allowance(token, spender, chain)
        # Spent by BOB out of what ALICE allowed him in the seeded blocks.
        allowed = await read(node, token.address, "allowance(address,address)", [known.ALICE, known.BOB], "uint256")
        place = len(chain.spenders)
        granted = known.units(token, 1_000_000_000 * place) if place else known.UNLIMITED
        assert allowed in (granted - 10**token.decimals, known.UNLIMITED)
        supply = await read(node, token.address, "totalSupply()", [], "uint256")
        assert supply > at_head


@pytest.mark.parametrize("slug", WORLD)
async def test_native_balances_have_a_history(full_devnet: Devnet, slug: str) -> None:
    node, chain = full_devnet.nodes[slug], WORLD[slug]

    async def balance(block: str) -> int:
        return int(await node.call("eth_getBalance", known.VITALIK, block), 16)

    assert await balance(hex(chain.height)) == known.NATIVE_AT_FIRST
    assert await balance(hex(chain.height + known.FINANCED_AT)) == known.NATIVE_AT_HEAD
    assert await balance("latest") == known.NATIVE_AT_HEAD
    assert int(await node.call("eth_getBalance", known.UNTOUCHED, "latest"), 16) == 0


async def test_symbols_and_decimals_are_those_of_the_chains() -> None:
    # Facts that every user of these chains knows, so that a slip in the data file is noticed.
    known_decimals = {("ethereum", "USDC"): 6, ("bsc", "USDC"): 18, ("bsc", "USDT"): 18, ("ethereum", "WBTC"): 8}
    for (slug, symbol), decimals in known_decimals.items():
        assert WORLD[slug].token(symbol).decimals == decimals
    assert WORLD["ethereum"].token("USDC").address == "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    assert len({chain.chain_id for chain in WORLD.values()}) == len({chain.height for chain in WORLD.values()}) == 16
    with pytest.raises(KeyError, match="plasma has no DAI"):
        WORLD["plasma"].token("DAI")


async def test_seeded_transactions_are_of_every_kind(devnet: Devnet) -> None:
    node, seeded = devnet.nodes["ethereum"], devnet.seeded["ethereum"]

    async def receipt(name: str) -> dict[str, str]:
        found: dict[str, str] = await node.call("eth_getTransactionReceipt", seeded.transactions[name])
        return found

    kinds = [await receipt(f"{name} transfer") for name in ("legacy", "access list", "dynamic fee")]
    assert [found["type"] for found in kinds] == ["0x0", "0x1", "0x2"]
    assert (await receipt("failure"))["status"] == "0x0"
    created = (await receipt("deployment"))["contractAddress"]
    assert await read(node, created, "answer()", [], "uint256") == 42
    crowded = await node.call("eth_getBlockByNumber", hex(node.chain.height + known.CROWDED_AT), False)
    assert len(crowded["transactions"]) == known.CROWD


async def test_transfers_and_approvals_leave_logs(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    approval = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"
    usdc = node.chain.token("USDC")
    span = {"fromBlock": hex(node.chain.height), "toBlock": "latest", "address": usdc.address}
    transfers = await node.call("eth_getLogs", {**span, "topics": [transfer]})
    amounts = {int(log["data"], 16) for log in transfers}
    assert known.units(usdc, 100_250_000) in amounts
    approvals = await node.call("eth_getLogs", {**span, "topics": [approval]})
    assert known.UNLIMITED in {int(log["data"], 16) for log in approvals}
    assert len(approvals) == len(node.chain.spenders) + 1


async def test_two_starts_give_the_same_hashes(devnet: Devnet) -> None:
    async with Devnet.start(["polygon"], mines=False) as other:
        assert other.seeded["polygon"] == devnet.seeded["polygon"]
        assert await _hash_of_first(other.nodes["polygon"]) == await _hash_of_first(devnet.nodes["polygon"])


async def _hash_of_first(node: Node) -> str:
    block = await node.call("eth_getBlockByNumber", hex(node.chain.height), False)
    return str(block["hash"])


def test_the_gateway_and_the_devnet_mean_the_same_chains() -> None:
    table = tomllib.loads((STATE.parent / "server" / "chains" / "chains.toml").read_text())["chains"]
    theirs = {slug: (row["chain_id"], row["native"]["symbol"]) for slug, row in table.items() if row["family"] == "evm"}
    assert {slug: (chain.chain_id, chain.native) for slug, chain in WORLD.items()} == theirs


def test_every_address_is_checksummed_and_used_once() -> None:
    constants = [value for name, value in vars(known).items() if name.isupper() and isinstance(value, str)]
    for chain in WORLD.values():
        tokens = [token.address for token in chain.tokens]
        assert len(set(tokens)) == len(tokens)
        for address in (*tokens, *chain.spenders.values(), *constants):
            assert address == to_checksum_address(address)
