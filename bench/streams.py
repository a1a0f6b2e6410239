"""Rows of streams: how long after the node an event comes, and what an event costs for each of 100 who read it."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import orjson
from waypost.v1 import stream_pb2, stream_pb2_grpc

from bench import gateway
from bench.bare_streams import EVENTS, GO
from bench.gateway import Gateway
from bench.loads import ADDRESS, Pace, Question
from bench.processes import processor_seconds, python
from bench.results import Goal, Result, spread
from bench.rows import MICROSECONDS, balance, call
from bench.world import NEAR, ROUNDS, SECONDS
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench.world import World

    Go = Callable[[], Awaitable[None]]

PUSHED, POLLED = "base", "arbitrum"
POLL_SECONDS = 1.0
SUBSCRIBERS = 100
_PUSHES, _POLLS = 60, 12
_LONGEST = 60.0
_CHANNELS = 4


class Raw(Gateway):
    """A gateway asked by a chain's own JSON-RPC."""

    @property
    def url(self) -> str:
        """Where it takes the near chain's requests."""
        return f"http://127.0.0.1:{self.port}/{self.key}/rpc/{NEAR}"


class Arrivals:
    """Events as they come, of any number of streams; `at` is when the last one came."""

    def __init__(self) -> None:
        self.count = 0
        self.at = 0.0
        self._moved = asyncio.Event()
        self._wanted = 0

    def note(self, events: int = 1) -> None:
        """Count events."""
        self.count += events
        self.at = time.perf_counter()
        if self.count >= self._wanted:
            self._moved.set()

    async def reach(self, count: int) -> float:
        """Return when as many had come in all; TimeoutError where they do not."""
        self._wanted = count
        self._moved.clear()
        if self.count < count:
            async with asyncio.timeout(_LONGEST):
                await self._moved.wait()
        return self.at


async def measure_pushed(world: World) -> Result:
    """Measure how long after a node's own announcement of a block the gateway's event comes."""
    goals = (Goal("median, ms", 50, False), Goal("p99, ms", 250, False))
    async with _stand(world) as (devnet, served, session):
        node = devnet.nodes[PUSHED]
        own: deque[float] = deque()
        announced, sent = Arrivals(), Arrivals()
        async with session.ws_connect(node.url.replace("http", "ws", 1)) as socket, _grpc(served, PUSHED, 1, sent):
            await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]})
            await socket.receive()
            listening = asyncio.create_task(_listen(socket, announced))
            # The gateway's own socket is opened once it watches.
            await asyncio.sleep(1.0)
            for _ in range(_PUSHES):
                # Apart, as blocks are: no more than 20 announcements a second are taken from a node.
                await asyncio.sleep(0.1 + 0.1 * random.random())
                mined, came = announced.count + 1, sent.count + 1
                await node.call("evm_mine")
                at = await announced.reach(mined)
                own.append((await sent.reach(came) - at) * 1e3)
            listening.cancel()
    delays = sorted(own)
    figures = {
        "median, ms": spread(delays),
        "p99, ms": spread([delays[int(0.99 * (len(delays) - 1))]]),
    }
    return Result("pushed", "block events, after the node's own announcement", goals, figures)


async def measure_polled(world: World) -> Result:
    """Measure how long after it was made a block's event comes where nothing announces it."""
    goals = (Goal("longest, ms", (POLL_SECONDS + 0.1) * 1e3, False),)
    async with _stand(world) as (devnet, served, _):
        node, sent, delays = devnet.nodes[POLLED], Arrivals(), []
        async with _grpc(served, POLLED, 1, sent):
            for _ in range(_POLLS):
                await asyncio.sleep(random.random() * POLL_SECONDS)
                came = sent.count + 1
                await node.call("evm_mine")
                made = time.perf_counter()
                delays.append((await sent.reach(came) - made) * 1e3)
    figures = {"median, ms": spread(delays), "longest, ms": spread([max(delays)])}
    return Result("polled", f"block events of a chain looked at every {POLL_SECONDS:g} s", goals, figures)


