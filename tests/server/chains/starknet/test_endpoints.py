"""Health, heads, chainRpc, and endpoints that are dead, behind or of another chain."""

from __future__ import annotations

import json

import pytest

from devnet import known_starknet as known
from server.chains.view import ReadView
from server.errors import EntryPointMissing, InvalidArgument, Reverted, UpstreamUnavailable
from tests.server.chains.starknet.fronts import front

pytestmark = pytest.mark.devnet

DEAD = "http://127.0.0.1:9"
# The selector of `burst`, which always fails.
BURST = "0x2afe4945a56e96fa3dc67a39135dafc625aae9abf24bb89393d39f3a7c6c738"


def call(token, selector):
    request = {"contract_address": token, "entry_point_selector": selector, "calldata": []}
    return json.dumps([request, "latest"]).encode()


async def test_health_and_height_are_the_nodes(driver, node):
    head = await node.call("starknet_blockNumber")
    assert driver.last_state() is None or driver.last_state() == "ok"
    health = await driver.read_health()
    assert (health.state, health.height) == ("ok", head)
    assert health.latency is not None
    assert await driver.read_height(ReadView()) == head
    assert driver.last_state() == "ok"


async def test_a_chain_without_a_live_node_is_down(load):
    loaded = load(dead=DEAD)
    health = await loaded.read_health()
    assert (health.state, health.latency) == ("down", None)
    with pytest.raises(UpstreamUnavailable):
        await loaded.read_balance(known.BOB, ReadView())


async def test_one_dead_endpoint_of_three_is_not_noticed(load, node):
    url = node.endpoints["starknet"][0].url
    loaded = load(dead=DEAD, first=url, second=url + "/")
    for _ in range(10):
        assert (await loaded.read_balance(known.BOB, ReadView())).raw > 0


async def test_an_endpoint_that_lags_is_passed_over(load, node, session):
    """The one behind knows neither the newest block nor its transaction."""
    wanted = await node.call("devnet_transfer", known.USDC, known.BOB, "0x1")
    head = await node.call("devnet_mine", 1)

    async def lag(item, forward):
        if item["method"] == "starknet_blockNumber":
            return {"jsonrpc": "2.0", "id": item["id"], "result": head - 1}
        if item["method"] == "starknet_getBlockWithTxs":
            return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": 24, "message": "Block not found"}}
        if item["method"].startswith("starknet_getTransaction"):
            return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": 29, "message": "Transaction hash not found"}}
        return await forward(item)

    async with front(node.endpoints["starknet"][0].url, session, lag) as behind:
        loaded = load(behind=behind, ahead=node.endpoints["starknet"][0].url)
        assert (await loaded.read_receipt(wanted, ReadView())).starknet.block_number == head
        assert (await loaded.read_block_transactions(head, ReadView())).starknet.block_number == head


async def test_an_endpoint_of_another_chain_is_never_believed(load, node, session):
    async def sepolia(item, forward):
        if item["method"] == "starknet_chainId":
            return {"jsonrpc": "2.0", "id": item["id"], "result": "0x534e5f5345504f4c4941"}
        return await forward(item)

    async with front(node.endpoints["starknet"][0].url, session, sepolia) as url:
        with pytest.raises(UpstreamUnavailable, match="0x534e5f5345504f4c4941"):
            await load(wrong=url).read_height(ReadView())


async def test_reads_are_passed_on_byte_for_byte(driver, node, requests):
    with requests([1]):
        found = await driver.pass_call("starknet_getNonce", json.dumps(["latest", known.ALICE]).encode(), ReadView())
    assert json.loads(found) == await node.call("starknet_getNonce", "latest", known.ALICE)
    assert await driver.pass_call("starknet_specVersion", None, ReadView()) == b'"0.10.2"'


@pytest.mark.parametrize(
    "method",
    [
        "starknet_addInvokeTransaction",
        "starknet_subscribeNewHeads",
        "starknet_traceTransaction",
        "devnet_mine",
        "eth_call",
    ],
)
async def test_what_is_no_read_is_refused(driver, requests, method):
    with requests([]), pytest.raises(InvalidArgument) as refused:
        await driver.pass_call(method, b"[]", ReadView())
    assert refused.value.field == "method"


@pytest.mark.parametrize(
    "params", [b"[]", b"[{}]", b'[{"chunk_size": 1001}]', b'[{"chunk_size": 10, "x": 1}]', b'[{"chunk_size": true}]']
)
async def test_events_are_read_in_pages_of_bounded_size(driver, requests, params):
    with requests([]), pytest.raises(InvalidArgument) as refused:
        await driver.pass_call("starknet_getEvents", params, ReadView())
    assert refused.value.field == "params"


async def test_a_failing_contract_speaks_for_itself(driver):
    with pytest.raises(EntryPointMissing, match="no such entry point") as missing:
        await driver.pass_call("starknet_call", call(hex(int(known.OLD_TOKEN, 16)), "0x1"), ReadView())
    with pytest.raises(Reverted, match="this always fails") as reverted:
        await driver.pass_call("starknet_call", call(hex(int(known.OLD_TOKEN, 16)), BURST), ReadView())
    # The node's own words are there for the caller, too.
    for failed in (missing, reverted):
        assert failed.value.node.code is not None
        assert failed.value.node.message
