"""`waypost serve`, `server` and `transcoder` as processes, over real nodes: start, answer, drain, end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
ROOT = Path(__file__).parents[2]
CREDENTIAL = "0123456789abcdef0123456789abcdef"
HEIGHT = {"jsonrpc": "2.0", "id": 1, "method": "getBlockHeight", "params": {"chain": "ethereum"}}


class Waypost:
    """A running `waypost` process and what it has printed."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.out = ""
        self.err = ""
        self._readers = [asyncio.create_task(self._read("out")), asyncio.create_task(self._read("err"))]

    async def _read(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        while chunk := await stream.read(4096):
            setattr(self, name, getattr(self, name) + chunk.decode())

    async def printed(self, pattern: str, seconds: float = 30.0, *, stream: str = "out") -> re.Match[str]:
        """Wait until standard output (or `err`) matches."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if match := re.search(pattern, getattr(self, stream)):
                return match
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        raise AssertionError(f"{pattern!r} was not printed\n{self.out}\n{self.err}")

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = 15.0) -> int:
        code = await asyncio.wait_for(self.process.wait(), seconds)
        await asyncio.gather(*self._readers)
        return code


@asynccontextmanager
async def waypost(*arguments: str, folder: Path, **variables: str) -> AsyncIterator[Waypost]:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WAYPOST_STORAGE__URL": f"sqlite:///{folder}/waypost.db",
        **variables,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cli", *arguments, cwd=ROOT, env=environ, stdout=PIPE, stderr=PIPE, stdin=PIPE
    )
    running = Waypost(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.ended()


@pytest.fixture
def config(devnet: Devnet, tmp_path: Path) -> Path:
    path = tmp_path / "waypost.toml"
    devnet.write_config(path)
    return path


async def post(base: str, body: Any) -> Any:
    async with aiohttp.ClientSession() as session, session.post(f"{base}/v1", json=body) as response:
        return await response.json()


async def paused(devnet: Devnet) -> int:
    """Stop the ethereum node and return its process id."""
    pid = devnet.nodes["ethereum"].pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


async def base_of(running: Waypost) -> str:
    return (await running.printed(r"Base URL  (\S+)"))[1]


async def in_progress(metrics: int, calls: int) -> None:
    """Wait until a gateway that shows its metrics on the port has that many calls in progress."""
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"http://127.0.0.1:{metrics}/metrics") as response:
                if f"\nwaypost_in_flight {calls:.1f}\n" in await response.text():
                    return
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


async def test_both_faces_answer_and_sigterm_ends_it(config: Path, tmp_path: Path) -> None:
    async with waypost(
        "serve", "--config", str(config), "--http-port", "0", "--grpc-port", "0", folder=tmp_path
    ) as running:
        base = await base_of(running)
        answer = await post(base, HEIGHT)
        assert answer["result"]["data"]["chain"] == "0x1"
        target = (await running.printed(r"gRPC      (\S+)"))[1]
        async with waypost(
            "call", "getBlockHeight", "chain=ethereum", "--key", "local", "--target", target, folder=tmp_path
        ) as call:
            assert await call.ended() == 0
            assert json.loads(call.out) == answer["result"]
        running.signal()
        assert await running.ended() == 0
        events = [json.loads(line)["event"] for line in running.err.splitlines()]
        assert "serving" in events
        assert "draining" in events
        assert "local/v1" not in running.err


async def test_calls_in_flight_are_finished_and_readiness_goes_first(
    config: Path, devnet: Devnet, tmp_path: Path
) -> None:
    metrics = free_port()
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", "0", "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
    ) as running:
        base = await base_of(running)
        target = (await running.printed(r"gRPC      (\S+)"))[1]
        assert (await post(base, HEIGHT))["result"]
        async with grpc.aio.insecure_channel(target) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            states = health.Watch(health_pb2.HealthCheckRequest(service=""))
            assert (await states.read()).status == health_pb2.HealthCheckResponse.SERVING
            pid = await paused(devnet)
            try:
                in_flight = asyncio.create_task(post(base, [HEIGHT, {**HEIGHT, "id": 2}]))
                await in_progress(metrics, 2)
                running.signal()
                assert (await states.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
                await refused(base)
                assert not in_flight.done()
            finally:
                os.kill(pid, signal.SIGCONT)
            assert [item["result"]["data"]["chain"] for item in await in_flight] == ["0x1", "0x1"]
        assert await running.ended() == 0


async def test_the_drain_is_bounded(config: Path, devnet: Devnet, tmp_path: Path) -> None:
    metrics = free_port()
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", "0", "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_SERVER_LIMITS__DRAIN="500ms",
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
    ) as running:
        base = await base_of(running)
        assert (await post(base, HEIGHT))["result"]
        pid = await paused(devnet)
        try:
            in_flight = asyncio.create_task(post(base, HEIGHT))
            await in_progress(metrics, 1)
            running.signal()
            assert await running.ended(8) == 0
            with pytest.raises((aiohttp.ClientError, KeyError)):
                (await in_flight)["result"]
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_at_once(
    number: signal.Signals, config: Path, devnet: Devnet, tmp_path: Path
) -> None:
    metrics = free_port()
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", "0", "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
    ) as running:
        base = await base_of(running)
        assert (await post(base, HEIGHT))["result"]
        pid = await paused(devnet)
        try:
            in_flight = asyncio.create_task(post(base, HEIGHT))
            await in_progress(metrics, 1)
            running.signal(number)
            await running.printed("draining", stream="err")
            assert running.process.returncode is None
            running.signal(number)
            # Sooner than the drain and the deadline of the call would let it.
            assert await running.ended(10) == 130
            with pytest.raises((aiohttp.ClientError, KeyError)):
                (await in_flight)["result"]
        finally:
            os.kill(pid, signal.SIGCONT)


async def test_server_and_transcoder_as_two_processes(config: Path, tmp_path: Path) -> None:
    private = f"unix:{tmp_path}/private.sock"
    server = waypost(
        "server",
        *("--config", str(config), "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_GRPC__PRIVATE_LISTEN=private,
        WAYPOST_GRPC__CREDENTIAL=CREDENTIAL,
    )
    transcoder = waypost(
        "transcoder",
        *("--grpc-target", private, "--http-port", "0"),
        folder=tmp_path,
        WAYPOST_TRANSCODER__CREDENTIAL=CREDENTIAL,
    )
    async with server as serving, transcoder as face:
        await serving.printed("Waypost serves gRPC")
        http = (await face.printed(r"JSON-RPC on (\S+)"))[1]
        assert (await post(f"{http}/local", HEIGHT))["result"]["data"]["chain"] == "0x1"
        assert (await post(f"{http}/wrong", HEIGHT))["error"]["code"] == 401
        for process in (face, serving):
            process.signal()
            assert await process.ended() == 0
            assert CREDENTIAL not in process.out + process.err


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


async def test_a_transcoder_needs_a_target(tmp_path: Path) -> None:
    async with waypost("transcoder", folder=tmp_path) as running:
        assert await running.ended() == 1
        assert "config error: transcoder.grpc_target" in running.err


async def test_workers_share_the_ports_and_end_together(config: Path, tmp_path: Path) -> None:
    http, grpc_port, metrics = free_port(), free_port(), free_port(following=1)
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", str(http), "--grpc-port", str(grpc_port), "--workers", "2"),
        folder=tmp_path,
        WAYPOST_QUOTAS__MODE="per-process",
        WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
    ) as running:
        base = await base_of(running)
        # Connections are spread by the kernel: with forty of them both workers are hit.
        for _ in range(40):
            assert (await post(base, HEIGHT))["result"]
        async with aiohttp.ClientSession() as session:
            for worker in range(2):
                async with session.get(f"http://127.0.0.1:{metrics + worker}/metrics") as response:
                    assert 'operation="getBlockHeight"' in await response.text()
        workers = children(running.process.pid)
        assert len(workers) == 2
        running.signal()
        assert await running.ended() == 0
        assert not any(map(is_running, workers))


async def test_workers_do_not_outlive_their_parent(config: Path, tmp_path: Path) -> None:
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", str(free_port()), "--grpc-port", str(free_port()), "--workers", "2"),
        folder=tmp_path,
        WAYPOST_QUOTAS__MODE="per-process",
    ) as running:
        await base_of(running)
        workers = children(running.process.pid)
        running.signal(signal.SIGKILL)
        for _ in range(200):
            if not any(map(is_running, workers)):
                break
            await asyncio.sleep(0.05)
        assert not any(map(is_running, workers))


async def test_a_taken_port_is_refused(config: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for option, other, key in (("--http-port", "--grpc-port", "http.port"), ("--grpc-port", "--http-port", "grpc")):
            async with waypost("serve", "--config", str(config), option, port, other, "0", folder=tmp_path) as running:
                assert await running.ended() == 1
                assert f"config error: {key}" in running.err
                assert option in running.err
                assert "Traceback" not in running.err


async def test_the_devnet_is_started_and_its_lines_work(tmp_path: Path) -> None:
    async with waypost(
        "serve", "--network", "devnet", "--http-port", "0", "--grpc-port", "0", folder=tmp_path
    ) as running:
        await running.printed("Ctrl-C ends it", 90)
        assert "devnet: " in running.out
        lines = [line.strip() for line in running.out.splitlines() if line.startswith("  curl")]
        assert len(lines) == 3
        for line in lines:
            curl = shlex.split(line)
            body = json.loads(curl[curl.index("-d") + 1])
            answer = await post(curl[curl.index("-s") + 1].removesuffix("/v1"), body)
            assert answer["result"]["data"], line
        (grpcurl,) = [shlex.split(line) for line in running.out.splitlines() if line.startswith("  grpcurl")]
        message = json.loads(grpcurl[grpcurl.index("-d") + 1])
        target, path = grpcurl[-2:]
        rpc = path.rpartition("/")[2]
        async with waypost(
            *("call", rpc[:1].lower() + rpc[1:], *(f"{name}={value}" for name, value in message.items())),
            *("--target", target, "--key", "local"),
            folder=tmp_path,
        ) as call:
            assert await call.ended() == 0, call.err
        nodes = children(running.process.pid)
        running.signal(signal.SIGINT)
        assert await running.ended() == 0
        assert not any(map(is_running, nodes))


async def test_a_signal_while_the_devnet_starts_ends_it(tmp_path: Path) -> None:
    async with waypost(
        "serve", "--network", "devnet", "--http-port", "0", "--grpc-port", "0", folder=tmp_path
    ) as running:
        await running.printed("devnet: starting")
        await asyncio.sleep(0.2)
        nodes = children(running.process.pid)
        running.signal(signal.SIGINT)
        assert await running.ended() == 0
        assert "Base URL" not in running.out
        assert "Traceback" not in running.err
        assert not any(map(is_running, nodes))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
