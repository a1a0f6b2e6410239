"""A gateway that is stopped while callers ask without a pause: nothing that was asked is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from devnet.ports import free_port
from tests.e2e.callers import KEY, GrpcCaller, Tally, ask_over_http, http_request, read_answer
from tests.e2e.commands import Waypost, base_of, children, waypost
from tests.pausing import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

ROOT = Path(__file__).parents[2]
DOCUMENTED = ROOT / "proto" / "service_config.json"
# More than a few take minutes: `DRAINS=20` asks for 10,000 requests in twenty.
DRAINS = int(os.environ.get("DRAINS", "0"))
REFUSED = "UNAVAILABLE UPSTREAM_UNAVAILABLE with RetryInfo"
# What calls end with whose gateway has stopped: their connection was closed, or there is none.
CLOSED = "UNAVAILABLE of gRPC"


class Leaver:
    """A gateway on ports that are known, with the notice of the default settings."""

    def __init__(self, process: Waypost, http: int, grpc_port: int) -> None:
        self.process, self.http, self.grpc = process, http, grpc_port

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.grpc}"


@asynccontextmanager
async def serve(devnet: Devnet, folder: Path, *, workers: int = 1, notice: str = "") -> AsyncIterator[Leaver]:
    config = folder / "waypost.toml"
    devnet.write_config(config)
    http, grpc_port = free_port(), free_port()
    async with waypost(
        "serve",
        *("--config", str(config), "--workers", str(workers)),
        *("--http-port", str(http), "--grpc-port", str(grpc_port)),
        folder=folder,
        WAYPOST_QUOTAS__DEFAULT_RATE="100000",
        WAYPOST_QUOTAS__DEFAULT_BURST="100000",
        WAYPOST_SERVER_LIMITS__NOTICE=notice,
    ) as running:
        await base_of(running)
        yield Leaver(running, http, grpc_port)


@pytest.mark.timeout(120 + 60 * DRAINS)
@pytest.mark.parametrize("workers", [1, 2])
async def test_nothing_that_was_asked_is_lost(workers: int, devnet: Devnet, tmp_path: Path) -> None:
    for drain in range(DRAINS or 3 - workers):
        (tmp_path / str(drain)).mkdir()
        async with serve(devnet, tmp_path / str(drain), workers=workers) as leaver:
            tally, gone = Tally(), asyncio.Event()
            over_http = [asyncio.create_task(ask_over_http(leaver.http, tally)) for _ in range(16)]
            callers = [GrpcCaller(leaver.target) for _ in range(3)]
            over_grpc = [asyncio.create_task(one.call_in_turn(gone.is_set)) for one in callers[:2] for _ in range(2)]
            over_grpc.append(asyncio.create_task(callers[2].call_at_a_rate(gone.is_set)))
            while tally.answered < 500:  # noqa: ASYNC110  # the callers count
                await asyncio.sleep(0.01)
            leaver.process.signal()
            await asyncio.gather(*over_http)
            assert await leaver.process.ended(60) == 0
            gone.set()
            await asyncio.gather(*over_grpc)
            for one in callers:
                await one.channel.close()
            print(f"drain {drain}: {tally.answered} answered, {len(tally.lost)} lost; gRPC: {dict(sum_of(callers))}")
            assert tally.lost == []
            assert tally.closing > 16
            ended = sum_of(callers)
            assert set(ended) <= {"OK", REFUSED, CLOSED}
            assert ended["OK"]
            assert ended[REFUSED]
            assert "Traceback" not in leaver.process.err


def sum_of(callers: list[GrpcCaller]) -> Counter[str]:
    """Return what the calls of all of them ended with."""
    return sum((one.ended for one in callers), Counter[str]())


async def exchange(port: int, *requests: bytes) -> tuple[list[tuple[int, dict[str, str], bytes]], bytes]:
    """Send the requests over one connection, each after the answer to the one before; return the answers, and what is
    read after them until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = []
    for request in requests:
        writer.write(request)
        answers.append(await read_answer(reader))
    rest = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answers, rest


