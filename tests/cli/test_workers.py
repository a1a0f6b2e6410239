"""Workers are watched: these run small programs in place of gateways (the e2e tests run gateways)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from cli import worker as worker_module
from cli.options import worker_environment
from cli.process import Stop
from cli.worker import INTERVAL, Worker, WorkerCounts
from cli.workers import Workers
from runtime.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

BEATS = """
import json, os, sys, threading, time
def beat():
    while True:
        os.write(1, b"alive\\n")
        time.sleep(0.05)
"""
LASTS = f"{BEATS}\nthreading.Thread(target=beat, daemon=True).start(); os.write(1, b'ready\\n'); sys.stdin.read()"
WRITES_INPUT = f"""{BEATS}
threading.Thread(target=beat, daemon=True).start()
os.write(1, b"ready\\n")
for line in sys.stdin:
    print(line, end="", file=open(sys.argv[1], "a"))
"""
# Ends at once where the file is there, which a test takes away.
UNLUCKY = f"import pathlib, sys\nif pathlib.Path(sys.argv[1]).exists(): raise SystemExit(3)\n{LASTS}"
# Says that it is alive until it serves, and nothing from then on: its event loop stands still.
HANGS = r"import os, time; os.write(1, b'alive\nready\n'); time.sleep(60)"
HANGS_EARLY = "import time; time.sleep(60)"
STUBBORN = f"import signal; signal.signal(15, signal.SIG_IGN)\n{LASTS}"
FAILS = "raise SystemExit(3)"


def worker(script: str, *arguments: object) -> Worker:
    return Worker(0, [sys.executable, "-c", script, *map(str, arguments)], os.environ)


@asynccontextmanager
async def kept(*workers: Worker) -> AsyncIterator[Workers]:
    """The workers, started and watched; ended at the end."""
    all_of_them = Workers(list(workers))
    assert await all_of_them.start()
    keeping = asyncio.create_task(all_of_them.keep())
    try:
        yield all_of_them
        assert not keeping.done()
    finally:
        keeping.cancel()
        await all_of_them.end(Stop(), 1.0)


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # processes act on their own
            await asyncio.sleep(0.02)


def pid_of(one: Worker) -> int:
    assert one.pid is not None
    return one.pid


async def test_a_worker_that_dies_is_started_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "SHORTEST_LIFE", 0.0)
    monkeypatch.setattr(worker_module, "FIRST_PAUSE", 3600.0)
    one = worker(LASTS)
    async with kept(one) as all_of_them:
        first = pid_of(one)
        os.kill(first, signal.SIGKILL)
        await until(lambda: one.is_serving and one.pid not in (None, first))
        assert all_of_them.counts == WorkerCounts(1, 1, 1)


async def test_one_that_dies_young_comes_back_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "FIRST_PAUSE", 0.05)
    stumbling_block = tmp_path / "block"
    one, other = worker(UNLUCKY, stumbling_block), worker(WRITES_INPUT, tmp_path / "received")
    async with kept(one, other) as all_of_them:
        steady = pid_of(other)
        assert all_of_them.counts == WorkerCounts(2, 2, 0)
        stumbling_block.touch()
        os.kill(pid_of(one), signal.SIGKILL)
        await until(lambda: one.restarts >= 3)
        assert all_of_them.counts.serving == 1
        stumbling_block.unlink()
        await until(lambda: one.is_serving)
        assert other.pid == steady
        assert all_of_them.counts.serving == 2
        # The other one received all of it.
        received = tmp_path / "received"
        last = all_of_them.counts.line().decode()
        await until(lambda: received.read_text().endswith(last))
        lines = [json.loads(line) for line in received.read_text().splitlines()]
        assert {line["serving"] for line in lines} == {1, 2}
        assert {line["configured"] for line in lines} == {2}


async def test_the_pauses_grow_and_end_with_a_long_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def short(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    one, other = worker(UNLUCKY, tmp_path / "block"), worker(LASTS)
    (tmp_path / "block").touch()
    monkeypatch.setattr(worker_module.asyncio, "sleep", short)
    async with kept(one, other):
        await until(lambda: one.restarts >= 9, 60)
        (tmp_path / "block").unlink()
        await until(lambda: one.is_serving)
        monkeypatch.setattr(worker_module, "SHORTEST_LIFE", 0.0)
        tries = one.restarts
        os.kill(pid_of(one), signal.SIGKILL)
        await until(lambda: one.restarts > tries)
    pauses = [seconds for seconds in slept if seconds != 0.02]
    assert pauses[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert pauses[-1] == 0


@pytest.mark.parametrize(("script", "bound"), [(HANGS, "LONGEST_SILENCE"), (HANGS_EARLY, "LONGEST_START")])
async def test_one_that_hangs_is_killed_and_replaced(script: str, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a loaded machine takes for the steady one to start and to say that it lives, and more.
    monkeypatch.setattr(worker_module, bound, 1.5)
    monkeypatch.setattr(worker_module, "SHORTEST_LIFE", 0.0)
    one, other = worker(script), worker(LASTS)
    async with kept(one, other):
        assert other.is_serving
        steady = other.pid
        await until(lambda: one.restarts >= 2)
        assert other.pid == steady


def test_what_hangs_is_noticed_within_five_seconds() -> None:
    assert worker_module.LONGEST_SILENCE + 2 * worker_module.LOOK < 5
    # Several words may come late before one is taken for hung.
    assert worker_module.LONGEST_SILENCE >= 4 * INTERVAL


async def test_no_worker_is_blamed_for_what_its_parent_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "LONGEST_SILENCE", 1.0)
    one = worker(LASTS)
    async with kept(one):
        first = pid_of(one)
        for _ in range(3):
            await asyncio.sleep(0.1)
            time.sleep(1.5)  # noqa: ASYNC251  # the parent is held up
        await asyncio.sleep(0.5)
        assert one.pid == first


async def test_none_that_comes_to_serve_is_an_end() -> None:
    all_of_them = Workers([worker(FAILS), worker(FAILS)])
    assert not await all_of_them.start()
    await all_of_them.end(Stop(), 1.0)


async def test_a_worker_that_overstays_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "OVERSTAY", 0.2)
    one = worker(STUBBORN)
    assert await one.start()
    began = time.monotonic()
    await one.end(Stop(), 0.2)
    assert one.pid is None
    assert time.monotonic() - began < 5


async def test_a_hung_worker_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "LONGEST_SILENCE", 0.5)
    one = worker(LASTS)
    assert await one.start()
    os.kill(pid_of(one), signal.SIGSTOP)
    async with asyncio.timeout(20):
        await one.end(Stop(), 3600.0)
    assert one.pid is None


def test_a_worker_reads_the_settings_of_its_parent() -> None:
    overrides = {
        "profile": "devnet",
        "workers": 3,
        "http": {"port": 81},
        "grpc": {"port": 82, "reflection": False},
        "quotas": {"backend": "redis", "redis_url": "redis://127.0.0.1:1"},
        "chains": {"base": {"endpoints": [{"label": "anvil", "url": "http://127.0.0.1:1234"}]}},
    }
    environ = {"WAYPOST_HTTP_PORT": "1", "WAYPOST_LOG__LEVEL": "error"}
    settings = load_settings(environ=environ, overrides=overrides)
    assert load_settings(environ=worker_environment(environ, overrides)) == settings
    assert settings.log.level == "error"
