"""Workers that die, hang or do not come up, as real processes: the others go on and report it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from devnet.ports import free_port
from tests.e2e.callers import GrpcCaller, http_request, read_answer
from tests.e2e.commands import Waypost, base_of, children, is_running, waypost
from tests.pausing import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

# Lets SIGUSR2 bring the event loop of a gateway to a stop, from within.
STUCK = "import signal, time\nsignal.signal(signal.SIGUSR2, lambda *_: time.sleep(3600))\n"


class Gateway(NamedTuple):
    """A gateway of two workers, and where it is asked."""

    process: Waypost
    http: int
    grpc: int
    metrics: int

    @property
    def workers(self) -> list[int]:
        return [pid for pid in children(self.process.process.pid) if is_running(pid)]

    async def readiness(self) -> dict[str, Any]:
        """Return what `/readyz` of one of the workers answers; with the status, which must be 200."""
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as session,
            session.get(f"http://127.0.0.1:{self.http}/readyz") as response,
        ):
            assert response.status == 200
            answer: dict[str, Any] = await response.json()
            return answer

    async def says(self, serving: int, seconds: float = 60.0) -> dict[str, int]:
        """Wait until readiness reports so many serving workers; return what it states of them."""
        async with asyncio.timeout(seconds):
            while True:
                with suppress(aiohttp.ClientError, TimeoutError):
                    # One that has come up this moment has not received it yet.
                    workers: dict[str, int] = (await self.readiness()).get("workers", {})
                    if workers.get("serving") == serving:
                        return workers
                await asyncio.sleep(0.1)


@asynccontextmanager
async def run(devnet: Devnet, folder: Path, **ports: int) -> AsyncIterator[tuple[Waypost, dict[str, int]]]:
    config = folder / "waypost.toml"
    devnet.write_config(config)
    library = folder / "library"
    library.mkdir()
    (library / "sitecustomize.py").write_text(STUCK)
    ports = {"http": free_port(), "grpc": free_port(), "metrics": free_port(following=1), **ports}
    async with waypost(
        "serve",
        *("--config", str(config), "--workers", "2"),
        *("--http-port", str(ports["http"]), "--grpc-port", str(ports["grpc"])),
        folder=folder,
        PYTHONPATH=str(library),
        WAYPOST_QUOTAS__MODE="per-process",
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{ports['metrics']}",
    ) as process:
        yield process, ports


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateway(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """One whose second worker could not start at first, as something listened where it serves its metrics."""
    with socket.socket() as taken:
        metrics = free_port(following=1)
        taken.bind(("127.0.0.1", metrics + 1))
        taken.listen()
        async with run(devnet, tmp_path_factory.mktemp("workers"), metrics=metrics) as (process, ports):
            await base_of(process)
            made = Gateway(process, ports["http"], ports["grpc"], metrics)
            assert (await made.says(1))["configured"] == 2
            assert "config error: metrics.listen" in process.err
            taken.close()
            yield made
            process.signal()
            assert await process.ended(60) == 0


async def test_one_that_does_not_come_up_at_first_is_tried_again(gateway: Gateway) -> None:
    (healthy,) = gateway.workers[:1]
    seen = await gateway.says(2)
    assert seen["restarts"] >= 1
    assert healthy in gateway.workers
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{gateway.metrics}/metrics") as response,
    ):
        figures = await response.text()
    assert 'waypost_workers{state="configured"} 2.0' in figures
    assert 'waypost_workers{state="serving"} 2.0' in figures
    assert f"waypost_worker_restarts {seen['restarts']:.1f}" in figures


async def test_one_that_dies_young_leaves_the_others_alone(gateway: Gateway) -> None:
    seen = await gateway.says(2)
    healthy, *_ = gateway.workers
    for _ in range(2):
        # The last one to start has just come up.
        os.kill(gateway.workers[-1], signal.SIGKILL)
        assert (await gateway.says(1))["configured"] == 2
        for _ in range(5):
            assert (await gateway.readiness())["ready"]
        again = await gateway.says(2)
        assert again["restarts"] > seen["restarts"]
        seen = again
    assert healthy in gateway.workers
    assert gateway.process.process.returncode is None
    assert "again_in_seconds" in gateway.process.err


@pytest.mark.parametrize("hangs", ["stopped", "loop"])
async def test_one_that_hangs_is_replaced_and_its_connections_close(hangs: str, gateway: Gateway) -> None:
    seen = await gateway.says(2)
    opened = [await asyncio.open_connection("127.0.0.1", gateway.http) for _ in range(24)]
    before = [GrpcCaller(f"127.0.0.1:{gateway.grpc}") for _ in range(8)]
    for reader, writer in opened:
        writer.write(http_request())
        assert (await read_answer(reader))[0] == 200
    assert all([await caller.call() for caller in before])
    first, second = gateway.workers
    hung, healthy = (first, second) if hangs == "stopped" else (second, first)
    if hangs == "stopped":
        pause(hung)
    else:
        os.kill(hung, signal.SIGUSR2)
        await asyncio.sleep(0.2)
    began = asyncio.get_running_loop().time()

    async def ask_again(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(http_request())
        try:
            return (await read_answer(reader))[0] == 200
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        finally:
            writer.close()

    async with asyncio.timeout(30):
        answered = await asyncio.gather(*(ask_again(*connection) for connection in opened))
    # Some were the healthy worker's, the others were closed within five seconds and what a busy machine adds.
    assert set(answered) == {True, False}
    assert asyncio.get_running_loop().time() - began < 15
    async with asyncio.timeout(30):
        for caller in before:
            while not await caller.call():  # noqa: ASYNC110  # a worker starts on its own
                await asyncio.sleep(0.1)
            await caller.channel.close()
    assert "a worker hangs and is killed" in gateway.process.err
    again = await gateway.says(2)
    assert again["restarts"] == seen["restarts"] + 1
    assert not is_running(hung)
    assert is_running(healthy)
    # Nothing of the hung one takes connections any more.
    for _ in range(24):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.http)
        assert await ask_again(reader, writer)


async def test_what_none_of_them_can_have_is_refused(devnet: Devnet, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with run(devnet, tmp_path, http=taken.getsockname()[1]) as (process, _):
            assert await process.ended(60) == 1
            assert "config error: http.port" in process.err
            assert "no worker came to serve" in process.err
            assert "Traceback" not in process.err
            assert "Base URL" not in process.out
