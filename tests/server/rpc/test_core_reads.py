"""Every core read on every EVM chain, against what is known of the seeded world."""

from __future__ import annotations

import asyncio
import time
from decimal import Decimal
from typing import TYPE_CHECKING

import grpc
import pytest
from waypost.v1 import system_pb2
from waypost.v1.common_pb2 import REASON_NOT_FOUND

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.world import load_world
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

WORLD = load_world()
EVERY = pytest.mark.parametrize("slug", list(WORLD))


@EVERY
async def test_health(client: Client, full_devnet: Devnet, slug: str):
    health = await client.ask("getChainHealth", chain=slug)
    assert (health.chain, health.status, health.type) == (slug, system_pb2.CHAIN_STATUS_OK, "EVM")
    assert health.block_height == int(await full_devnet.nodes[slug].call("eth_blockNumber"), 16)
    assert health.latency_ms > 0
    assert abs(health.timestamp.seconds - time.time()) < 30


@EVERY
async def test_height_carries_the_hexadecimal_chain_id(client: Client, full_devnet: Devnet, slug: str):
    answer = await client.ask("getBlockHeight", chain=slug)
    assert answer.chain == hex(WORLD[slug].chain_id)
    assert answer.height == int(await full_devnet.nodes[slug].call("eth_blockNumber"), 16)


@EVERY
async def test_native_balance_now_and_then(client: Client, full_devnet: Devnet, slug: str):
    first = WORLD[slug].height
    now = await client.ask("getBalance", chain=slug, address=known.VITALIK.lower())
    assert now.chain == hex(WORLD[slug].chain_id)
    assert (now.address, now.token, now.decimals) == (known.VITALIK, load_facts()[slug].native.symbol, 18)
    assert now.balance_raw == str(known.NATIVE_AT_HEAD)
    assert Decimal(now.balance).scaleb(18) == known.NATIVE_AT_HEAD
    assert now.block_height == int(await full_devnet.nodes[slug].call("eth_blockNumber"), 16)
    then = await client.ask("getBalance", chain=slug, address=known.VITALIK, blockHeight=first)
    assert (then.block_height, then.balance_raw) == (first, str(known.NATIVE_AT_FIRST))


@EVERY
async def test_token_balance_metadata_and_allowance(client: Client, slug: str):
    chain = WORLD[slug]
    spenders = list(chain.spenders.values())
    for token in chain.tokens:
        balance, facts, allowance = await asyncio.gather(
            client.ask("getTokenBalance", chain=slug, address=known.VITALIK, token=token.address.lower()),
            client.ask("getTokenMetadata", chain=slug, address=token.address),
            client.ask(
                "getTokenAllowance", chain=slug, address=token.address, owner=known.VITALIK, spender=spenders[0]
            ),
        )
        raw = known.vitalik_at_head(token)
        assert (balance.chain, balance.token, balance.decimals) == (slug, token.address, token.decimals)
        assert (balance.balance_raw, Decimal(balance.balance).scaleb(token.decimals)) == (str(raw), raw)
        assert (facts.chain, facts.address, facts.evm.decimals) == (slug, token.address, token.decimals)
        assert (facts.evm.symbol, facts.evm.name) == (token.symbol, token.name)
        assert int(facts.evm.total_supply) >= raw
        assert allowance.allowance_raw == str(known.vitalik_allowance(token, spenders[0], chain))
        assert (allowance.is_unlimited, allowance.symbol, allowance.spender) == (True, token.symbol, spenders[0])


@EVERY
async def test_token_balance_in_the_past(client: Client, slug: str):
    token, first = WORLD[slug].tokens[0], WORLD[slug].height
    answer = await client.ask(
        "getTokenBalance", chain=slug, address=known.VITALIK, token=token.address, blockHeight=first
    )
    assert (answer.block_height, answer.balance_raw) == (first, str(known.vitalik_at_first(token)))


