"""WatchReceipt on real nodes: waiting, in a block, confirmed, and taken out by a reorganisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from waypost.v1 import common_pb2, receipt_pb2, stream_state_pb2

from devnet import known_starknet
from devnet.cosmos.transactions import hash_of
from devnet.starknet.node import StarknetNode
from devnet.watchdog import Watchdog
from server.errors import InvalidArgument
from server.streams import chain_values
from tests.server.chains.evm.nodes import ALICE, OWNER, Anvil
from tests.server.streams.local_chains import open_hub, settings_of
from tests.server.streams.watching import Front, Stream, Watching, on, watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

pytestmark = pytest.mark.devnet

Receipts = Stream[stream_state_pb2.WatchReceiptResponse]
UNKNOWN = stream_state_pb2.RECEIPT_STATE_UNKNOWN
PENDING = stream_state_pb2.RECEIPT_STATE_PENDING
INCLUDED = stream_state_pb2.RECEIPT_STATE_INCLUDED
CONFIRMED = stream_state_pb2.RECEIPT_STATE_CONFIRMED


@pytest_asyncio.fixture(loop_scope="session")
async def front(node: Anvil, plain_session: aiohttp.ClientSession) -> AsyncIterator[Front]:
    """Before a node that makes blocks only when it is asked to."""
    await node.call("evm_setAutomine", False)
    opened = Front(node.url, plain_session)
    await opened.start()
    yield opened
    await opened.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(front: Front) -> AsyncIterator[Watching]:
    async with watching({"ethereum": on(front.url)}) as opened:
        yield opened


def watch(gateway: Watching, wanted: str, confirmations: int = 1, chain: str = "ethereum") -> Receipts:
    request = stream_state_pb2.WatchReceiptRequest(chain=chain, hash=wanted, confirmations=confirmations)
    return gateway.open(stream_state_pb2.WatchReceiptResponse, gateway.receipts, request)


async def send(node: Anvil) -> str:
    """Send a payment that waits for a block, and return its hash."""
    sent: str = await node.call(
        "eth_sendTransaction", {"from": OWNER, "to": ALICE, "value": "0x1", "gas": "0x5208", "gasPrice": hex(10**10)}
    )
    return sent


async def ends(stream: Receipts) -> None:
    with pytest.raises(StopAsyncIteration):
        await stream.next()


async def test_a_transaction_from_its_sending_to_its_last_confirmation(gateway: Watching, node: Anvil) -> None:
    wanted = await send(node)
    stream = watch(gateway, wanted.upper().replace("X", "x"), confirmations=3)
    waiting = await stream.next()
    assert (waiting.chain, waiting.hash, waiting.value.state) == ("ethereum", wanted, PENDING)
    assert not waiting.value.HasField("receipt")
    await node.call("anvil_mine", "0x1")
    included = await stream.next()
    block = await node.block("latest")
    assert (included.value.state, included.value.confirmations) == (INCLUDED, 1)
    assert (included.value.block_number, included.value.block_hash) == (int(block["number"], 16), block["hash"])
    assert included.value.receipt.evm.status == receipt_pb2.RECEIPT_STATUS_SUCCESS
    assert included.value.receipt.evm.transaction_hash == wanted
    await node.call("anvil_mine", "0x1")
    second = await stream.next()
    assert (second.value.state, second.value.confirmations, second.value.HasField("receipt")) == (INCLUDED, 2, False)
    await node.call("anvil_mine", "0x1")
    last = await stream.next()
    assert (last.value.state, last.value.confirmations) == (CONFIRMED, 3)
    assert last.value.receipt == included.value.receipt
    await ends(stream)
    assert set(stream.paid) == {1}


async def test_one_that_is_confirmed_already_is_sent_at_once(gateway: Watching, node: Anvil) -> None:
    wanted = await send(node)
    await node.call("anvil_mine", "0x5")
    stream = watch(gateway, wanted, confirmations=5)
    only = await stream.next()
    assert (only.value.state, only.value.confirmations, only.value.HasField("receipt")) == (CONFIRMED, 5, True)
    await ends(stream)


async def test_one_that_is_unknown_is_waited_for(gateway: Watching, node: Anvil) -> None:
    before = await node.call("evm_snapshot")
    wanted = await send(node)
    assert await node.call("evm_revert", before)
    await node.call("anvil_dropAllTransactions")
    stream = watch(gateway, wanted)
    unknown = await stream.next()
    assert (unknown.value.state, unknown.value.confirmations) == (UNKNOWN, 0)
    assert await send(node) == wanted
    await node.call("anvil_mine", "0x1")
    assert (await stream.next()).value.state == CONFIRMED
    await ends(stream)


async def test_a_reorganisation_takes_it_out_and_another_block_takes_it_in(gateway: Watching, node: Anvil) -> None:
    before = await node.call("evm_snapshot")
    wanted = await send(node)
    await node.call("anvil_mine", "0x1")
    stream = watch(gateway, wanted, confirmations=4)
    included = await stream.next()
    assert (included.value.state, included.value.confirmations) == (INCLUDED, 1)
    assert await node.call("evm_revert", before)
    await node.call("anvil_dropAllTransactions")
    await node.call("anvil_mine", "0x3")
    gone = await stream.next()
    assert (gone.value.state, gone.value.confirmations, gone.value.HasField("block_number")) == (PENDING, 0, False)
    assert await send(node) == wanted
    await node.call("anvil_mine", "0x1")
    again = await stream.next()
    assert (again.value.state, again.value.block_number) == (INCLUDED, included.value.block_number + 3)
    assert again.value.block_hash != included.value.block_hash
    assert again.value.receipt.evm.block_number == again.value.block_number
    await node.call("anvil_mine", "0x3")
    assert (await stream.next()).value.state == CONFIRMED
    await ends(stream)


async def test_a_confirmation_costs_a_header_and_equal_streams_share_it(
    gateway: Watching, front: Front, node: Anvil
) -> None:
    wanted = await send(node)
    await node.call("anvil_mine", "0x1")
    number = (await node.block("latest"))["number"]
    streams = [watch(gateway, wanted, confirmations=1000) for _ in range(5)]
    for stream in streams:
        assert (await stream.next()).value.confirmations == 1
    methods = ("eth_getTransactionReceipt", "eth_getTransactionByHash")
    assert front.asked(*methods) == [sorted(methods, reverse=True)]
    front.requests.clear()
    front.params.clear()
    await node.call("anvil_mine", "0x1")
    for stream in streams:
        assert (await stream.next()).value.confirmations == 2
    assert front.asked(*methods) == []
    assert front.params.count([number, False]) == 1


async def test_nodes_that_are_away_are_an_error_once(
    gateway: Watching, front: Front, node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_values, "_STALLED_SECONDS", 0.5)
    monkeypatch.setattr(chain_values, "_STALLED_BLOCKS", 0)
    wanted = await send(node)
    stream = watch(gateway, wanted, confirmations=2)
    assert (await stream.next()).value.state == PENDING
    front.is_away = True
    while not (lost := await stream.next()).HasField("error"):
        assert lost.value.stalled
    assert (lost.HasField("value"), lost.error.reason) == (False, common_pb2.REASON_UPSTREAM_UNAVAILABLE)
    front.is_away = False
    again = await stream.next()
    assert (again.value.state, again.HasField("error")) == (PENDING, False)
    await node.call("anvil_mine", "0x2")
    while (again := await stream.next()).value.state == PENDING:
        assert not again.HasField("error")
    assert again.value.state == CONFIRMED


async def test_cosmos_counts_blocks_of_a_chain_that_replaces_none(plain_session: aiohttp.ClientSession) -> None:
    async with open_hub(plain_session) as hub, watching(hub.settings) as gateway:
        data = await hub.sign(1)
        stream = watch(gateway, hash_of(data).lower(), confirmations=2, chain="cosmoshub")
        assert (await stream.next()).value.state == UNKNOWN
        await hub.send(data)
        included = await stream.next()
        assert (included.value.state, included.hash) == (INCLUDED, hash_of(data))
        assert (included.value.confirmations, included.value.HasField("block_hash")) == (1, False)
        assert included.value.receipt.cosmos.tx_response.height == included.value.block_number
        await hub.send(await hub.sign(2))
        assert (await stream.next()).value.state == CONFIRMED
        await ends(stream)


async def test_starknet_names_the_block(plain_session: aiohttp.ClientSession) -> None:
    with Watchdog() as guard:
        node = StarknetNode(plain_session, lambda line: None)
        await node.start(guard)
        async with watching({"starknet": settings_of(node.endpoints["starknet"])}) as gateway:
            wanted = await node.call("devnet_transfer", known_starknet.USDC, known_starknet.BOB, "0x1")
            stream = watch(gateway, wanted, confirmations=2, chain="starknet")
            assert (await stream.next()).value.state == PENDING
            await node.call("devnet_mine", 1)
            included = await stream.next()
            assert (included.value.state, included.value.confirmations) == (INCLUDED, 1)
            block = await node.call("starknet_getBlockWithTxHashes", {"block_number": included.value.block_number})
            assert int(included.value.block_hash, 16) == int(block["block_hash"], 16)
            await node.call("devnet_mine", 1)
            assert (await stream.next()).value.receipt.starknet.transaction_hash == included.hash
            await ends(stream)
        await node.stop()


@pytest.mark.parametrize(
    ("chain", "wanted"), [("ethereum", "0x12"), ("ethereum", "ab" * 32), ("starknet", "felt"), ("cosmoshub", "0xab")]
)
async def test_what_is_no_hash_refuses_the_stream(gateway: Watching, chain: str, wanted: str) -> None:
    stream = watch(gateway, wanted, chain=chain)
    with pytest.raises(InvalidArgument) as caught:
        await stream.next()
    assert caught.value.field == "hash"
