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
from typing import TYPE_CHECKING, Any

import grpc
import psutil
import pytest
from waypost.v1.system_pb2 import GetHealthRequest
from waypost.v1.system_pb2_grpc import SystemServiceStub

from devnet.ports import free_port
from tests.faults.floods.attack import FLOODS, FULL, PATH
from tests.faults.floods.http2 import HEADERS, Connection, request_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
KEY = (("x-api-key", "local"),)
GOOD_CALLS = 40
# Of a machine that many share; a call beside a flood took at most 5 s on two cores with ten others waiting for them.
PATIENCE = 5.0 if FULL else 30.0
MEBIBYTE = 1 << 20
GROWTH = 160 * MEBIBYTE


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, psutil.Process]]:
    """A gateway in a process of its own, of the devnet's profile, whose one chain is not asked: its gRPC port."""
    folder = tmp_path_factory.mktemp("served")
    config = folder / "waypost.toml"
    config.write_text(
        f'profile = "devnet"\n[storage]\nurl = "sqlite:///{folder / "waypost.db"}"\n[chains.ethereum]\n'
        f'endpoints = [{{ label = "none", url = "http://127.0.0.1:{free_port()}" }}]\n'
    )
    port, http = free_port(), free_port()
    command = [sys.executable, "-P", "-m", "cli", "serve", "--config", config]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--grpc-port", str(port), "--http-port", str(http)], cwd=ROOT, stdout=log, stderr=log
        )
    try:
        yield port, psutil.Process(process.pid)
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
        await stub.GetHealth(GetHealthRequest(), metadata=KEY, timeout=PATIENCE)
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
async def test_a_flood_costs_no_caller_an_answer_nor_the_gateway_its_memory(
    served: tuple[int, psutil.Process], kind: str
) -> None:
    port, process = served
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as before:
        await asyncio.wait_for(before.channel_ready(), 60)
        assert await ask(before) == "OK"
    at_first = process.memory_info().rss
    ended = asyncio.Event()
    watching = asyncio.create_task(highest(process, ended))
    attack = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.floods.attack", str(port), kind, cwd=ROOT, env=dict(os.environ)
    )
    await asyncio.sleep(0.7)
    # A caller that comes while the flood runs.
    options = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        calls = []
        for _ in range(GOOD_CALLS):
            calls.append(asyncio.create_task(ask(channel)))
            await asyncio.sleep(0.07)
        outcomes = await asyncio.gather(*calls)
    assert await asyncio.wait_for(attack.wait(), 60) == 0
    ended.set()
    grown = await watching - at_first
    print(f"{kind}: {dict(Counter(outcomes))}, {at_first / MEBIBYTE:.0f} MiB and {grown / MEBIBYTE:.0f} more")
    assert outcomes == ["OK"] * GOOD_CALLS
    assert grown < GROWTH, f"{grown / MEBIBYTE:.0f} MiB more"


@pytest.mark.parametrize("key", [None, "wp_" + "a" * 43])
async def test_a_call_without_a_key_is_answered_before_it_sends_anything(
    served: tuple[int, psutil.Process], key: str | None
) -> None:
    port, _ = served
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await asyncio.wait_for(channel.channel_ready(), 60)
    extra = () if key is None else (("x-api-key", key),)

    def refusal() -> bytes:
        with Connection(port) as connection:
            connection.open(1, request_headers(PATH, *extra))
            while True:
                kind, _, stream, payload = connection.receive()
                if kind == HEADERS and stream == 1:
                    return payload

    answer = await asyncio.to_thread(refusal)
    # UNAUTHENTICATED, literally: HPACK's table has no entry for it.
    assert b"grpc-status\x0216" in answer
