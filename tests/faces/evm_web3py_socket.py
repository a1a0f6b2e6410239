"""web3.py over a WebSocket on the gateway as on the node: reads and subscriptions."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from web3 import AsyncWeb3, WebSocketProvider
from web3.exceptions import Web3RPCError

from tests.faces.beside import CHAINS, KNOWN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FACTS = KNOWN["ethereum"]
DEPOSIT = "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"


@asynccontextmanager
async def both() -> AsyncIterator[tuple[Any, Any]]:
    """The client on the node and on the gateway."""
    urls = [CHAINS["ethereum"][side]["ws"] for side in ("node", "gateway")]
    async with AsyncWeb3(WebSocketProvider(urls[0])) as node, AsyncWeb3(WebSocketProvider(urls[1])) as gateway:
        yield node, gateway


async def test_reads_are_the_nodes() -> None:
    async def read(w3: Any) -> Any:
        return (
            await w3.eth.chain_id,
            await w3.eth.get_balance(FACTS["holder"]),
            await w3.eth.get_block(FACTS["crowded"], True),
            await asyncio.gather(*(w3.eth.get_balance(FACTS["holder"], FACTS["first"] + back) for back in range(20))),
        )

    async with both() as (node, gateway):
        assert await read(gateway) == await read(node)


async def test_heads_and_logs_are_the_nodes() -> None:
    async def next_of(w3: Any, subscription: str) -> Any:
        messages = w3.socket.process_subscriptions()
        return await anext(message["result"] async for message in messages if message["subscription"] == subscription)

    async with both() as clients, asyncio.timeout(30):
        for kind, arguments in (("newHeads", ()), ("logs", ({"address": FACTS["weth"], "topics": [DEPOSIT]},))):
            subscriptions = [await client.eth.subscribe(kind, *arguments) for client in clients]
            node = clients[0]
            sent = {"from": FACTS["developer"], "to": FACTS["weth"], "value": hex(11)}
            await node.provider.make_request("eth_sendTransaction", [sent])
            await node.provider.make_request("evm_mine", [])
            expected, found = [await next_of(*one) for one in zip(clients, subscriptions, strict=True)]
            # Nodes differ in what they send beside a header.
            assert found == {name: expected[name] for name in found}
            assert found["hash" if kind == "newHeads" else "transactionHash"]
            for client, subscription in zip(clients, subscriptions, strict=True):
                assert await client.eth.unsubscribe(subscription)


async def test_other_subscriptions_are_refused() -> None:
    async with both() as (_, gateway):
        with pytest.raises(Web3RPCError, match="-32602"):
            await gateway.eth.subscribe("newPendingTransactions")
