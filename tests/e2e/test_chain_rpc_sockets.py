"""A chain's own JSON-RPC over a socket, on local chains: calls, heads and logs as the node itself sends them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.world import load_world
from tests.e2e.gateway import KEY
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

BESIDE = ("size", "totalDifficulty", "transactions", "uncles", "withdrawals")
TOKEN = load_world()["ethereum"].token("USDC").address


class Client:
    """One socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.notices: list[dict[str, Any]] = []

    async def call(self, method: str, *params: Any, identity: Any = 1) -> dict[str, Any]:
        """Return the answer; notifications that come before it are kept."""
        await self.socket.send_json({"jsonrpc": "2.0", "id": identity, "method": method, "params": list(params)})
        while True:
            message: dict[str, Any] = await self.socket.receive_json(timeout=20)
            if "method" not in message:
                assert message["id"] == identity
                return message
            self.notices.append(message)

    async def notice(self) -> tuple[str, Any]:
        """Return the subscription and the result of the next notification."""
        message = self.notices.pop(0) if self.notices else await self.socket.receive_json(timeout=20)
        assert (message["jsonrpc"], message["method"]) == ("2.0", "eth_subscription")
        return message["params"]["subscription"], message["params"]["result"]


@asynccontextmanager
async def connected(gateway: RunningGateway, url: str = f"/{KEY}/rpc/ethereum") -> AsyncIterator[Client]:
    async with gateway.session.ws_connect(gateway.http + url if url.startswith("/") else url) as socket:
        yield Client(socket)


async def test_calls_are_answered_as_over_post(gateway: RunningGateway) -> None:
    async with connected(gateway) as client:
        assert await client.call("eth_chainId", identity="a") == {"jsonrpc": "2.0", "id": "a", "result": "0x1"}
        answer = await client.call(
            "eth_call", {"to": known.PROBER, "data": "0x" + encode_call("fail_silently()").hex()}
        )
        assert answer["error"]["code"] == 3
        refused = await client.call("eth_newFilter", {})
        assert refused["error"]["code"] == -32601
        await client.socket.send_str(
            '[{"jsonrpc":"2.0","id":1,"method":"net_version"},{"id":2,"method":"eth_chainId"}]'
        )
        assert await client.socket.receive_json() == [
            {"jsonrpc": "2.0", "id": 1, "result": "1"},
            {"result": "0x1", "error": None, "id": 2},
        ]


async def test_binary_messages_are_read_as_text(gateway: RunningGateway) -> None:
    async with connected(gateway) as client:
        await client.socket.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"net_version"}')
        assert await client.socket.receive_json(timeout=20) == {"jsonrpc": "2.0", "id": 1, "result": "1"}
        await client.socket.send_bytes(b"\xff")
        message = await client.socket.receive(timeout=20)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1007)


async def test_heads_are_the_nodes_own(gateway: RunningGateway, devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    own = node.url.replace("http", "ws")
    async with connected(gateway) as client, connected(gateway, own) as direct:
        name = (await client.call("eth_subscribe", "newHeads"))["result"]
        await direct.call("eth_subscribe", "newHeads")
        assert name.startswith("0x")
        theirs = {}
        for _ in range(3):
            await devnet.mine("ethereum")
            _, head = await direct.notice()
            # anvil sends whole blocks; go-ethereum and others send what the hash is of, and the hash.
            theirs[head["hash"]] = {name: head[name] for name in head if name not in BESIDE}
        for _ in range(2):
            subscription, head = await client.notice()
            assert subscription == name
            assert head == theirs.get(head["hash"], head)
        assert head["hash"] in theirs
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        assert (await client.call("eth_unsubscribe", name))["result"] is False


async def transfer(node: Any, amount: int = 1) -> str:
    """Send a transfer of the token in a block of its own; returns the transaction's hash."""
    data = encode_call("transfer(address,uint256)", [known.PROBER, amount])
    sent: str = await node.call(
        "eth_sendTransaction", {"from": known.VITALIK, "to": TOKEN, "data": "0x" + data.hex(), "gas": "0x30000"}
    )
    return sent


async def test_logs_are_the_nodes_own(gateway: RunningGateway, devnet: Devnet) -> None:
    topics = ["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"]
    receiver = "0x" + known.PROBER[2:].rjust(64, "0").lower()
    async with unchanged(devnet, "ethereum") as node, connected(gateway) as client:
        wanted = {"address": TOKEN.lower(), "topics": [topics, None, receiver]}
        name = (await client.call("eth_subscribe", "logs", wanted))["result"]
        # Of four topics, which no such log has; and of another contract.
        four = (await client.call("eth_subscribe", "logs", {"topics": [topics, None, None, None]}))["result"]
        other = (await client.call("eth_subscribe", "logs", {"address": [known.PROBER]}))["result"]
        await node.call("anvil_impersonateAccount", known.VITALIK)
        sent = await transfer(node)
        await devnet.mine("ethereum")
        subscription, log = await client.notice()
        assert subscription == name
        [own] = (await node.call("eth_getTransactionReceipt", sent))["logs"]
        own.pop("blockTimestamp", None)
        assert log == own
        assert len({name, four, other}) == 3
        assert not client.notices


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([], "newHeads"),
        (["newPendingTransactions"], "newHeads"),
        (["syncing"], "newHeads"),
        ([5], "newHeads"),
        (["logs", []], "newHeads"),
        (["logs", {"fromBlock": "0x1"}], "fromBlock"),
        (["logs", {"blockHash": "0x1"}], "blockHash"),
        (["logs", {"address": "0x12"}], "address"),
        (["logs", {"topics": "0x12"}], "topics"),
        (["logs", {"topics": [None] * 5}], "topics"),
        (["logs", {"topics": ["0x12"]}], "topic0"),
        (["logs", {"topics": [["0x" + "1" * 64] * 21]}], "topic0"),
    ],
)
async def test_other_subscriptions_are_refused(params: list[Any], words: str, gateway: RunningGateway) -> None:
    async with connected(gateway) as client:
        answer = await client.call("eth_subscribe", *params)
        assert answer["error"]["code"] == -32602
        assert words in answer["error"]["message"]
        assert answer["error"]["data"]["field"] == "params"


@pytest.mark.parametrize("chain", ["solana", "bitcoin", "cosmoshub", "nowhere"])
async def test_subscriptions_are_for_evm_chains(chain: str, gateway: RunningGateway) -> None:
    async with connected(gateway, f"/{KEY}/rpc/{chain}") as client:
        for params in (["newHeads"], ["logs"]):
            assert (await client.call("eth_subscribe", *params))["error"]["code"] in (-32602, -32601)
