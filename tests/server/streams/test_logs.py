"""Streams of logs and transfers, on a real node: what is sent, what is taken back, and what that costs the node."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from waypost.v1 import stream_pb2

from server.errors import GatewayError, InvalidArgument, ResponseTooLarge
from server.streams.logs import open_log_source, open_transfer_source
from tests.faults.simulator import FaultyNode, Request, error, honest, write_answer
from tests.server.chains.evm.log_nodes import ID_LOGGER, LOGGER, OTHER_LOGGER, TRANSFER, place_loggers, write_logs
from tests.server.chains.evm.nodes import ALICE, BOB, NAMELESS, OWNER, USDC, Anvil, build_world, call_data
from tests.server.streams.clients import ADDED, PROGRESS, REMOVED, ROLLED_BACK, WAIT_SECONDS
from tests.server.streams.conftest import Gateway, open_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

TOPIC, ONE, TWO = (f"0x{number:064x}" for number in (7, 1, 2))
SLUG = "ethereum"


@pytest_asyncio.fixture(loop_scope="session")
async def logging_node(node: Anvil) -> Anvil:
    await place_loggers(node)
    await node.call("anvil_mine", "0x1")
    return node


@pytest_asyncio.fixture(loop_scope="session")
async def front(logging_node: Anvil) -> AsyncIterator[FaultyNode]:
    """What counts the calls that the node is asked, and spoils answers."""
    front = FaultyNode(logging_node.url)
    await front.start()
    yield front
    await front.close()


class Stream:
    """A stream under way; it has begun."""

    def __init__(self, gateway: Gateway, events: Any, message: Any) -> None:
        self._gateway = gateway
        self._events = events
        self._message = message
        self.cursor = ""

    async def next(self) -> Any:
        event = await asyncio.wait_for(anext(self._events), WAIT_SECONDS)
        self.cursor = event.cursor
        return self._message.FromString(event.payload)

    async def take(self, count: int) -> list[Any]:
        return [await self.next() for _ in range(count)]

    def look(self) -> None:
        self._gateway.followers.wake(SLUG)


@asynccontextmanager
async def watching(gateway: Gateway, request: Any) -> AsyncIterator[Stream]:
    if isinstance(request, stream_pb2.WatchLogsRequest):
        source, message = open_log_source(gateway.chains, request), stream_pb2.WatchLogsResponse
    else:
        source, message = open_transfer_source(gateway.chains, request), stream_pb2.WatchTransfersResponse  # type: ignore[assignment]
    async with aclosing(gateway.followers.watch(SLUG, source, request.cursor)) as events:
        yield Stream(gateway, events, message)


def logs(**filters: Any) -> stream_pb2.WatchLogsRequest:
    return stream_pb2.WatchLogsRequest(chain=SLUG, **filters)


def transfers(**filters: Any) -> stream_pb2.WatchTransfersRequest:
    return stream_pb2.WatchTransfersRequest(chain=SLUG, **filters)


async def test_logs_come_as_the_node_has_them_in_their_order(logging_node: Anvil) -> None:
    async with open_gateway(logging_node.url) as gateway, watching(gateway, logs(addresses=[LOGGER])) as stream:
        assert (await stream.next()).kind == PROGRESS
        number = await write_logs(logging_node, 3, TOPIC, ONE, TWO)
        await write_logs(logging_node, 1, TOPIC, ONE, TWO, contract=OTHER_LOGGER)
        stream.look()
        events = await stream.take(3)
        truth = await logging_node.call("eth_getLogs", {"fromBlock": hex(number), "toBlock": hex(number)})
        assert [event.kind for event in events] == [ADDED] * 3
        assert {(event.block_number, event.block_hash, event.chain) for event in events} == {
            (number, truth[0]["blockHash"], SLUG)
        }
        for event, log in zip(events, truth, strict=True):
            assert event.log.address.lower() == log["address"].lower()
            assert list(event.log.topics) == log["topics"]
            assert (event.log.data, event.log.transaction_hash) == (log["data"], log["transactionHash"])
            assert (event.log.log_index, event.log.block_number) == (int(log["logIndex"], 16), number)
            assert not event.log.removed


async def test_a_topic_that_a_log_does_not_have_selects_nothing(logging_node: Anvil) -> None:
    async with (
        open_gateway(logging_node.url) as gateway,
        watching(gateway, logs(topic1=[TWO, ONE], topic2=[TWO])) as both,
        watching(gateway, logs(topic3=[TWO])) as fourth,
        watching(gateway, logs(topic0=[TOPIC], topic2=[ONE])) as other,
        watching(gateway, logs()) as everything,
    ):
        streams = (both, fourth, other, everything)
        for stream in streams:
            await stream.next()
        number = await write_logs(logging_node, 1, TOPIC, ONE, TWO)
        await write_logs(logging_node, 1, TOPIC, TWO, ONE)
        await write_logs(logging_node, 1, TOPIC, TWO, TWO, TWO, contract=ID_LOGGER)
        everything.look()
        assert [event.block_number for event in await everything.take(3)] == [number, number + 1, number + 2]
        assert (await both.next()).block_number == number
        assert (await other.next()).block_number == number + 1
        assert (await fourth.next()).block_number == number + 2


async def test_a_replaced_block_takes_its_logs_back_newest_first_as_they_were(logging_node: Anvil) -> None:
    async with open_gateway(logging_node.url) as gateway, watching(gateway, logs(addresses=[LOGGER])) as stream:
        await stream.next()
        first = await write_logs(logging_node, 2, TOPIC, ONE, TWO)
        await logging_node.call("anvil_mine", "0x1")
        await write_logs(logging_node, 1, TOPIC, TWO, TWO)
        stream.look()
        added = await stream.take(3)
        await logging_node.call("anvil_reorg", 3, [])
        await logging_node.call("anvil_mine", "0x1")
        stream.look()
        removed = await stream.take(3)
        assert [event.kind for event in removed] == [REMOVED] * 3
        for event, before in zip(removed, added[::-1], strict=True):
            assert event.log.removed
            assert (event.block_number, event.block_hash) == (before.block_number, before.block_hash)
            event.log.removed = False
            assert event.log == before.log
        number = await write_logs(logging_node, 1, TOPIC, ONE, ONE)
        assert number > first
        stream.look()
        assert (await stream.next()).log.topics[2] == ONE


async def test_a_stream_goes_on_at_its_cursor_inside_a_block_and_after_a_replacement(logging_node: Anvil) -> None:
    async with open_gateway(logging_node.url) as gateway:
        async with watching(gateway, logs(addresses=[LOGGER])) as stream:
            await stream.next()
            number = await write_logs(logging_node, 3, TOPIC, ONE, TWO)
            stream.look()
            await stream.take(2)
            inside = stream.cursor
            await stream.next()
            after = stream.cursor
        async with watching(gateway, logs(addresses=[LOGGER], cursor=inside)) as again:
            first, rest = await again.take(2)
            assert first.kind == PROGRESS
            assert (rest.kind, rest.block_number, rest.log.log_index) == (ADDED, number, 2)
        await logging_node.call("anvil_reorg", 1, [])
        await logging_node.call("anvil_mine", "0x1")
        number = await write_logs(logging_node, 1, TOPIC, ONE, TWO)
    async with (
        open_gateway(logging_node.url) as replica,
        watching(replica, logs(addresses=[LOGGER], cursor=after)) as again,
    ):
        first, second = await again.take(2)
        assert first.kind == ROLLED_BACK
        assert (second.kind, second.block_number) == (ADDED, number)


async def test_a_thousand_filters_cost_the_node_one_question_a_block(front: FaultyNode, logging_node: Anvil) -> None:
    async with open_gateway(front.url) as gateway, AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(watching(gateway, logs(topic1=[ONE], topic2=[f"0x{number:064x}"])))
            for number in range(1000)
        ]
        await asyncio.gather(*(stream.next() for stream in streams))
        front.asked.clear()
        for _ in range(3):
            await write_logs(logging_node, 2, TOPIC, ONE, TWO)
            streams[2].look()
            assert [event.kind for event in await streams[2].take(2)] == [ADDED, ADDED]
        await asyncio.sleep(0.2)
        assert front.methods.count("eth_getLogs") == 3
        assert front.methods.count("eth_getBlockByHash") == 3


async def test_a_block_whose_bloom_filter_holds_none_of_the_filters_is_not_read(
    front: FaultyNode, logging_node: Anvil
) -> None:
    async with open_gateway(front.url) as gateway, watching(gateway, logs(addresses=[LOGGER])) as stream:
        await stream.next()
        front.asked.clear()
        await logging_node.call("anvil_mine", "0x5")
        await write_logs(logging_node, 1, TOPIC, ONE, TWO, contract=OTHER_LOGGER)
        number = await write_logs(logging_node, 1, TOPIC, ONE, TWO)
        stream.look()
        assert (await stream.next()).block_number == number
        assert front.methods.count("eth_getLogs") == 1


def refusing(most: int, message: str) -> Any:
    """Refuse `eth_getLogs` that name fewer than one contract, or more than so many."""

    async def fault(request: Request) -> None:
        calls = json.loads(request.body)
        for call in calls if isinstance(calls, list) else [calls]:
            if call["method"] == "eth_getLogs" and not 0 < len(call["params"][0].get("address", ())) <= most:
                await error(-32000, message)(request)
                return
        await honest(request)

    return fault


@pytest.mark.parametrize("message", ["Please specify an address in your request", "query exceeds max results 10000"])
async def test_where_nodes_refuse_whole_blocks_filters_are_asked_together(
    front: FaultyNode, logging_node: Anvil, message: str
) -> None:
    front.fault = refusing(2, message)
    async with (
        open_gateway(front.url) as gateway,
        watching(gateway, logs(addresses=[LOGGER])) as one,
        watching(gateway, logs(addresses=[OTHER_LOGGER])) as other,
        watching(gateway, logs(addresses=[LOGGER], topic1=[ONE])) as narrow,
        watching(gateway, logs()) as everything,
    ):
        streams = (one, other, narrow, everything)
        for stream in streams:
            await stream.next()
        front.asked.clear()
        number = await write_logs(logging_node, 2, TOPIC, TWO, TWO)
        one.look()
        assert [event.block_number for event in await one.take(2)] == [number, number]
        with pytest.raises(ResponseTooLarge, match="narrow the filter by address or topic0"):
            await everything.next()
        number = await write_logs(logging_node, 1, TOPIC, ONE, TWO, contract=OTHER_LOGGER)
        await write_logs(logging_node, 1, TOPIC, ONE, TWO)
        one.look()
        assert (await other.next()).block_number == number
        assert (await narrow.next()).block_number == number + 1
        assert (await one.next()).block_number == number + 1
        assert front.methods.count("eth_getLogs") <= 8


async def test_an_answer_beyond_32_mib_is_asked_for_by_filters(front: FaultyNode, logging_node: Anvil) -> None:
    async def enormous(request: Request) -> None:
        parsed = json.loads(request.body)
        calls = parsed if isinstance(parsed, list) else [parsed]
        asked = [call["params"][0] for call in calls if call["method"] == "eth_getLogs"]
        if asked and "address" not in asked[0]:
            write_answer(request, b" " * 1024, length=33 << 20)
        else:
            await honest(request)

    async with open_gateway(front.url) as gateway, watching(gateway, logs(addresses=[LOGGER])) as stream:
        await stream.next()
        front.fault = enormous
        number = await write_logs(logging_node, 1, TOPIC, ONE, TWO)
        stream.look()
        assert (await stream.next()).block_number == number


async def test_transfers_name_what_their_tokens_count_in(node: Anvil) -> None:
    await build_world(node)
    async with (
        open_gateway(node.url) as gateway,
        watching(gateway, transfers(addresses=[BOB])) as account,
        watching(gateway, transfers(tokens=[USDC])) as token,
        watching(gateway, transfers(tokens=[NAMELESS], addresses=[BOB.lower()])) as both,
    ):
        for stream in (account, token, both):
            await stream.next()
        await node.send(USDC, call_data("transfer(address,uint256)", BOB, 1_500_000), sender=ALICE)
        await node.send(USDC, call_data("transfer(address,uint256)", OWNER, 7), sender=ALICE)
        await node.send(USDC, call_data("transfer(address,uint256)", ALICE, 500_000), sender=BOB)
        await node.send(NAMELESS, call_data("transfer(address,uint256)", BOB, 10**8), sender=ALICE)
        account.look()
        received, sent, nameless = await account.take(3)
        transfer = received.transfer
        assert (transfer.token, transfer.from_address, transfer.to) == (USDC, ALICE, BOB)
        assert (transfer.value, transfer.symbol, transfer.decimals, transfer.amount) == ("1500000", "USDC", 6, "1.5")
        assert (sent.transfer.from_address, sent.transfer.to, sent.transfer.amount) == (BOB, ALICE, "0.5")
        assert (nameless.transfer.token, nameless.transfer.amount) == (NAMELESS, "1")
        assert not nameless.transfer.HasField("symbol")
        assert [event.transfer.value for event in await token.take(3)] == ["1500000", "7", "500000"]
        assert (await both.next()).transfer == nameless.transfer


async def test_a_transfer_is_taken_back(node: Anvil) -> None:
    await build_world(node)
    async with open_gateway(node.url) as gateway, watching(gateway, transfers(addresses=[BOB])) as stream:
        await stream.next()
        await node.send(USDC, call_data("transfer(address,uint256)", BOB, 1_500_000), sender=ALICE)
        stream.look()
        added = await stream.next()
        await node.call("anvil_reorg", 1, [])
        await node.call("anvil_mine", "0x1")
        stream.look()
        removed = await stream.next()
        assert (removed.kind, removed.transfer.removed, removed.transfer.amount) == (REMOVED, True, "1.5")
        assert removed.block_hash == added.block_hash


async def test_only_erc20_transfers_are_sent(logging_node: Anvil) -> None:
    account = f"0x{1:040x}"
    async with open_gateway(logging_node.url) as gateway, watching(gateway, transfers(addresses=[account])) as stream:
        await stream.next()
        await write_logs(logging_node, 1, TRANSFER, ONE, TWO, ONE, contract=ID_LOGGER)
        number = await write_logs(logging_node, 1, TRANSFER, ONE, TWO)
        stream.look()
        assert (await stream.next()).block_number == number


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (logs(addresses=["0x12"]), "address"),
        (logs(addresses=["0xd8da6BF26964aF9D7eEd9e03E53415D37aA96045"]), "address"),
        (transfers(), "address"),
        (transfers(addresses=["vitalik.eth"]), "address"),
        (transfers(tokens=["0x12"]), "token"),
    ],
)
async def test_bad_input_is_refused_by_its_name(logging_node: Anvil, request_: Any, field: str) -> None:
    async with open_gateway(logging_node.url) as gateway:
        with pytest.raises(InvalidArgument) as refused:
            async with watching(gateway, request_):
                pass
        assert refused.value.field == field
        assert str(refused.value).startswith(f"{field}: ")


@pytest.mark.parametrize("slug", ["solana", "bitcoin", "cosmoshub", "starknet"])
async def test_other_families_have_no_such_logs(logging_node: Anvil, slug: str) -> None:
    async with open_gateway(logging_node.url) as gateway:
        for opened, request in (
            (open_log_source, stream_pb2.WatchLogsRequest(chain=slug)),
            (open_transfer_source, stream_pb2.WatchTransfersRequest(chain=slug, addresses=[ALICE])),
        ):
            with pytest.raises(GatewayError, match=slug):
                opened(gateway.chains, request)  # type: ignore[operator]


async def test_equal_filters_are_one_source_however_they_are_written(logging_node: Anvil) -> None:
    async with open_gateway(logging_node.url) as gateway:
        one = open_log_source(gateway.chains, logs(addresses=[USDC, ALICE], topic0=[ONE]))
        same = open_log_source(gateway.chains, logs(addresses=[ALICE.lower(), USDC.lower(), ALICE], topic0=[ONE]))
        other = open_log_source(gateway.chains, logs(addresses=[USDC, ALICE], topic1=[ONE]))
        assert one.key == same.key != other.key
        assert open_transfer_source(gateway.chains, transfers(addresses=[ALICE])).key != one.key