async def test_every_answer_says_that_its_connection_closes(devnet: Devnet, tmp_path: Path) -> None:
    async with serve(devnet, tmp_path, notice="6s") as leaver:
        kept = await asyncio.open_connection("127.0.0.1", leaver.http)
        kept[1].write(http_request())
        assert "connection" not in (await read_answer(kept[0]))[1]
        async with grpc.aio.insecure_channel(leaver.target) as channel:
            states = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
            assert (await states.read()).status == health_pb2.HealthCheckResponse.SERVING
            leaver.process.signal()
            assert (await states.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        kept[1].write(http_request())
        status, headers, _ = await read_answer(kept[0])
        assert (status, headers["connection"]) == (200, "close")
        assert await kept[0].read() == b""
        kept[1].close()
        for request, status in (
            (http_request(), 200),
            (http_request([{"jsonrpc": "2.0", "id": 1, "method": "getHealth"}]), 200),
            (http_request(path="/nobody/v1"), 401),
            (b"GET /readyz HTTP/1.1\r\nHost: waypost\r\n\r\n", 503),
            (b"GET /nothing HTTP/1.1\r\nHost: waypost\r\n\r\n", 404),
        ):
            ((answer,), rest) = await exchange(leaver.http, request)
            assert (answer[0], answer[1]["connection"], rest) == (status, "close", b"")
        # What was sent with the first request is answered before the connection closes.
        reader, writer = await asyncio.open_connection("127.0.0.1", leaver.http)
        writer.write(http_request() * 3)
        assert [(await read_answer(reader))[0] for _ in range(3)] == [200, 200, 200]
        writer.close()


def wait_until_refused(port: int) -> None:
    """Return when nothing listens there any more; a connection that is not let in is tried again by the system."""
    with suppress(ConnectionError):
        while True:
            socket.create_connection(("127.0.0.1", port), timeout=20).close()


@pytest.mark.alone("connects while it leaves: on a busy machine the time to leave is over before it is accepted")
async def test_who_waits_to_be_accepted_is_served(devnet: Devnet, tmp_path: Path) -> None:
    # Without any notice: all that saves them is that the queue is emptied before the listener closes.
    async with serve(devnet, tmp_path, notice="0s") as leaver:
        pid = leaver.process.process.pid
        pause(pid)
        opened = [await asyncio.open_connection("127.0.0.1", leaver.http) for _ in range(100)]
        for _, writer in opened[:60]:
            writer.write(http_request())
        leaver.process.signal()
        os.kill(pid, signal.SIGCONT)
        for reader, writer in opened[:60]:
            assert (await read_answer(reader))[0] == 200
            writer.close()
        # These have connected in time as well, and ask when nothing listens any more.
        await asyncio.to_thread(wait_until_refused, leaver.http)
        for reader, writer in opened[60:]:
            writer.write(http_request())
            assert (await read_answer(reader))[0] == 200
            writer.close()
        assert await leaver.process.ended() == 0


async def test_a_request_that_has_begun_is_waited_for(devnet: Devnet, tmp_path: Path) -> None:
    async with serve(devnet, tmp_path, notice="1s") as leaver:
        request = http_request()
        head = await asyncio.open_connection("127.0.0.1", leaver.http)
        head[1].write(request[:40])
        body = await asyncio.open_connection("127.0.0.1", leaver.http)
        body[1].write(request[:-10])
        leaver.process.signal()
        await leaver.process.printed("draining", stream="err")
        await asyncio.sleep(1.5)
        assert leaver.process.process.returncode is None
        head[1].write(request[40:])
        body[1].write(request[-10:])
        for reader, writer in (head, body):
            status, headers, _ = await read_answer(reader)
            assert (status, headers["connection"]) == (200, "close")
            writer.close()
        assert await leaver.process.ended() == 0


async def test_calls_are_answered_for_half_of_the_notice_and_then_sent_away(devnet: Devnet, tmp_path: Path) -> None:
    async with serve(devnet, tmp_path, notice="3s") as leaver:
        caller = GrpcCaller(leaver.target)
        assert await caller.call()
        began = time.monotonic()
        leaver.process.signal()
        answered = 0
        while await caller.call():
            answered += 1
        assert answered
        assert time.monotonic() - began >= 1.5
        assert caller.ended.keys() == {"OK", REFUSED}
        # Health is answered all the same; no refused call's message is waited for.
        health = health_pb2_grpc.HealthStub(caller.channel)
        state = await health.Check(health_pb2.HealthCheckRequest(service=""))
        assert state.status == health_pb2.HealthCheckResponse.NOT_SERVING
        stream = caller.channel.stream_stream("/waypost.v1.BlockService/GetBlockHeight")(metadata=KEY)
        assert await stream.code() == grpc.StatusCode.UNAVAILABLE
        trailing = dict(await stream.trailing_metadata())
        assert 0 < int(trailing["grpc-retry-pushback-ms"]) <= 1100
        assert await leaver.process.ended() == 0
        await caller.channel.close()


async def test_callers_that_retry_as_documented_notice_nothing(devnet: Devnet, tmp_path: Path) -> None:
    config = json.loads(DOCUMENTED.read_text())
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with serve(devnet, tmp_path / "one") as one, serve(devnet, tmp_path / "two") as two:
        callers = []
        # As documented, and as clients do that stay with the first address that answers.
        for policy in ("round_robin", "pick_first"):
            option: Any = ("grpc.service_config", json.dumps({**config, "loadBalancingConfig": [{policy: {}}]}))
            callers += [GrpcCaller(f"ipv4:{one.target},{two.target}", option) for _ in range(3)]
        gone = asyncio.Event()
        calling = [asyncio.create_task(caller.call_in_turn(gone.is_set)) for caller in callers for _ in range(2)]
        calling += [asyncio.create_task(caller.call_at_a_rate(gone.is_set, 0.02)) for caller in callers]
        await asyncio.sleep(0.5)
        one.process.signal()
        assert await one.process.ended() == 0
        await asyncio.sleep(0.5)
        gone.set()
        await asyncio.gather(*calling)
        for caller in callers:
            await caller.channel.close()
            assert caller.ended.keys() == {"OK"}
            assert caller.ended["OK"] > 10


async def test_calls_in_progress_are_finished_beside_others_that_go_on(devnet: Devnet, tmp_path: Path) -> None:
    node = devnet.nodes["polygon"].pid
    assert node is not None
    async with serve(devnet, tmp_path) as leaver:
        caller, gone = GrpcCaller(leaver.target), asyncio.Event()
        calling = [asyncio.create_task(caller.call_in_turn(gone.is_set)) for _ in range(4)]
        long = GrpcCaller(leaver.target, chain="polygon")
        pause(node)
        try:
            waiting = [asyncio.create_task(long.call()) for _ in range(3)]
            calling += [asyncio.create_task(long.call_in_turn(gone.is_set, chain="ethereum")) for _ in range(4)]
            await asyncio.sleep(0.5)
            leaver.process.signal()
            await leaver.process.printed("draining", stream="err")
            assert not any(task.done() for task in waiting)
        finally:
            os.kill(node, signal.SIGCONT)
        assert await asyncio.gather(*waiting) == [True, True, True]
        gone.set()
        await asyncio.gather(*calling)
        assert await leaver.process.ended() == 0
        for one in (caller, long):
            assert set(one.ended) <= {"OK", REFUSED, CLOSED}
            await one.channel.close()


@pytest.mark.alone("calls at a rate through the seconds of leaving, which a busy machine does not keep")
async def test_who_calls_at_a_rate_beside_its_own_long_call_is_not_cancelled(devnet: Devnet, tmp_path: Path) -> None:
    node = devnet.nodes["polygon"].pid
    assert node is not None
    async with serve(devnet, tmp_path, notice="1s") as leaver:
        callers, gone = [GrpcCaller(leaver.target, chain="polygon") for _ in range(8)], asyncio.Event()
        assert await callers[0].call()
        pause(node)
        try:
            waiting = [asyncio.create_task(one.call()) for one in callers]
            calling = [asyncio.create_task(one.call_at_a_rate(gone.is_set, 0.004, chain="ethereum")) for one in callers]
            await asyncio.sleep(0.3)
            leaver.process.signal()
            # The face closes while all of this goes on: half a second of refusals, a second for what is in progress.
            await leaver.process.printed("draining", stream="err")
            assert not any(task.done() for task in waiting)
        finally:
            os.kill(node, signal.SIGCONT)
        assert await asyncio.gather(*waiting) == [True] * len(callers)
        gone.set()
        await asyncio.gather(*calling)
        assert await leaver.process.ended() == 0
        ended = sum_of(callers)
        assert set(ended) <= {"OK", REFUSED, CLOSED}, ended
        for one in callers:
            await one.channel.close()


async def test_a_second_signal_during_the_notice_ends_it_at_once(devnet: Devnet, tmp_path: Path) -> None:
    async with serve(devnet, tmp_path, notice="60s") as leaver:
        assert not children(leaver.process.process.pid)
        _, writer = await asyncio.open_connection("127.0.0.1", leaver.http)
        writer.write(http_request()[:40])
        leaver.process.signal()
        await asyncio.sleep(0.3)
        assert leaver.process.process.returncode is None
        leaver.process.signal()
        assert await leaver.process.ended() == 130
        writer.close()
