"""`waypost reload` and SIGHUP over a gateway of two workers and of one process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from devnet.ports import free_port
from tests.e2e.commands import CREDENTIAL, HEIGHT, base_of, children, post, waypost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

DEMO = {"jsonrpc": "2.0", "id": 1, "method": "getHealth", "params": {}}


def read(path: Path) -> str:
    return path.read_text()


def write(path: Path, text: str) -> None:
    path.write_text(text)


async def generations(http: int) -> set[int]:
    """The generations that readiness reports over a few connections, which the kernel spreads over the workers."""
    found = set()
    for _ in range(20):
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{http}/readyz") as response:
            found.add((await response.json())["generation"])
    return found


async def test_two_workers_change_together_or_not_at_all(config: Path, tmp_path: Path) -> None:
    http, grpc_port = free_port(), free_port()
    socket = tmp_path / "control.sock"
    beginning = f'control.socket = "{socket}"\n' + read(config)
    write(config, beginning)
    ports = ("--http-port", str(http), "--grpc-port", str(grpc_port))
    async with waypost("serve", "--config", str(config), *ports, "--workers", "2", folder=tmp_path) as running:
        base = await base_of(running)
        assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
        assert await generations(http) == {1}

        async def reload() -> tuple[int | None, str]:
            async with waypost("reload", "--config", str(config), folder=tmp_path) as command:
                code = await command.ended(60)
                return code, command.out + command.err

        write(config, "quotas.demo_burst = 3\n" + beginning)
        code, text = await reload()
        assert (code, text) == (0, "reloaded (generation 2): quotas.demo_burst\n")
        assert await generations(http) == {2}
        # Three at once for both workers.
        answers = await post(f"http://127.0.0.1:{http}/demo", [DEMO] * 4)
        assert sum("result" in one for one in answers) == 3

        # A mistake changes nothing, and a worker that dies meanwhile comes back with what holds.
        write(config, beginning + '\n[log]\nlevel = "loud"\n')
        code, text = await reload()
        assert code == 1
        assert 'config error: log.level = "loud"' in text
        assert "fix: choose" in text
        assert "nothing was changed" in text
        os.kill(children(running.process.pid)[0], signal.SIGKILL)
        await running.printed("a worker was started again", stream="err")
        assert await generations(http) == {2}
        write(config, beginning)
        running.signal(signal.SIGHUP)
        await running.printed('"generation": 3', stream="err")
        assert await generations(http) == {3}
        assert (await post(base, HEIGHT))["result"]
        running.signal()
        assert await running.ended() == 0
        assert not socket.exists()
        assert "Traceback" not in running.err


class Venue:
    """Stands before the devnet's venue and counts who asks."""

    def __init__(self, url: str) -> None:
        self.asked = 0
        self._url = url

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self._url}/info", data=await request.read()) as got,
        ):
            return web.json_response(await got.json())

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/info", self.answer)
        async with TestServer(app) as server:
            yield str(server.make_url("")).rstrip("/")


async def test_all_workers_ask_a_source_where_it_is_now(config: Path, tmp_path: Path) -> None:
    text = read(config)
    url = re.search(r"^\[sources\.hyperliquid\]\nendpoints = \[.*url = \"([^\"]+)\"", text, re.MULTILINE)
    assert url is not None
    before, after = Venue(url[1]), Venue(url[1])
    ports = ("--http-port", str(free_port()), "--grpc-port", str(free_port()), "--workers", "2")
    asked = {"jsonrpc": "2.0", "id": 1, "method": "getVenueAFunding", "params": {}}
    async with before.served() as first, after.served() as second:
        write(config, f'control.socket = "{tmp_path}/control.sock"\n' + text.replace(url[1], first))
        async with waypost("serve", "--config", str(config), *ports, folder=tmp_path) as running:
            base = await base_of(running)
            write(config, read(config).replace(first, second))
            async with waypost("reload", "--config", str(config), folder=tmp_path) as command:
                assert await command.ended(60) == 0, command.err
                assert "sources.hyperliquid.endpoints" in command.out
            # The kernel spreads connections over the workers; each keeps what it was answered.
            for _ in range(40):
                assert (await post(base, asked))["result"]
            assert (before.asked, after.asked) == (0, 2)
            # A reader is built with its source or without: to switch one off takes a restart.
            write(config, re.sub(r"(\[sources\.hyperliquid\]\nendpoints = )\[.*\]", r"\1[]", read(config)))
            async with waypost("reload", "--config", str(config), folder=tmp_path) as command:
                assert await command.ended(60) == 1
                assert "sources.hyperliquid.endpoints" in command.out + command.err
                assert "restart" in command.out + command.err


