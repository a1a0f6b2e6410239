"""Streams of a whole gateway whose endpoints hang, lag, lie and reorder meanwhile, over each way they are served."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.e2e.gateway import run_gateway_on
from tests.e2e.streams import WAYS, LogClient, Target, open_watch
from tests.e2e.test_streams_reorganisations import node_logs
from tests.faults.simulator import FaultyNode, Request, cut, drop, honest, shuffled, silence, spoil, write_answer
from tests.server.chains.evm.log_nodes import LOGGER, place_loggers, write_logs
from tests.server.chains.evm.nodes import Anvil
from tests.server.streams.clients import REMOVED, ROLLED_BACK, BlockClient
from tests.server.streams.conftest import chain_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.simulator import Fault

pytestmark = pytest.mark.devnet

# A quick one, so that the follower looks once a second.
SLUG, GENESIS = "arbitrum", ("--chain-id", "42161", "--slots-in-an-epoch", "32")
BEGIN = 30
TOPICS = ("0x1", "0x2", "0x3")


def invent(answer: dict[str, Any]) -> None:
    """Answer with another block than the chain has."""
    block = answer.get("result")
    if isinstance(block, dict) and int(block["number"], 16) > BEGIN:
        block["hash"] = "0x" + "11" * 32
        block["parentHash"] = "0x" + "22" * 32


def forget_logs(answer: dict[str, Any]) -> None:
    """Answer that a block has no logs."""
    answer["result"] = []


def lag() -> Fault:
    """Return what answers with the newest block that there was at first."""
    kept: dict[str, Any] = {}

    async def fault(request: Request) -> None:
        answers = await request.node_answer()
        asked = json.loads(request.body)
        batch = isinstance(asked, list)
        for call, answer in zip(*((asked, answers) if batch else ([asked], [answers])), strict=True):
            if call["method"] in ("eth_getBlockByNumber", "eth_blockNumber") and "latest" in json.dumps(call["params"]):
                answer["result"] = kept.setdefault(call["method"], answer["result"])
        write_answer(request, json.dumps(answers).encode())

    return fault


FAULTS: dict[str, list[Fault]] = {
    "hang": [silence, honest, honest],
    "lag": [lag(), honest, lag()],
    "lie": [spoil("eth_getBlockByNumber", invent), honest, honest],
    "reorder": [shuffled, shuffled, shuffled],
    "break": [drop, cut, honest],
    "leave out": [spoil("eth_getLogs", forget_logs), honest, honest],
}


async def test_clients_hold_the_chain_whatever_some_endpoints_do(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, *GENESIS)
        fronts = [FaultyNode(node.url) for _ in range(3)]
        clients: list[BlockClient | LogClient] = []
        try:
            await place_loggers(node)
            await node.call("anvil_mine", hex(BEGIN))
            for front in fronts:
                await front.start()
            endpoints = [{"label": "abc"[at], "url": front.url} for at, front in enumerate(fronts)]
            async with run_gateway_on({SLUG: {"endpoints": endpoints}}, tmp_path) as gateway:
                target = Target(gateway.http, gateway.grpc_target)
                for way in WAYS:
                    blocks, logs = BlockClient(), LogClient()
                    blocks.attach(open_watch(way, target, "watchBlocks", chain=SLUG))
                    logs.attach(open_watch(way, target, "watchLogs", chain=SLUG, address=LOGGER))
                    clients += (blocks, logs)
                for client in clients:
                    await client.next()
                for faults in FAULTS.values():
                    for front, fault in zip(fronts, faults, strict=True):
                        front.fault = fault
                    for count in (1, 2):
                        await write_logs(node, count, *TOPICS)
                        await node.call("anvil_mine", "0x2")
                    await reach(clients, node)
                for client in clients:
                    assert REMOVED not in client.kinds
                    assert ROLLED_BACK not in client.kinds
                    await client.close()
        finally:
            for front in fronts:
                await front.close()
            node.stop()


async def reach(clients: list[BlockClient | LogClient], node: Anvil) -> None:
    """Read until all clients hold what the node has."""
    wanted_blocks, wanted_logs = await chain_of(node, BEGIN), await node_logs(node, BEGIN)

    async def read(client: BlockClient | LogClient) -> None:
        if isinstance(client, LogClient):
            await client.until(lambda client: client.logs == wanted_logs)
        else:
            await client.until(lambda client: client.blocks == wanted_blocks)

    await asyncio.gather(*map(read, clients))
