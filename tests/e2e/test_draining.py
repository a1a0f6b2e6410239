"""A gateway that is reported to end: readiness goes first, calls in flight are finished, within bounds."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from devnet.ports import free_port
from tests.e2e.commands import CREDENTIAL, HEIGHT, Waypost, base_of, post, waypost
from tests.pausing import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet


@contextmanager
def paused(devnet: Devnet) -> Iterator[None]:
    """The ethereum node answers nothing for the length of the block."""
    pid = devnet.nodes["ethereum"].pid
    assert pid is not None
    pause(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class Serving(NamedTuple):
    """A gateway as one process, its base URL and the port of its metrics."""

    process: Waypost
    base: str
    metrics: int


@asynccontextmanager
async def serve(config: Path, folder: Path, **variables: str) -> AsyncIterator[Serving]:
    """A gateway that has answered a call."""
    metrics = free_port()
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", "0", "--grpc-port", "0"),
        folder=folder,
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
        **variables,
    ) as running:
        base = await base_of(running)
        assert (await post(base, HEIGHT))["result"]
        yield Serving(running, base, metrics)


async def in_progress(metrics: int, calls: int, asked: asyncio.Task[Any]) -> None:
    """Wait until a gateway that shows its metrics on the port has the calls in progress that were asked."""
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"http://127.0.0.1:{metrics}/metrics") as response:
                if f"\nwaypost_in_flight {calls:.1f}\n" in await response.text():
                    return
            assert not asked.done(), asked.result()
            await asyncio.sleep(0.02)


async def refused(base: str) -> None:
    """Wait until nobody listens at the address any more."""
    async with asyncio.timeout(10):
        while True:
            try:
                async with aiohttp.ClientSession() as session, session.get(base.removesuffix("/local") + "/livez"):
                    await asyncio.sleep(0.02)
            except aiohttp.ClientConnectorError:
                return
            except aiohttp.ClientError:
                continue  # it was just being closed


async def test_calls_in_flight_are_finished_and_readiness_goes_first(
    config: Path, devnet: Devnet, tmp_path: Path
) -> None:
    async with serve(config, tmp_path) as (running, base, metrics):
        target = (await running.printed(r"gRPC      (\S+)"))[1]
        async with grpc.aio.insecure_channel(target) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            states = health.Watch(health_pb2.HealthCheckRequest(service=""))
            assert (await states.read()).status == health_pb2.HealthCheckResponse.SERVING
            with paused(devnet):
                in_flight = asyncio.create_task(post(base, [HEIGHT, {**HEIGHT, "id": 2}]))
                await in_progress(metrics, 2, in_flight)
                running.signal()
                assert (await states.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
                await refused(base)
                assert not in_flight.done()
            assert [item["result"]["data"]["chain"] for item in await in_flight] == ["0x1", "0x1"]
        assert await running.ended() == 0


async def test_the_drain_is_bounded(config: Path, devnet: Devnet, tmp_path: Path) -> None:
    async with serve(config, tmp_path, WAYPOST_SERVER_LIMITS__DRAIN="500ms") as (running, base, metrics):
        with paused(devnet):
            in_flight = asyncio.create_task(post(base, HEIGHT))
            await in_progress(metrics, 1, in_flight)
            running.signal()
            assert await running.ended(8) == 0
            with pytest.raises((aiohttp.ClientError, KeyError)):
                (await in_flight)["result"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_at_once(
    number: signal.Signals, config: Path, devnet: Devnet, tmp_path: Path
) -> None:
    async with serve(config, tmp_path) as (running, base, metrics):
        with paused(devnet):
            in_flight = asyncio.create_task(post(base, HEIGHT))
            await in_progress(metrics, 1, in_flight)
            running.signal(number)
            await running.printed("draining", stream="err")
            assert running.process.returncode is None
            running.signal(number)
            # Sooner than the drain and the deadline of the call would let it.
            assert await running.ended() == 130
            with pytest.raises((aiohttp.ClientError, KeyError)):
                (await in_flight)["result"]


async def readiness(base: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{base}/readyz") as response:
        return response.status


async def test_load_balancers_get_notice(config: Path, tmp_path: Path) -> None:
    private, notice = f"unix:{tmp_path}/private.sock", {"WAYPOST_SERVER_LIMITS__NOTICE": "4s"}
    server = waypost(
        "serve",
        *("--config", str(config), "--http-port", "0", "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_GRPC__PRIVATE_LISTEN=private,
        WAYPOST_GRPC__CREDENTIAL=CREDENTIAL,
        **notice,
    )
    transcoder = waypost(
        "transcoder",
        *("--grpc-target", private, "--http-port", "0"),
        folder=tmp_path,
        WAYPOST_TRANSCODER__CREDENTIAL=CREDENTIAL,
        **notice,
    )
    async with server as serving, transcoder as face:
        http = (await face.printed(r"JSON-RPC on (\S+)"))[1]
        local = await base_of(serving)
        for process, base in ((face, http), (serving, local.removesuffix("/local"))):
            assert await readiness(base) == 200
            process.signal()
            async with asyncio.timeout(4):
                while await readiness(base) == 200:  # noqa: ASYNC110  # another process changes it
                    await asyncio.sleep(0.02)
            assert await readiness(base) == 503
            # Not ready any more, but whoever comes all the same is answered.
            assert (await post(f"{base}/local", HEIGHT))["result"]
            assert await process.ended() == 0
