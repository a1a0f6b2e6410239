"""`waypost serve`, `server` and `transcoder` as processes, over real nodes: start, answer, end."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
from typing import TYPE_CHECKING

import aiohttp
import pytest

from devnet.ports import free_port
from runtime.settings import load_settings
from tests.collector import run_collector
from tests.e2e.commands import CREDENTIAL, HEIGHT, base_of, children, is_running, page_of, post, waypost

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.devnet


async def test_both_faces_answer_and_sigterm_ends_it(config: Path, tmp_path: Path) -> None:
    async with waypost(
        "serve", "--config", str(config), "--http-port", "0", "--grpc-port", "0", folder=tmp_path, anew=True
    ) as running:
        base = await base_of(running)
        answer = await post(base, HEIGHT)
        assert answer["result"]["data"]["chain"] == "0x1"
        target = (await running.printed(r"gRPC      (\S+)"))[1]
        async with waypost(
            "call", "getBlockHeight", "chain=ethereum", "--key", "local", "--target", target, folder=tmp_path, anew=True
        ) as call:
            assert await call.ended() == 0
            assert json.loads(call.out) == answer["result"]
        running.signal()
        assert await running.ended() == 0
        events = [json.loads(line)["event"] for line in running.err.splitlines()]
        assert "serving" in events
        assert "draining" in events
        assert running.out.endswith("\nstopped\n")
        assert "local/v1" not in running.err


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
        # Of its own profile, not the server's: as the document's examples.
        page, files = await page_of(http)
        assert 'content="mainnet"' in page
        assert files
        for process in (face, serving):
            process.signal()
            assert await process.ended() == 0
            assert CREDENTIAL not in process.out + process.err


async def test_a_transcoder_needs_a_target(tmp_path: Path) -> None:
    async with waypost("transcoder", folder=tmp_path) as running:
        assert await running.ended(60) == 1
        assert "config error: transcoder.grpc_target" in running.err


def sample_of(line: str) -> tuple[frozenset[str], str]:
    """Return a line of metrics without the order of its labels."""
    series, _, value = line.rpartition(" ")
    name, _, labels = series.partition("{")
    return frozenset((name, *labels.rstrip("}").split(","))), value


async def test_workers_share_the_ports_and_end_together(config: Path, tmp_path: Path) -> None:
    http, grpc_port, metrics = free_port(), free_port(), free_port()
    async with (
        run_collector() as collector,
        waypost(
            "serve",
            *("--config", str(config), "--http-port", str(http), "--grpc-port", str(grpc_port), "--workers", "2"),
            folder=tmp_path,
            WAYPOST_METRICS__LISTEN=f"127.0.0.1:{metrics}",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_SERVICE_NAME="gateways",
        ) as running,
    ):
        base = await base_of(running)
        # Connections are spread by the kernel: with forty of them both workers are hit.
        for _ in range(40):
            assert (await post(base, HEIGHT))["result"]
        # One listener shows what both have counted.
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{metrics}/metrics") as response,
        ):
            figures = await response.text()
        counted = 'waypost_operations_total{operation="getBlockHeight",chain="ethereum",code="OK",reason=""} 40.0'
        assert {sample_of(line) for line in figures.splitlines()} >= {sample_of(counted)}
        workers = children(running.process.pid)
        assert len(workers) == 2
        running.signal()
        assert await running.ended() == 0
        assert not any(map(is_running, workers))
        # Each has handed over all its spans before it ended.
        assert sum(span.name == "getBlockHeight" for span in collector.spans()) == 40
        assert {one["service.name"] for one in collector.resources()} == {"gateways"}
        assert len({one["service.instance.id"] for one in collector.resources()}) == 2


async def test_workers_do_not_outlive_their_parent(config: Path, tmp_path: Path) -> None:
    async with waypost(
        "serve",
        *("--config", str(config), "--http-port", str(free_port()), "--grpc-port", str(free_port()), "--workers", "2"),
        folder=tmp_path,
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
        http, grpc_port = ("--http-port", str(free_port())), ("--grpc-port", str(free_port()))
        metrics = {"WAYPOST_METRICS__LISTEN": f"127.0.0.1:{port}"}
        cases: list[tuple[tuple[str, ...], dict[str, str], str, str]] = [
            (("--http-port", port, *grpc_port), {}, "http.port", "--http-port"),
            (("--grpc-port", port, *http), {}, "grpc.port", "--grpc-port"),
            (("--grpc-port", port, *http, "--workers", "2"), {}, "grpc.port", "--grpc-port"),
            ((*http, *grpc_port), metrics, "metrics.listen", "metrics.listen"),
            ((*http, *grpc_port, "--workers", "2"), metrics, "metrics.listen", "metrics.listen"),
        ]
        for arguments, variables, setting, remedy in cases:
            async with waypost(
                "serve", "--config", str(config), *arguments, folder=tmp_path, anew=True, **variables
            ) as running:
                assert await running.ended(60) == 1
                # One line of ours alone: neither of gRPC nor of a log.
                (line,) = running.err.splitlines()
                assert line.startswith(f"config error: {setting} = 127.0.0.1:{port}: ")
                assert f"choose another ({remedy})" in line
                assert running.out == ""


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_the_doctor_finds_all_well_beside_a_gateway(config: Path, tmp_path: Path, workers: str) -> None:
    ports = {"WAYPOST_HTTP_PORT": str(free_port()), "WAYPOST_GRPC_PORT": str(free_port())}
    ports["WAYPOST_METRICS__LISTEN"] = f"127.0.0.1:{free_port()}"
    async with waypost("serve", "--config", str(config), "--workers", workers, folder=tmp_path, **ports) as running:
        await base_of(running)
        async with waypost("doctor", "--config", str(config), "--json", folder=tmp_path, **ports) as doctor:
            assert await doctor.ended(60) == 0, doctor.out
            checks = json.loads(doctor.out)["checks"]
            assert doctor.err == ""
    assert {one["state"] for one in checks} == {"ok"}
    served = [one["check"] for one in checks if one["found"].endswith("is served by a gateway")]
    assert served == ["port http.port", "port grpc.port", "port metrics.listen"]
    chains = {one["check"].removeprefix("chain ") for one in checks if one["check"].startswith("chain ")}
    assert chains == load_settings(config, environ={}).chains.keys()


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
        ports = {"WAYPOST_HTTP_PORT": str(free_port()), "WAYPOST_GRPC_PORT": str(free_port())}
        async with waypost("doctor", "--network", "devnet", "--json", folder=tmp_path, **ports) as doctor:
            assert await doctor.ended(60) == 0, doctor.out
            checks = {one["check"]: one["found"] for one in json.loads(doctor.out)["checks"]}
            assert "local chains run" in checks["devnet"]
            assert "chain ethereum" in checks
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
