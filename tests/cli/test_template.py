from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

from cli.process import Stop
from cli.template import Forked, Template, can_fork
from cli.worker import LONGEST_LINE, READY, Worker
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.skipif(not can_fork(), reason="workers are fresh processes on this system")

COMMAND = [sys.executable, "-m", "cli", "serve"]
ROOT = Path(__file__).resolve().parents[2]
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "clients" / "python"), str(ROOT / "generated")]),
        "WAYPOST_STORAGE__URL": f"sqlite:///{folder}/waypost.db",
        **more,
    }


@asynccontextmanager
async def started(environ: dict[str, str]) -> AsyncIterator[Template]:
    template = await Template.start(COMMAND, environ)
    try:
        yield template
    finally:
        await template.close()


async def serving(template: Template, number: int, port: int) -> Forked:
    """Return a fork once it serves gRPC at the port."""
    forked = await template.fork(
        ["--worker", str(number), "--http-port", "0", "--grpc-port", str(port)], (), LONGEST_LINE
    )
    assert forked.stdout is not None
    async with asyncio.timeout(60):
        while (await forked.stdout.readline()).strip() != READY:
            assert not forked.stdout.at_eof()
    return forked


async def request_id(port: int) -> str:
    """Return the id that the gateway gives a call without one."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/waypost.v1.SystemService/GetHealth")(b"")
        with suppress(grpc.aio.AioRpcError):
            await call
        return str(dict(await call.trailing_metadata())["x-request-id"])


def memory(pid: int) -> dict[str, int]:
    """Return the process's memory in KiB, by kind."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}


async def test_forks_serve_share_memory_and_end_with_their_code(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    async with started(environment(tmp_path)) as template:
        forks = [await serving(template, number, port) for number, port in enumerate(ports)]
        assert len({await request_id(port) for port in ports}) == 2
        for forked in forks:
            assert memory(forked.pid)["Shared_Dirty"] > 30_000
            assert memory(forked.pid)["Pss"] < 80_000
            assert os.getsid(forked.pid) == forked.pid
        first, second = forks
        first.send_signal(signal.SIGTERM)
        second.kill()
        assert await first.wait() == first.returncode == 0
        assert await second.wait() == -signal.SIGKILL
        first.send_signal(signal.SIGTERM)


async def test_forks_go_on_without_their_template_and_workers_are_fresh_then(tmp_path: Path) -> None:
    environ, port = environment(tmp_path), free_port()
    async with started(environ) as template:
        forked = await serving(template, 0, port)
        os.kill(template._process.pid, signal.SIGKILL)
        assert await request_id(port)
        worker = Worker(
            1, [*COMMAND, "--worker", "1", "--http-port", "0", "--grpc-port", "0"], environ, template=template
        )
        assert await worker.start()
        assert not isinstance(worker._process, Forked)
        await worker.end(Stop(), 5)
        # It ends with its input, and nothing is left to report its code.
        assert forked.stdin is not None
        forked.stdin.close()
        async with asyncio.timeout(30):
            assert await forked.wait() == -signal.SIGKILL


async def test_nothing_is_forked_beside_a_thread(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(THREAD)
    environ = environment(tmp_path)
    environ["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environ['PYTHONPATH']}"
    async with started(environ) as template:
        with pytest.raises(OSError, match=r"."):
            await template.fork(["--worker", "0"], (), LONGEST_LINE)
        with pytest.raises(OSError, match=r"."):
            await template.fork(["--worker", "1"], (), LONGEST_LINE)


def test_a_sandbox_without_descriptors_of_processes_gets_fresh_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr("signal.pidfd_send_signal", refuse)
    assert not can_fork()
    monkeypatch.setattr("os.pidfd_open", refuse)
    assert not can_fork()
