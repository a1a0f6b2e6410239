"""Floods without a key: callers with one are answered all the same, and the gateway's memory stays as it was.

Before calls were refused by their headers, and connections and streams bounded, 25 messages of 64 MiB took 3 GiB, and
of forty good calls beside a flood of resets or headers between 14 and 40 failed (docs/decisions/0031).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import psutil
import pytest
from waypost.v1.system_pb2 import GetHealthRequest
from waypost.v1.system_pb2_grpc import SystemServiceStub

from devnet.ports import free_port
from tests.faults.floods.attack import FLOODS, FULL, PATH
from tests.faults.floods.http2 import HEADERS, Connection, request_headers
from tests.server.upstream.http.routes import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
KEY = (("x-api-key", "local"),)
GOOD_CALLS = 40
# So that all of them are made while the flood runs.
CALL_EVERY = 0.07 if FULL else 0.035
# Of a machine that many share; a call beside a flood took at most 5 s on two cores with ten others waiting for them.
CALL_SECONDS = 5.0 if FULL else 30.0
MEBIBYTE = 1 << 20
GROWTH = 160 * MEBIBYTE


class Served(NamedTuple):
    """A gateway in a process of its own: its gRPC port, and who vouches for its certificate where it has one."""

    port: int
    process: psutil.Process
    authority: bytes | None

    def channel(self, *options: tuple[str, int]) -> grpc.aio.Channel:
        if self.authority is None:
            return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=options)
        credentials = grpc.ssl_channel_credentials(self.authority)
        return grpc.aio.secure_channel(f"localhost:{self.port}", credentials, options=options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served")) as one:
        yield one


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("encrypted")
    with serve(folder, Authority(folder)) as one:
        yield one


@contextlib.contextmanager
def serve(folder: Path, authority: Authority | None = None) -> Iterator[Served]:
    """A gateway of the devnet's profile, whose one chain is not asked; by TLS where there is an authority."""
    config = folder / "waypost.toml"
    tls = ""
    if authority is not None:
        certificate, key = authority.issue("gateway.test")
        tls = f'[grpc.tls]\ncert_file = "{certificate}"\nkey_file = "{key}"\n'
    config.write_text(
        f'profile = "devnet"\n[storage]\nurl = "sqlite:///{folder / "waypost.db"}"\n{tls}[chains.ethereum]\n'
        f'endpoints = [{{ label = "none", url = "http://127.0.0.1:{free_port()}" }}]\n'
    )
    port, http = free_port(), free_port()
    command = [sys.executable, "-P", "-m", "cli", "serve", "--config", config]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--grpc-port", str(port), "--http-port", str(http)], cwd=ROOT, stdout=log, stderr=log
        )
    try:
        vouching = None if authority is None else authority.certificate.read_bytes()
        yield Served(port, psutil.Process(process.pid), vouching)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


async def ask(channel: Any) -> str:
    """Return what became of one good call."""
    stub: Any = SystemServiceStub(channel)  # type: ignore[no-untyped-call]
    try:
        await stub.GetHealth(GetHealthRequest(), metadata=KEY, timeout=CALL_SECONDS)
    except grpc.aio.AioRpcError as error:
        return f"{error.code().name}: {error.details()}"
    return "OK"


async def highest(process: psutil.Process, ended: asyncio.Event) -> int:
    """Return the most resident memory that the process has until the event, in bytes."""
    most = 0
    while not ended.is_set():
        most = max(most, process.memory_info().rss)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.02)
    return most


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_costs_no_caller_an_answer_nor_the_gateway_its_memory(served: Served, kind: str) -> None:
    await stand(served, kind)


# TLS costs both sides more, and bounds nothing else: one flood of each kind of bound, all of them where it is measured.
@pytest.mark.parametrize("kind", FLOODS if FULL else ("metadata", "messages", "connections"))
async def test_by_tls_it_costs_no_more(encrypted: Served, kind: str) -> None:
    await stand(encrypted, kind)


async def stand(served: Served, kind: str) -> None:
    """Run the flood, with good calls beside it."""
    process = served.process
    async with served.channel() as before:
        await asyncio.wait_for(before.channel_ready(), 60)
        assert await ask(before) == "OK"
    at_first = process.memory_info().rss
    ended = asyncio.Event()
    watching = asyncio.create_task(highest(process, ended))
    tls = () if served.authority is None else ("tls",)
    attack = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.floods.attack", str(served.port), kind, *tls, cwd=ROOT, env=dict(os.environ)
    )
    await asyncio.sleep(0.7)
    # A caller that comes while the flood runs.
    async with served.channel(("grpc.use_local_subchannel_pool", 1)) as channel:
        calls = []
        for _ in range(GOOD_CALLS):
            calls.append(asyncio.create_task(ask(channel)))
            await asyncio.sleep(CALL_EVERY)
        outcomes = await asyncio.gather(*calls)
    assert await asyncio.wait_for(attack.wait(), 60) == 0
    ended.set()
    grown = await watching - at_first
    print(f"{kind}: {dict(Counter(outcomes))}, {at_first / MEBIBYTE:.0f} MiB and {grown / MEBIBYTE:.0f} more")
    assert outcomes == ["OK"] * GOOD_CALLS
    assert grown < GROWTH, f"{grown / MEBIBYTE:.0f} MiB more"


@pytest.mark.parametrize("key", [None, "wp_" + "a" * 43])
async def test_a_call_without_a_key_is_answered_before_it_sends_anything(served: Served, key: str | None) -> None:
    async with served.channel() as channel:
        await asyncio.wait_for(channel.channel_ready(), 60)
    extra = () if key is None else (("x-api-key", key),)

    def refusal() -> bytes:
        with Connection(served.port) as connection:
            connection.open(1, request_headers(PATH, *extra))
            while True:
                kind, _, stream, payload = connection.receive()
                if kind == HEADERS and stream == 1:
                    return payload

    answer = await asyncio.to_thread(refusal)
    # UNAUTHENTICATED, literally: HPACK's table has no entry for it.
    assert b"grpc-status\x0216" in answer
