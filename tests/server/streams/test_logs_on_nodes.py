"""Streams of logs on nodes of other vendors, whose headers, blooms and unknown blocks are their own."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from eth_abi import encode
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import FollowsBlocks
from server.chains.capabilities.logs import WatchesLogs
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.streams.logs import open_log_source
from tests.server.chains.evm.log_nodes import logger_code
from tests.server.streams.clients import ADDED, REMOVED, WAIT_SECONDS
from tests.server.streams.conftest import open_gateway
from tests.vendors.nodes import run_vendor

if TYPE_CHECKING:
    from tests.server.chains.evm.nodes import Anvil

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

SLUG = "ethereum"
WORDS = (7, 1, 2)


async def deploy(node: Anvil) -> tuple[str, str]:
    """Return the address of a contract that writes logs, and of an account that may call it."""
    runtime = logger_code(3)
    creation = b"\x61" + len(runtime).to_bytes(2, "big") + bytes.fromhex("80600c6000396000f3") + runtime
    account = (await node.call("eth_accounts"))[0]
    sent = await node.call("eth_sendTransaction", {"from": account, "data": "0x" + creation.hex(), "gas": hex(500_000)})
    return (await node.mined(sent))["contractAddress"], account


async def write(node: Anvil, contract: str, account: str, count: int) -> int:
    data = "0x" + encode(["uint256"] * 4, [count, *WORDS]).hex()
    receipt = await node.send(contract, data, account, gas=hex(500_000))
    return int(receipt["blockNumber"], 16)


@pytest.mark.parametrize("vendor", ["ganache", "hardhat"])
async def test_logs_are_sent_and_taken_back(vendor: str) -> None:
    async with aiohttp.ClientSession() as session, run_vendor(vendor, session) as node:
        contract, account = await deploy(node)
        async with open_gateway(node.url) as gateway:
            request = stream_pb2.WatchLogsRequest(chain=SLUG, addresses=[contract], topic0=[f"0x{7:064x}"])
            source = open_log_source(gateway.chains, request)
            async with aclosing(gateway.followers.watch(SLUG, source)) as events:

                async def following() -> Any:
                    gateway.followers.wake(SLUG)
                    event = await asyncio.wait_for(anext(events), WAIT_SECONDS)
                    return stream_pb2.WatchLogsResponse.FromString(event.payload)

                await following()
                snapshot = await node.call("evm_snapshot")
                number = await write(node, contract, account, 2)
                sent = [await following(), await following()]
                assert [(one.kind, one.block_number, one.log.log_index) for one in sent] == [
                    (ADDED, number, 0),
                    (ADDED, number, 1),
                ]
                assert sent[0].log.address.lower() == contract.lower()
                await node.call("evm_revert", snapshot)
                assert await write(node, contract, account, 1) == number
                await write(node, contract, account, 1)
                taken = [await following(), await following()]
                assert [(one.kind, one.log.log_index, one.block_hash) for one in taken] == [
                    (REMOVED, 1, sent[0].block_hash),
                    (REMOVED, 0, sent[0].block_hash),
                ]
                again = await following()
                assert (again.kind, again.block_number) == (ADDED, number)
                assert again.block_hash != sent[0].block_hash


@pytest.mark.parametrize("vendor", ["ganache", "hardhat"])
async def test_a_block_that_the_node_does_not_have_is_no_empty_block(vendor: str) -> None:
    async with aiohttp.ClientSession() as session, run_vendor(vendor, session) as node:
        contract, account = await deploy(node)
        async with open_gateway(node.url) as gateway:
            snapshot = await node.call("evm_snapshot")
            number = await write(node, contract, account, 1)
            link = await gateway.chains.capability(SLUG, FollowsBlocks).read_link(number, ReadView())
            await node.call("evm_revert", snapshot)
            items = gateway.chains.capability(SLUG, WatchesLogs).select_logs([contract], [])
            with pytest.raises(UpstreamUnavailable):
                await items.read(link, ReadView())