async def measure_subscribers(world: World) -> Result:
    """Measure what an event costs for each of 100 readers, beside bare streams and sockets."""
    names = {"grpc": "of a bare grpc.aio stream", "socket": "of a bare aiohttp socket"}
    figures = {}
    async with _stand(world) as (devnet, served, session), AsyncExitStack() as stack:
        node = devnet.nodes[PUSHED]

        async def mine() -> None:
            await node.call("anvil_mine", hex(EVENTS))

        for kind, name in names.items():
            port = free_port()
            command = ("-m", "bench.bare_streams", kind, str(port))
            pid = await stack.enter_async_context(python(*command, port=port, processors=world.apart))
            bare = Gateway(pid, port, port, "")
            found = []
            opened = _grpc if kind == "grpc" else _sockets
            ours, theirs = Arrivals(), Arrivals()
            url = f"http://127.0.0.1:{port}/"
            alone = Arrivals()
            async with opened(served, PUSHED, 1, alone, session=session):
                lone = [(await _round(served, alone, mine, 1))[0] for _ in range(ROUNDS)]
            async with (
                opened(served, PUSHED, SUBSCRIBERS, ours, session=session),
                opened(bare, PUSHED, SUBSCRIBERS, theirs, session=session, bare=url),
            ):

                async def go(port: int = port, kind: str = kind, url: str = url) -> None:
                    await _give_word(session, kind, port, url)

                for _ in range(ROUNDS + 1):
                    found.append((await _round(bare, theirs, go), await _round(served, ours, mine)))
            del found[0]
            figures[name] = spread([other[0] / own[0] for other, own in found])
            # What blocks cost that one reader alone has as well: they are read of the node and made into events.
            made = statistics.median(lone)
            further = [(own[0] * SUBSCRIBERS - made) / (SUBSCRIBERS - 1) for _, own in found]
            figures[f"{name}, each further reader"] = spread(
                [other[0] / cost for (other, _), cost in zip(found, further, strict=True)]
            )
            figures[f"{kind}, one reader, {MICROSECONDS} an event"] = spread(lone)
            figures[f"{kind}, {MICROSECONDS} an event"] = spread([own[0] for _, own in found])
            figures[f"{kind}, bare, {MICROSECONDS} an event"] = spread([other[0] for other, _ in found])
            figures[f"{kind}, events a second"] = spread([own[1] for _, own in found])
            figures[f"{kind}, bare, events a second"] = spread([other[1] for other, _ in found])
    goals = tuple(Goal(name, 0.5, True) for name in names.values())
    return Result("subscribers", f"{SUBSCRIBERS} subscribers of one source, {EVENTS} events at once", goals, figures)


async def measure_native_balance(world: World) -> Result:
    """Measure the balance of a fresh address by a chain's own JSON-RPC beside getBalance."""
    typed = Question(orjson.dumps(balance()))
    raw = Question(orjson.dumps(call("eth_getBalance", [ADDRESS, "latest"])))
    own, pace = world.gateway, Pace(32, SECONDS)
    theirs = Raw(own.pid, own.port, own.grpc_port, own.key)
    for question, served in ((typed, own), (raw, theirs)):
        await world.ask(question, Pace(32, 0.3), served)
    found = []
    for number in range(ROUNDS):
        # Either comes first as often as the other.
        pairs = [(typed, own), (raw, theirs)]
        asked = [await world.ask(question, pace, one) for question, one in (pairs if number % 2 else pairs[::-1])]
        found.append(asked if number % 2 else asked[::-1])
    figures = {
        "of getBalance": spread([first.microseconds / second.microseconds for first, second in found]),
        MICROSECONDS: spread([second.microseconds for _, second in found]),
        f"getBalance, {MICROSECONDS}": spread([first.microseconds for first, _ in found]),
    }
    goals = (Goal("of getBalance", 0.95, True),)
    return Result("native", "eth_getBalance of a fresh address, 32 connections", goals, figures)


