"""Streams of the client against scripted ones: where they go on, what is delivered once, what is raised."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost import AsyncWaypost, RateLimited, TransportError, Watch, Waypost, WaypostError
from waypost.v1 import stream_pb2, stream_state_pb2
from waypost.watches import Position

from tests.clients.python.streaming import (
    PROGRESS,
    REMOVED,
    ROLLED_BACK,
    UNAVAILABLE,
    Ending,
    Scripted,
    block,
    log,
    streaming,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[..., tuple[list[Any], str]]

Code = grpc.StatusCode
BLOCKS = {"chain": "ethereum"}
PRICES = {"items": [{"symbol": "ETH"}, {"symbol": "BTC"}]}


def read_sync(target: str, most: int, name: str = "watch_blocks", **fields: Any) -> tuple[list[Any], str]:
    with Waypost(target, "secret") as client, getattr(client.streams, name)(**(fields or BLOCKS)) as watch:
        return [event for _, event in zip(range(most), watch, strict=False)], watch.cursor


def read_async(target: str, most: int, name: str = "watch_blocks", **fields: Any) -> tuple[list[Any], str]:
    async def read() -> tuple[list[Any], str]:
        async with (
            AsyncWaypost(target, "secret") as client,
            getattr(client.streams, name)(**(fields or BLOCKS)) as watch,
        ):
            events: list[Any] = []
            async for event in watch:
                events.append(event)
                if len(events) == most:
                    break
            return events, watch.cursor

    return asyncio.run(read())


@pytest.fixture(params=[read_sync, read_async], ids=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Read:
    """Returns so many events of a stream, and its cursor then."""
    found: Read = request.param
    return found


PASSING = [
    UNAVAILABLE,
    Ending(Code.RESOURCE_EXHAUSTED, "SLOW_CONSUMER"),
    Ending(Code.RESOURCE_EXHAUSTED, "RATE_LIMITED", 1),
    Ending(Code.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"),
    Ending(Code.UNAVAILABLE),
    Ending(Code.INTERNAL),
]


@pytest.mark.parametrize("ending", PASSING, ids=lambda one: one.reason or f"{one.code.name} of the connection")
def test_what_passes_is_waited_out_and_the_stream_goes_on_at_its_cursor(read: Read, ending: Ending) -> None:
    scripted = Scripted([block(1), block(2), ending], [block(3), block(4)])
    with streaming(scripted) as target:
        events, cursor = read(target, 4)
    assert [event.block_number for event in events] == [1, 2, 3, 4]
    assert [request.cursor for request in scripted.requests] == ["", "at-2a"]
    assert cursor == "at-4a"


LASTING = [
    Ending(Code.OUT_OF_RANGE, "CURSOR_TOO_OLD"),
    Ending(Code.UNAUTHENTICATED, "KEY_INVALID"),
    Ending(Code.PERMISSION_DENIED, "KEY_NOT_ALLOWED"),
    Ending(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
    Ending(Code.UNAVAILABLE, "UPSTREAM_DISAGREES", 1),
    Ending(Code.INTERNAL, "INTERNAL"),
    Ending(Code.RESOURCE_EXHAUSTED, "RATE_LIMITED"),
    Ending(Code.RESOURCE_EXHAUSTED),
    Ending(Code.UNIMPLEMENTED),
]


@pytest.mark.parametrize("ending", LASTING, ids=lambda one: one.reason or one.code.name)
def test_what_does_not_pass_is_raised_once_and_nothing_is_asked_again(ending: Ending) -> None:
    scripted = Scripted([block(1), ending])
    with streaming(scripted) as target, Waypost(target) as client:
        watch = client.streams.watch_blocks(chain="ethereum")
        assert next(watch).block_number == 1
        with pytest.raises(WaypostError) as raised:
            next(watch)
        assert list(watch) == []
    assert raised.value.reason == ending.reason
    assert watch.cursor == "at-1a"
    assert len(scripted.requests) == 1


def test_the_asynchronous_client_raises_alike() -> None:
    async def read(target: str) -> None:
        async with AsyncWaypost(target) as client:
            watch = client.streams.watch_blocks(chain="ethereum")
            assert (await anext(watch)).block_number == 1
            with pytest.raises(WaypostError, match="said so"):
                await anext(watch)
            assert [event async for event in watch] == []

    with streaming(Scripted([block(1), LASTING[0]])) as target:
        asyncio.run(read(target))


def test_a_stream_that_does_not_begin_is_given_up_like_a_call(read: Read) -> None:
    scripted = Scripted([UNAVAILABLE])
    with streaming(scripted) as target, pytest.raises(WaypostError, match="said so"):
        read(target, 1)
    assert len(scripted.requests) == 5


def test_a_quota_used_up_at_the_beginning_is_waited_for_as_calls_are(read: Read) -> None:
    refused = Ending(Code.RESOURCE_EXHAUSTED, "RATE_LIMITED", 1)
    scripted = Scripted([refused], [block(1)])
    with streaming(scripted) as target:
        with pytest.raises(RateLimited):
            read(target, 1)
        scripted.requests.clear()
        with Waypost(target, quota_wait=5) as client, client.streams.watch_blocks(chain="ethereum") as watch:
            assert next(watch).block_number == 1


def transaction(number: int, state: Any = stream_state_pb2.RECEIPT_STATE_INCLUDED) -> Any:
    found = stream_state_pb2.WatchReceiptResponse(chain="ethereum", hash="0x1")
    found.value.state, found.value.confirmations, found.value.block_number = state, 1, number
    return found


def balance(raw: str, number: int, *, stalled: bool = False) -> Any:
    found = stream_state_pb2.WatchBalancesResponse(chain="ethereum")
    found.value.raw, found.value.block_number, found.value.stalled = raw, number, stalled
    return found


def test_a_stream_ends_where_the_gateway_says_so(read: Read) -> None:
    receipt = transaction(7, stream_state_pb2.RECEIPT_STATE_CONFIRMED)
    with streaming(Scripted([receipt, None])) as target:
        events, _ = read(target, 9, "watch_receipt", chain="ethereum", hash="0x1")
    assert events == [receipt]


def price(item: int, usd: float, seconds: int = 1) -> stream_state_pb2.WatchPricesResponse:
    found = stream_state_pb2.WatchPricesResponse(item=item, symbol="ETH")
    found.value.usd, found.value.last_updated.seconds = usd, seconds
    return found


def test_values_begin_anew_and_those_that_did_not_change_are_not_delivered_again(read: Read) -> None:
    scripted = Scripted(
        [price(0, 2000), price(1, 60000), UNAVAILABLE],
        [price(0, 2000, seconds=2), price(1, 61000), price(1, 61000, seconds=3)],
    )
    with streaming(scripted) as target:
        events, cursor = read(target, 4, "watch_prices", **PRICES)
    assert [(event.item, event.value.usd) for event in events] == [(0, 2000), (1, 60000), (1, 61000), (1, 61000)]
    assert cursor == ""


def test_a_gateway_that_restarts_loses_nothing(read: Read) -> None:
    first, second = Scripted([block(1), block(2)]), Scripted([block(2), block(3)])
    threads = ThreadPoolExecutor(1)
    with streaming(first) as target:
        reading = threads.submit(read, target, 3)
        assert first.begun.acquire(timeout=60)
    with streaming(second, target):
        events, _ = reading.result(60)
    assert [event.block_number for event in events] == [1, 2, 3]


def test_without_the_gateway_patience_ends() -> None:
    with streaming(Scripted([block(1), block(2)])) as target:
        client = Waypost(target)
        watch = client.streams.watch_blocks(chain="ethereum", patience=0.3)
        assert [next(watch).block_number, next(watch).block_number] == [1, 2]
    with pytest.raises(TransportError), client:
        next(watch)


@pytest.mark.parametrize("close", [lambda _, watch: watch.close(), lambda client, _: client.close()])
def test_closing_ends_the_call_and_the_iteration_also_elsewhere(close: Callable[[Waypost, Watch[Any]], None]) -> None:
    scripted, threads = Scripted([block(1)]), ThreadPoolExecutor(1)
    with streaming(scripted) as target, Waypost(target) as client:
        watch = client.streams.watch_blocks(chain="ethereum")
        assert next(watch).block_number == 1
        reading = threads.submit(list, watch)
        close(client, watch)
        assert reading.result(60) == []
        assert scripted.ended.acquire(timeout=60)


async def test_closing_ends_the_call_and_the_iteration_also_in_another_task() -> None:
    scripted = Scripted([block(1)])
    with streaming(scripted) as target:
        async with AsyncWaypost(target) as client:
            watch = client.streams.watch_blocks(chain="ethereum")
            assert (await anext(watch)).block_number == 1

            async def rest() -> list[Any]:
                return [event async for event in watch]

            reading = asyncio.create_task(rest())
            await asyncio.sleep(0)
            await watch.aclose()
            assert await reading == []
            watch = client.streams.watch_blocks(chain="ethereum")
            await anext(watch)
            reading = asyncio.create_task(rest())
            await asyncio.sleep(0)
        assert await reading == []
        assert await asyncio.to_thread(scripted.ended.acquire, timeout=60)


async def test_who_stops_waiting_for_an_event_gets_it_later() -> None:
    scripted = Scripted([block(1)], [block(1), block(2)])
    with streaming(scripted) as target:
        async with AsyncWaypost(target) as client, client.streams.watch_blocks(chain="ethereum") as watch:
            assert (await anext(watch)).block_number == 1
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await anext(watch)
            assert (await anext(watch)).block_number == 2


def delivered(request: Any, *connections: list[Any]) -> list[Any]:
    """Return what of the events of each connection is delivered."""
    position = Position(request)
    found = []
    for events in connections:
        position.resume()
        found += [event for event in events if position.take(event)]
    return found


def test_the_block_of_a_transaction_is_a_change_and_that_of_a_balance_is_none() -> None:
    receipts = stream_state_pb2.WatchReceiptRequest(chain="ethereum", hash="0x1")
    assert delivered(receipts, [transaction(7)], [transaction(8)], [transaction(8)]) == [transaction(7), transaction(8)]
    balances, moved = stream_state_pb2.WatchBalancesRequest(), [balance("5", 8), balance("5", 9, stalled=True)]
    assert delivered(balances, [balance("5", 7)], moved[:1], moved[1:]) == [balance("5", 7), moved[1]]


def test_the_position_of_a_cursor_is_delivered_once() -> None:
    request = stream_pb2.WatchLogsRequest(chain="ethereum")
    before, again = [log(1, 0), log(2, 0), log(2, 1)], [log(2, 0), log(2, 1), log(2, 2), log(3, 0)]
    assert delivered(request, before, again) == [*before, log(2, 2), log(3, 0)]


def test_a_block_that_became_final_meanwhile_is_the_same() -> None:
    request = stream_pb2.WatchBlocksRequest(chain="ethereum")
    final = block(2, cursor="another")
    final.finality = stream_pb2.FINALITY_FINAL
    assert delivered(request, [block(1), block(2)], [final, block(3)]) == [block(1), block(2), block(3)]


def test_what_came_back_is_delivered_again() -> None:
    request = stream_pb2.WatchBlocksRequest(chain="ethereum")
    back = [block(2), block(2, REMOVED), block(2), block(2, ROLLED_BACK), block(1, ROLLED_BACK), block(2)]
    assert delivered(request, [block(1), block(2)], back) == [block(1), block(2), *back[1:]]


def test_progress_at_the_same_place_is_delivered_once() -> None:
    request = stream_pb2.WatchBlocksRequest(chain="ethereum")
    assert delivered(request, [block(5, PROGRESS)], [block(5, PROGRESS), block(6, PROGRESS)]) == [
        block(5, PROGRESS),
        block(6, PROGRESS),
    ]


def test_within_one_call_everything_is_delivered() -> None:
    request = stream_pb2.WatchBlocksRequest(chain="ethereum")
    assert delivered(request, [block(1), block(1)]) == [block(1), block(1)]
