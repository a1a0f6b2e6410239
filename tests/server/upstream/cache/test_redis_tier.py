"""Redis shares what is kept; dead, slow or full of rubbish it costs nobody more than a miss."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import redis.asyncio
from structlog.testing import capture_logs

from server.upstream.cache import Cache, RedisTier, open_redis
from server.upstream.cache.redis_tier import LONGEST_SECONDS, LOOKUP_SECONDS
from tests.pausing import pause
from tests.server.upstream.cache.conftest import RedisServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def tier_of(server: RedisServer, namespace: str = "devnet") -> AsyncIterator[RedisTier]:
    tier = open_redis(server.url, namespace)
    try:
        yield tier
    finally:
        await tier.close()


async def until_awake(tier: RedisTier) -> None:
    assert tier._healer is not None
    await asyncio.wait_for(tier._healer, 20)
    assert not tier.is_resting


@pytest.mark.usefixtures("unhurried")
async def test_what_one_process_keeps_another_finds(redis_server):
    async with tier_of(redis_server) as one, tier_of(redis_server) as other:
        one.put(b"key", b"value\0\xff", 60)
        await one.flush()
        found = await other.get(b"key")
        assert found is not None
        value, seconds = found
        assert value == b"value\0\xff"
        assert 55 < seconds <= 60


@pytest.mark.usefixtures("unhurried")
async def test_memory_takes_what_redis_has_and_forgets_it_when_redis_does(redis_server, clock):
    async with tier_of(redis_server) as one, tier_of(redis_server) as other:
        Cache(1 << 20, shared=one).keep(b"key", b"value", 60)
        await one.flush()
        second = Cache(1 << 20, shared=other, clock=clock)
        assert await second.get_lasting(b"key") == b"value"
        redis_server.stop()
        assert await second.get_lasting(b"key") == b"value"
        clock.pass_seconds(60)
        assert await second.get_lasting(b"key") is None


@pytest.mark.usefixtures("unhurried")
async def test_namespaces_share_nothing(redis_server):
    async with tier_of(redis_server, "mainnet") as one, tier_of(redis_server, "devnet") as other:
        one.put(b"key", b"value", 60)
        await one.flush()
        assert await one.get(b"key") is not None
        assert await other.get(b"key") is None


async def test_redis_is_reported_how_long_to_keep_a_value_and_no_key_tells_a_question(redis_server):
    async with tier_of(redis_server) as tier:
        tier.put(b"a question of somebody", b"1", 60)
        tier.put(b"for ever", b"2", math.inf)
        tier.put(b"over already", b"3", -1)
        await tier.flush()
        client = redis.asyncio.Redis.from_url(redis_server.url)
        keys = await client.keys("*")
        lifetimes = sorted([await client.pttl(key) for key in keys])
        await client.aclose()
    assert len(keys) == 2
    assert all(key.startswith(b"waypost:1:devnet:") and b"question" not in key for key in keys)
    assert 55_000 < lifetimes[0] <= 60_000
    assert LONGEST_SECONDS * 1000 - 5000 < lifetimes[1] <= LONGEST_SECONDS * 1000


@pytest.mark.usefixtures("unhurried")
async def test_rubbish_under_a_key_is_a_miss(redis_server):
    async with tier_of(redis_server) as tier:
        client = redis.asyncio.Redis.from_url(redis_server.url)
        await client.set(tier._name(b"short"), b"abc")
        await client.set(tier._name(b"late"), b"\0" * 8 + b"value of 1970")
        await client.lpush(tier._name(b"list"), b"1")
        assert await tier.get(b"short") is None
        assert await tier.get(b"late") is None
        assert await tier.get(b"list") is None
        await client.aclose()


async def test_a_redis_that_dies_costs_one_short_wait_and_then_nothing_and_is_found_again(redis_server):
    async with tier_of(redis_server) as tier:
        cache = Cache(1 << 20, shared=tier)
        cache.keep(b"mine", b"1", 60)
        await tier.flush()
        redis_server.stop()
        started = time.perf_counter()
        assert await cache.get_lasting(b"other") is None
        assert time.perf_counter() - started < LOOKUP_SECONDS + 2
        assert tier.is_resting
        started = time.perf_counter()
        for number in range(1000):
            assert await cache.get_lasting(number.to_bytes(4)) is None
            cache.keep(number.to_bytes(4), b"1", 60)
        # A tenth of what waiting each time would take.
        assert time.perf_counter() - started < 100 * LOOKUP_SECONDS
        assert await cache.get_lasting(b"mine") == b"1"
        again = RedisServer.start(redis_server.port)
        try:
            await until_awake(tier)
            tier.put(b"new", b"2", 60)
            await tier.flush()
            assert await tier.get(b"new") is not None
        finally:
            again.stop()


async def test_a_redis_that_hangs_is_waited_for_once(redis_server):
    async with tier_of(redis_server) as tier:
        assert await tier.get(b"key") is None
        pause(redis_server.process.pid)
        started = time.perf_counter()
        answers = await asyncio.gather(*(tier.get(number.to_bytes(4)) for number in range(200)))
        assert set(answers) == {None}
        # Half of what waiting one after the other would take.
        assert time.perf_counter() - started < 100 * LOOKUP_SECONDS
        started = time.perf_counter()
        for _ in range(200):
            assert await tier.get(b"key") is None
        assert time.perf_counter() - started < 20 * LOOKUP_SECONDS
        os.kill(redis_server.process.pid, signal.SIGCONT)
        await until_awake(tier)


async def test_no_redis_at_all_is_no_reason_to_fail(clock):
    tier = open_redis("redis://127.0.0.1:1/0", "devnet")
    cache = Cache(1 << 20, shared=tier, clock=clock)
    assert await cache.get_lasting(b"key") is None
    cache.keep(b"key", b"value", 10)
    assert await cache.get_lasting(b"key") == b"value"
    await cache.close()


async def test_writes_that_pile_up_are_dropped_not_kept_waiting(redis_server):
    async with tier_of(redis_server) as tier:
        pause(redis_server.process.pid)
        for number in range(50_000):
            tier.put(number.to_bytes(4), bytes(100), 60)
        assert len(tier._pending) <= 2000
        os.kill(redis_server.process.pid, signal.SIGCONT)
        await tier.flush()
        assert not tier._pending
        assert tier._pending_bytes == 0


async def test_a_closed_tier_neither_asks_nor_writes(redis_server):
    tier = open_redis(redis_server.url, "devnet")
    await tier.close()
    tier.put(b"key", b"value", 60)
    assert await tier.get(b"key") is None


async def test_the_log_names_neither_host_nor_password():
    tier = open_redis("redis://:PASSWORD@127.0.0.1:1/0", "devnet")
    with capture_logs() as lines:
        await tier.get(b"key")
    await tier.close()
    logged = repr(lines)
    assert "shared cache does not answer" in logged
    assert "PASSWORD" not in logged
    assert "127.0.0.1" not in logged


@pytest.mark.parametrize("seconds", [0.0, -5.0])
async def test_a_lifetime_that_is_over_is_not_written(redis_server, seconds):
    async with tier_of(redis_server) as tier:
        tier.put(b"key", b"value", seconds)
        await tier.flush()
        assert await tier.get(b"key") is None
