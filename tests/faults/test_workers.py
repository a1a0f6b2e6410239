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
from tests.e2e.commands import HEIGHT, Waypost, base_of, children, is_running, waypost
from tests.pausing import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

# Lets SIGUSR2 bring the event loop of a gateway to a stop, from within; while a file is there all workers fail but the
# first that the template forks.
STUCK = """
import os, signal, sys, time
signal.signal(signal.SIGUSR2, lambda *_: time.sleep(3600))
forks = []
def fail():
    if len(forks) > 1 and os.path.exists(os.path.join(os.path.dirname(__file__), "broken")):
        os._exit(1)
if any(one.startswith("--template=") for one in sys.orig_argv):
    os.register_at_fork(before=lambda: forks.append(1), after_in_child=fail)
"""


DEMO_BURST = 7
ANSWERED = 'waypost_http_requests_total{status="200"}'


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

    async def figures(self) -> dict[str, float]:
        """Return the metrics of both workers, by series."""
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as session,
            session.get(f"http://127.0.0.1:{self.metrics}/metrics") as response,
        ):
            lines = (await response.text()).splitlines()
        return {series: float(value) for series, _, value in (one.rpartition(" ") for one in lines if one[0] != "#")}

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
async def run(
    devnet: Devnet, folder: Path, *, http: int = 0, **further: str
) -> AsyncIterator[tuple[Waypost, dict[str, int]]]:
    config = folder / "waypost.toml"
    devnet.write_config(config)
    library = folder / "library"
    library.mkdir(exist_ok=True)
    (library / "sitecustomize.py").write_text(STUCK)
    ports = {"http": http or free_port(), "grpc": free_port(), "metrics": free_port()}
    async with waypost(
        "serve",
        *("--config", str(config), "--workers", "2"),
        *("--http-port", str(ports["http"]), "--grpc-port", str(ports["grpc"])),
        folder=folder,
        PYTHONPATH=str(library),
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{ports['metrics']}",
        WAYPOST_HTTP__TRUSTED_PROXIES="127.0.0.0/8",
        WAYPOST_QUOTAS__DEMO_RATE="0.001",
        WAYPOST_QUOTAS__DEMO_BURST=str(DEMO_BURST),
        **further,
    ) as process:
        yield process, ports


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateway(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """One whose second worker could not start at first."""
    folder = tmp_path_factory.mktemp("workers")
    broken = folder / "library" / "broken"
    broken.parent.mkdir()
    broken.touch()
    async with run(devnet, folder) as (process, ports):
        await base_of(process)
        made = Gateway(process, ports["http"], ports["grpc"], ports["metrics"])
        assert (await made.says(1))["configured"] == 2
        broken.unlink()
        yield made
        process.signal()
        assert await process.ended(60) == 0


async def exact_client(demo: str) -> str:
    """Return a client's address of which exactly so many requests were admitted, whichever workers they reached.

    Where the machine is so busy that the parent's answer takes too long, a worker counts alone; another client then
    shows what holds without that.
    """
    for number in range(5):
        client = f"192.0.2.{number + 1}"
        answers = [await ask_demo(demo, client) for _ in range(30)]
        if answers == [True] * DEMO_BURST + [False] * (30 - DEMO_BURST):
            return client
        assert sum(answers) < 2 * DEMO_BURST
        await asyncio.sleep(1)
    raise AssertionError("no client's quota was exact")


async def ask_demo(demo: str, client: str) -> bool:
    """Ask over a connection of its own; return whether the client's quota admitted it."""
    async with (
        aiohttp.ClientSession(headers={"X-Forwarded-For": client}) as session,
        session.post(f"{demo}/v1", json=HEIGHT) as response,
    ):
        assert response.status in (200, 429)
        return "result" in await response.json()


async def test_one_that_does_not_come_up_at_first_is_tried_again(gateway: Gateway) -> None:
    (healthy,) = gateway.workers[:1]
    seen = await gateway.says(2)
    assert seen["restarts"] >= 1
    assert healthy in gateway.workers
    figures = await gateway.figures()
    assert figures['waypost_workers{state="configured"}'] == 2
    assert figures['waypost_workers{state="serving"}'] == 2
    assert figures["waypost_worker_restarts_total"] == seen["restarts"]


async def test_one_that_dies_young_leaves_the_others_alone(gateway: Gateway) -> None:
    seen = await gateway.says(2)
    # One quota for both: their parent counts it, also for a worker that starts again.
    demo = f"http://127.0.0.1:{gateway.http}/demo"
    client = await exact_client(demo)
    healthy, *_ = gateway.workers
    answered = (await gateway.figures())[ANSWERED]
    for _ in range(2):
        # The last one to start has just come up.
        os.kill(gateway.workers[-1], signal.SIGKILL)
        assert (await gateway.says(1))["configured"] == 2
        for _ in range(5):
            assert (await gateway.readiness())["ready"]
        again = await gateway.says(2)
        assert again["restarts"] > seen["restarts"]
        seen = again
    assert sum([await ask_demo(demo, client) for _ in range(20)]) < 3
    assert healthy in gateway.workers
    assert gateway.process.process.returncode is None
    assert "again_in_seconds" in gateway.process.err
    # What the dead ones had counted stays counted.
    assert (await gateway.figures())[ANSWERED] >= answered + 10


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
    # One that hangs keeps nobody from reading the other's.
    assert (await gateway.figures())[ANSWERED] > 0

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
    database = tmp_path / "waypost.db"
    database.write_text("no database")
    async with run(devnet, tmp_path, WAYPOST_STORAGE__URL=f"sqlite:///{database}") as (process, _):
        assert await process.ended(60) == 1
        assert "config error: storage.url" in process.err
        assert "no worker came to serve" in process.err
        assert "Traceback" not in process.err
        assert "Base URL" not in process.out


async def test_a_port_of_another_process_is_refused_before_any_of_them_starts(devnet: Devnet, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with run(devnet, tmp_path, http=port) as (process, _):
            assert await process.ended(60) == 1
            assert process.err == (
                f"config error: http.port = 127.0.0.1:{port}: the JSON-RPC face cannot listen there: another process "
                "uses that port; choose another (--http-port), or end that process\n"
            )
            assert process.out == ""