@EVERY
async def test_code_calls_and_gas(client: Client, full_devnet: Devnet, slug: str):
    node = full_devnet.nodes[slug]
    head = int(await node.call("eth_blockNumber"), 16)
    code, result, gas = await asyncio.gather(
        client.ask("getCode", chain=slug, address=known.PROBER),
        client.ask("simulateCall", chain=slug, to=known.PROBER, data="0x" + encode_call("answer()").hex()),
        client.ask("estimateGas", chain=slug, to=known.BOB, **{"from": known.ALICE}, value="0x1"),
    )
    truth = await node.call("eth_getCode", known.PROBER, "latest")
    assert (code.bytecode, code.bytecode_size, code.is_contract) == (truth, (len(truth) - 2) // 2, True)
    assert (code.block_height, result.block_height, gas.block_height) == (head, head, head)
    assert result.result == "0x" + f"{42:064x}"
    assert (gas.gas_estimate, gas.gas_estimate_hex) == (21_000, "0x5208")


@EVERY
async def test_blocks(client: Client, full_devnet: Devnet, slug: str):
    number = WORLD[slug].height + known.CROWDED_AT
    truth = await full_devnet.nodes[slug].call("eth_getBlockByNumber", hex(number), False)
    by_number = await client.ask("getBlockByNumber", items=[{"chain": slug, "block": str(number)}])
    by_hash = await client.ask("getBlockByHash", items=[{"chain": slug, "hash": truth["hash"]}])
    full = await client.ask("getBlockTransactions", chain=slug, blockNumber=str(number))
    [row], [hash_row] = by_number.results, by_hash.results
    assert (by_number.count, row.chain, row.height) == (1, slug, str(number))
    assert row.value == hash_row.value
    assert (row.value.evm.hash, list(row.value.evm.transactions)) == (truth["hash"], truth["transactions"])
    assert full.chain == slug
    assert [one.hash for one in full.evm.transactions] == truth["transactions"]
    assert full.evm.transaction_count == len(truth["transactions"]) >= known.CROWD


async def test_blocks_of_many_chains_with_errors_in_their_rows(client: Client):
    items = [{"chain": slug, "block": str(chain.height + 1)} for slug, chain in WORLD.items()]
    items.append({"chain": "ethereum", "block": "99999999999"})
    answer = await client.ask("getBlockByNumber", items=items)
    assert [row.chain for row in answer.results] == [item["chain"] for item in items]
    assert [row.WhichOneof("outcome") for row in answer.results] == ["value"] * 16 + ["error"]
    last = answer.results[-1]
    assert last.error.status == grpc.StatusCode.NOT_FOUND.value[0]
    assert (last.error.code, last.error.reason, last.WhichOneof("outcome")) == (404, REASON_NOT_FOUND, "error")
    refusal = await client.refused("getBlockByNumber", items=items[-1:])
    assert (refusal.reason, refusal.field) == ("NOT_FOUND", "params[0].block")


async def test_odd_tokens(client: Client):
    async def facts(address: str):
        return (await client.ask("getTokenMetadata", chain="ethereum", address=address)).evm

    maker = await facts(known.MKR)
    assert (maker.name, maker.symbol) == ("Maker", "MKR")
    nameless = await facts(known.NAMELESS_TOKEN)
    assert not nameless.HasField("name")
    assert not nameless.HasField("symbol")
    assert (await facts(known.UNICODE_TOKEN)).symbol == "USD₮0"
    whole = await client.ask("getTokenBalance", chain="ethereum", address=known.VITALIK, token=known.WHOLE_TOKEN)
    assert (whole.decimals, whole.balance, whole.balance_raw) == (0, str(known.ODD_BALANCE), str(known.ODD_BALANCE))
    code = await client.ask("getCode", chain="ethereum", address=known.DELEGATED)
    assert (code.delegated_to, code.bytecode_size, code.is_contract) == (known.PROBER, 23, True)
    empty = await client.ask("getCode", chain="ethereum", address=known.UNTOUCHED)
    assert (empty.bytecode, empty.is_contract, empty.HasField("delegated_to")) == ("0x", False, False)


@pytest.mark.parametrize("address", [known.DESTROYED_TOKEN, known.UNTOUCHED, known.PROBER, known.SILENT_CONTRACT])
async def test_what_is_no_token(client: Client, address: str):
    refusal = await client.refused("getTokenMetadata", chain="ethereum", address=address)
    assert (refusal.reason, refusal.field) == ("NOT_A_TOKEN", "address")


async def test_a_destroyed_token_was_one(client: Client):
    last = WORLD["ethereum"].height + known.DESTROYED_AFTER
    ask = {"chain": "ethereum", "address": known.VITALIK, "token": known.DESTROYED_TOKEN}
    assert (await client.ask("getTokenBalance", **ask, blockHeight=last)).balance_raw == str(known.ODD_BALANCE)
    assert (await client.refused("getTokenBalance", **ask, blockHeight=last + 1)).reason == "NOT_A_TOKEN"


async def test_a_hostile_token_beside_49_other_callers(client: Client):
    wrapped = WORLD["ethereum"].tokens[0]
    ask = {"chain": "ethereum", "address": known.VITALIK}
    hostile, *others = await asyncio.gather(
        client.ask("getTokenBalance", **ask, token=known.HOSTILE_TOKEN),
        *(client.ask("getTokenBalance", **ask, token=wrapped.address) for _ in range(49)),
    )
    assert hostile.balance_raw == str(known.HOSTILE_BALANCE)
    assert {answer.balance_raw for answer in others} == {str(known.vitalik_at_head(wrapped))}


async def test_reverts_are_answers_with_their_reason(client: Client):
    data = "0x" + encode_call("fail_with_reason(string)", ["not today"]).hex()
    refusal = await client.refused("simulateCall", chain="ethereum", to=known.PROBER, data=data)
    assert (refusal.reason, refusal.message) == ("REVERTED", "execution reverted: not today")
    data = "0x" + encode_call("fail_with_code(uint256)", [9]).hex()
    refusal = await client.refused("estimateGas", chain="ethereum", to=known.PROBER, data=data)
    assert refusal.reason == "REVERTED"
    assert refusal.metadata["data"].startswith(refusal.metadata["selector"])


async def test_the_gateways_own_health_asks_no_node(client: Client):
    await client.ask("getBlockHeight", chain="ethereum")
    health = await client.ask("getHealth")
    assert health.status == system_pb2.HEALTH_STATUS_OK
    assert health.uptime_seconds >= 0
    assert "ethereum" in health.chains.ok
    listed = [*health.chains.ok, *health.chains.degraded, *health.chains.down, *health.chains.unknown]
    assert sorted(listed) == sorted(load_facts())
    assert "starknet" in health.chains.unknown
