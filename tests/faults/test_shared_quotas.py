"""Quotas that several processes share: what is admitted, counted per window, while what counts them is stopped or dies.

Two hundred callers ask for more than each quota allows, on every process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from bisect import bisect_right
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.commands import children
from tests.faults.quota_caller import DEMO, EXACT, HOT, PRINCIPALS, RECORD
from tests.pausing import pause
from tests.server.upstream.cache.conftest import RedisServer

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator
    from pathlib import Path

CALLERS = 200


class Admitted(NamedTuple):
    """One admitted charge: when it was asked for and known, in seconds of the machine's clock."""

    asked: float
    known: float
    kind: int
    waited: int


@dataclass
class Crowd:
    """Callers in processes of their own, and what of theirs was admitted."""

    file: Path
    processes: list[Process] = field(default_factory=list)
    began: float = 0.0
    workers: list[int] = field(default_factory=list)

    def kill_parent(self) -> None:
        """Kill the parent of the workers, which go on without it."""
        (parent,) = self.processes
        self.workers += children(parent.pid)
        parent.kill()

    async def until(self, second: float) -> None:
        """Wait until so many seconds after the beginning."""
        await asyncio.sleep(self.began + second - monotonic())

    def admitted(self, kind: int, first: float = -60.0, last: float = 1e9) -> list[Admitted]:
        """Return what of a kind was admitted between two seconds after the beginning, in order."""
        content = self.file.read_bytes()
        rows = (
            Admitted(a / 1e9, b / 1e9, *rest) for a, b, *rest in RECORD.iter_unpack(content[: len(content) // 24 * 24])
        )
        return sorted(row for row in rows if row.kind == kind and first <= row.known - self.began < last)

    def fullest(self, kind: int, seconds: float, first: float = -60.0, last: float = 1e9) -> int:
        """Return how many were admitted in the fullest window of so many seconds."""
        times = sorted(row.known for row in self.admitted(kind, first, last))
        return max(bisect_right(times, time + seconds) - number for number, time in enumerate(times))

    def check_total(self, kind: int, last: float) -> None:
        """Check that no more was admitted since the start than burst and rate allow, and at least 98 % of the rate.

        Of the demo, whose next unit waits until the last one is asked for, the most alone.
        """
        policy = PRINCIPALS[kind].policy
        rows = self.admitted(kind, last=last)
        # To the last one: what a busy machine holds up at the end is not late, it is not there.
        owed = policy.rate * (max(row.known for row in rows) - min(row.asked for row in rows))
        assert len(rows) <= owed + policy.burst + (kind != DEMO)
        assert kind == DEMO or len(rows) >= 0.98 * owed + 0.9 * policy.burst

    def check_share(self, kind: int, first: float, last: float, part: float) -> None:
        """Check that at least this part of the rate was admitted between two seconds."""
        assert len(self.admitted(kind, first, last)) >= part * PRINCIPALS[kind].policy.rate * (last - first)

    def check_windows(self, first: float = -60.0, last: float = 1e9, bursts: int = 1) -> None:
        """Check that no window of ten seconds has more than is allowed, with so many bursts."""
        for kind in (HOT, EXACT):
            policy = PRINCIPALS[kind].policy
            assert self.fullest(kind, 10.0, first, last) <= 1.02 * (policy.rate * 10 + policy.burst * bursts)


@asynccontextmanager
async def crowd(folder: Path, name: str, count: int, redis: RedisServer | None) -> AsyncIterator[Crowd]:
    """Callers in `count` processes: they share a Redis, or are the workers of one parent."""
    made = Crowd(folder / f"{name}.{count}")
    command = [sys.executable, "-m", "tests.faults.quota_caller", str(made.file), str(CALLERS // count)]
    commands = [[*command, f"--redis={redis.url}"]] * count if redis else [[*command, f"--parent={count}"]]
    for one in commands:
        made.processes.append(
            await asyncio.create_subprocess_exec(
                *one, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True
            )
        )
    try:
        for process in made.processes:
            assert process.stdout is not None
            async with asyncio.timeout(60):
                assert await process.stdout.readline() == b"ready\n"
        made.began = monotonic()
        yield made
    finally:
        running = [process.pid for process in made.processes if process.returncode is None]
        for pid in [*made.workers, *running, *(child for one in running for child in children(one))]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in made.processes:
            await process.wait()


@pytest.mark.alone("counts what is admitted per second of the clock")
@pytest.mark.parametrize("count", [1, 2])
async def test_one_and_two_processes_admit_what_one_quota_allows(count: int, tmp_path: Path) -> None:
    redis = RedisServer.start()
    try:
        async with (
            crowd(tmp_path, "redis", count, redis) as by_redis,
            crowd(tmp_path, "ledger", count, None) as by_ledger,
        ):
            await by_ledger.until(2.5)
    finally:
        redis.stop()
    for each in (by_redis, by_ledger):
        for kind in (HOT, EXACT, DEMO):
            each.check_total(kind, 2.5)


@pytest.mark.alone("counts what is admitted per second of the clock")
async def test_four_processes_go_on_at_the_rate_while_what_counts_is_away(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        redis = RedisServer.start()
        stack.callback(lambda: redis.stop())
        by_redis = await stack.enter_async_context(crowd(tmp_path, "redis", 4, redis))
        by_ledger = await stack.enter_async_context(crowd(tmp_path, "ledger", 4, None))
        (parent,) = by_ledger.processes
        by_redis.began = by_ledger.began
        await by_redis.until(3.0)
        for pid in (redis.process.pid, parent.pid):
            pause(pid)
        await by_redis.until(5.0)
        for pid in (redis.process.pid, parent.pid):
            os.kill(pid, signal.SIGCONT)
        await by_redis.until(7.0)
        redis.stop()
        first, *_ = children(parent.pid)
        os.kill(first, signal.SIGKILL)
        await by_redis.until(8.5)
        redis = RedisServer.start(redis.port)
        await by_redis.until(9.5)
        by_ledger.kill_parent()
        await by_redis.until(11.0)
    for each in (by_redis, by_ledger):
        for kind in (HOT, EXACT):
            each.check_total(kind, 3.0)
            # Stopped: each process has its part. Then it is back.
            each.check_share(kind, 3.5, 5.0, 0.8)
            each.check_share(kind, 5.5, 7.0, 0.8)
        # Nothing waits for what does not answer, once two exchanges have failed.
        assert not any(row.waited for row in each.admitted(HOT, 3.5, 4.9))
    # A Redis that starts empty may give one burst more; a worker that starts again gets none.
    by_redis.check_windows(last=8.5)
    by_redis.check_windows(bursts=2)
    by_ledger.check_windows()
    for kind in (HOT, EXACT):
        by_redis.check_share(kind, 7.2, 8.5, 0.8)
        by_redis.check_share(kind, 9.2, 11.0, 0.8)
        by_ledger.check_share(kind, 7.0, 9.5, 0.8)
        # Without the parent each has its part still, three at least: the fourth may not be up again.
        by_ledger.check_share(kind, 9.7, 11.0, 0.7)
