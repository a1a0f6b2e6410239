"""Workers are watched: these run small programs in place of gateways (the e2e tests run gateways)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from cli import workers
from cli.stopping import Stop
from cli.workers import Worker, worker_environment
from runtime.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LASTS = "import sys; print('ready', flush=True); sys.stdin.read()"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
FAILS = "raise SystemExit(3)"


def worker(script: str) -> Worker:
    return Worker(0, [sys.executable, "-c", script], os.environ)


@pytest.fixture
async def lasting() -> AsyncIterator[Worker]:
    one = worker(LASTS)
    assert await one.start()
    yield one
    await one.end(Stop(), 1.0)


def pid_of(one: Worker) -> int:
    assert one.pid is not None
    return one.pid


async def test_a_worker_that_dies_is_started_again(lasting: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SHORTEST_LIFE", 0.0)
    keeping = asyncio.create_task(lasting.keep())
    first = pid_of(lasting)
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(30):
        while lasting.pid in (None, first):  # noqa: ASYNC110  # a process starts on its own
            await asyncio.sleep(0.02)
    assert not keeping.done()
    keeping.cancel()


async def test_a_worker_that_dies_too_soon_is_given_up(lasting: Worker) -> None:
    keeping = asyncio.create_task(lasting.keep())
    os.kill(pid_of(lasting), signal.SIGKILL)
    await asyncio.wait_for(keeping, 5)
    assert lasting.pid is None


async def test_a_worker_that_does_not_come_to_serve_is_told_as_that() -> None:
    one = worker(FAILS)
    assert not await one.start()
    await one.end(Stop(), 1.0)
    assert one.pid is None


async def test_a_worker_that_overstays_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "OVERSTAY", 0.2)
    one = worker(STUBBORN)
    assert await one.start()
    began = time.monotonic()
    await one.end(Stop(), 0.2)
    assert one.pid is None
    assert time.monotonic() - began < 5


def test_a_worker_reads_the_settings_of_its_parent() -> None:
    overrides = {
        "profile": "devnet",
        "workers": 3,
        "http": {"port": 81},
        "grpc": {"port": 82, "reflection": False},
        "quotas": {"mode": "per-process"},
        "chains": {"base": {"endpoints": [{"label": "anvil", "url": "http://127.0.0.1:1234"}]}},
    }
    environ = {"WAYPOST_HTTP_PORT": "1", "WAYPOST_LOG__LEVEL": "error"}
    settings = load_settings(environ=environ, overrides=overrides)
    assert load_settings(environ=worker_environment(environ, overrides)) == settings
    assert settings.log.level == "error"