async def test_one_process_is_found_by_its_port(config: Path, tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    here = {"XDG_RUNTIME_DIR": str(runtime)}
    port = free_port()
    start = ("serve", "--config", str(config), "--http-port", str(port), "--grpc-port", "0")
    async with waypost(*start, folder=tmp_path, **here) as running:
        await base_of(running)
        write(config, read(config) + '\n[log]\nlevel = "error"\n')
        async with waypost(
            "reload", "--config", str(config), "--http-port", str(port), folder=tmp_path, **here
        ) as done:
            assert await done.ended(60) == 0, done.err
            assert "log.level" in done.out
        write(config, read(config) + '\n[metrics]\nlisten = "127.0.0.1:1"\n')
        running.signal(signal.SIGHUP)
        await running.printed("metrics.listen", stream="err")
        refusal = json.loads(next(line for line in running.err.splitlines() if "nothing was reloaded" in line))
        assert "restart" in refusal["mistakes"][0]
        reader, writer = await asyncio.open_unix_connection(runtime / "waypost" / f"devnet-{port}.sock")
        writer.write(b"nonsense\n")
        assert not json.loads(await reader.readline())["ok"]
        writer.close()
    async with waypost("reload", "--http-port", str(free_port()), folder=tmp_path, **here) as lost:
        assert await lost.ended(60) == 1
        assert "no gateway answers" in lost.err


async def test_server_and_transcoder_reload_each_for_itself(config: Path, tmp_path: Path) -> None:
    private, face_config = f"unix:{tmp_path}/private.sock", tmp_path / "face.toml"
    write(face_config, "")
    sockets = {name: str(tmp_path / f"{name}.sock") for name in ("server", "transcoder")}
    server = waypost(
        *("server", "--config", str(config), "--grpc-port", "0"),
        folder=tmp_path,
        WAYPOST_GRPC__PRIVATE_LISTEN=private,
        WAYPOST_GRPC__CREDENTIAL=CREDENTIAL,
        WAYPOST_CONTROL__SOCKET=sockets["server"],
    )
    transcoder = waypost(
        *("transcoder", "--config", str(face_config), "--grpc-target", private, "--http-port", "0"),
        folder=tmp_path,
        WAYPOST_TRANSCODER__CREDENTIAL=CREDENTIAL,
        WAYPOST_CONTROL__SOCKET=sockets["transcoder"],
    )

    async def reload(name: str) -> tuple[int | None, str]:
        async with waypost("reload", "--socket", sockets[name], folder=tmp_path) as command:
            return await command.ended(60), command.out + command.err

    async with server as serving, transcoder as face:
        await serving.printed("Waypost serves gRPC")
        base = (await face.printed(r"JSON-RPC on (\S+)"))[1]
        assert (await post(f"{base}/local", HEIGHT))["result"]
        write(config, "quotas.demo_burst = 3\n" + read(config))
        assert await reload("server") == (0, "reloaded (generation 2): quotas.demo_burst\n")
        assert sum("result" in one for one in await post(f"{base}/demo", [DEMO] * 4)) == 3
        # The configuration of both: what is the server's changes nothing here.
        write(face_config, 'quotas.demo_burst = 9\nlog.level = "error"\n')
        assert await reload("transcoder") == (0, "reloaded (generation 2): log.level\n")
        async with aiohttp.ClientSession() as session, session.get(f"{base}/readyz") as response:
            assert (response.status, (await response.json())["generation"]) == (200, 2)
        for process, path in ((face, face_config), (serving, config)):
            write(path, 'http.host = "127.0.0.9"\n' + read(path))
            process.signal(signal.SIGHUP)
            await process.printed("nothing was reloaded", stream="err")
            assert "http.host" in process.err
        assert (await post(f"{base}/local", HEIGHT))["result"]