@asynccontextmanager
async def _stand(world: World) -> AsyncIterator[tuple[Devnet, Gateway, aiohttp.ClientSession]]:
    """Run a local chain that announces blocks, one that does not, and a gateway on both."""
    if not ((world.tree or gateway.ROOT) / "proto" / "waypost" / "v1" / "stream.proto").exists():
        raise RuntimeError("there are no streams in this version")
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(Devnet.start([PUSHED, POLLED], progress=lambda _: None, mines=False))
        pushed, polled = (devnet.endpoints[slug] for slug in (PUSHED, POLLED))
        settings = (
            f"[streams]\nmax_streams_per_key = 1000\n"
            f'[chains.{PUSHED}]\nendpoints = [{{ label = "node", url = "{pushed}", '
            f'ws_url = "{pushed.replace("http", "ws", 1)}" }}]\n'
            f'[chains.{POLLED}]\nendpoints = [{{ label = "node", url = "{polled}" }}]\n'
        )
        served = await stack.enter_async_context(gateway.serve({}, world.apart, world.tree, settings=settings))
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        yield devnet, served, session


async def _round(served: Gateway, arrivals: Arrivals, go: Go, readers: int = SUBSCRIBERS) -> tuple[float, float]:
    """Have every reader sent `EVENTS`; return microseconds of processor time an event, and events a second."""
    count, processes = readers * EVENTS, served.processes()
    before, began, wanted = processor_seconds(processes), time.perf_counter(), arrivals.count + count
    await go()
    ended = await arrivals.reach(wanted)
    return (processor_seconds(processes) - before) / count * 1e6, count / (ended - began)


async def _give_word(session: aiohttp.ClientSession, kind: str, port: int, url: str) -> None:
    if kind == "socket":
        async with session.ws_connect(url) as socket:
            await socket.send_str(GO)
            await socket.receive()
        return
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = stream_pb2_grpc.StreamServiceStub(channel)  # type: ignore[no-untyped-call]
        async for _ in stub.WatchBlocks(stream_pb2.WatchBlocksRequest(cursor=GO)):
            raise AssertionError("the word itself is not answered")


@asynccontextmanager
async def _grpc(served: Gateway, slug: str, count: int, arrivals: Arrivals, **_: object) -> AsyncIterator[None]:
    """Read so many streams over gRPC, each of which has sent its first event."""
    request = stream_pb2.WatchBlocksRequest(chain=slug).SerializeToString()
    async with AsyncExitStack() as stack:
        options = (("grpc.use_local_subchannel_pool", 1),)
        target = f"127.0.0.1:{served.grpc_port}"
        channels = [
            await stack.enter_async_context(grpc.aio.insecure_channel(target, options=options))
            for _ in range(min(count, _CHANNELS))
        ]

        async def read(channel: grpc.aio.Channel) -> None:
            stream = channel.unary_stream("/waypost.v1.StreamService/WatchBlocks")
            async for _ in stream(request, metadata=(("x-api-key", served.key),)):
                arrivals.note()

        async with _running([read(channels[number % len(channels)]) for number in range(count)]):
            await arrivals.reach(count)
            yield


@asynccontextmanager
async def _sockets(
    served: Gateway, slug: str, count: int, arrivals: Arrivals, *, session: aiohttp.ClientSession, bare: str = ""
) -> AsyncIterator[None]:
    """Read so many subscriptions, a socket each, each of which has sent its first event."""
    subscribe = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": ["watchBlocks", {"chain": slug}]}

    async def read() -> None:
        async with session.ws_connect(bare or f"{served.url}/ws", compress=0) as socket:
            await socket.send_json(subscribe)
            if not bare:
                # Whose answer says that it is there, or why not.
                answer = await socket.receive_json()
                if "result" not in answer:
                    raise AssertionError(f"no subscription: {answer}")
            await _listen(socket, arrivals)

    async with _running([read() for _ in range(count)]):
        await arrivals.reach(count)
        yield


@asynccontextmanager
async def _running(reads: list[Any]) -> AsyncIterator[None]:
    """Run these until the block ends."""
    tasks = [asyncio.create_task(read) for read in reads]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(socket: aiohttp.ClientWebSocketResponse, arrivals: Arrivals) -> None:
    async for _ in socket:
        arrivals.note()
