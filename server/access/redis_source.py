"""Redis as what counts quotas for all processes: the arrival times are its values, by its own clock.

Both scripts are atomic and touch a fixed number of values for each charge. What is kept lapses by itself once a quota
is whole again. Keys name principals, never API keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from time import monotonic_ns
from typing import TYPE_CHECKING

from server.redis_client import open_redis_client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis
    from redis.commands.core import AsyncScript

    from server.access.leases import Take

# As `Quotas.take`, for each of KEYS with its interval, burst, debt and units; nothing where the first argument, a time
# in microseconds, has passed: a Redis that stood still finds what its clients gave up long ago. Seconds and nanoseconds
# are apart, as Lua's numbers hold integers to 2^53 only, and are written whole, as `tostring` keeps fourteen digits.
_TAKE = """
local time = redis.call('TIME')
local seconds, nanoseconds = tonumber(time[1]), tonumber(time[2]) * 1000
local latest, microseconds = tonumber(ARGV[1]), tonumber(time[1]) * 1e6 + tonumber(time[2])
local answer = {microseconds}
if latest > 0 and microseconds > latest then
  return answer
end
for number, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[number * 4 - 2]), tonumber(ARGV[number * 4 - 1])
  local debt, units = tonumber(ARGV[number * 4]), tonumber(ARGV[number * 4 + 1])
  local ahead = 0
  local kept = redis.pcall('GET', key)
  if type(kept) == 'string' then
    local s, ns = string.match(kept, '^(%d+) (%d+)$')
    if s then
      ahead = math.max(0, (tonumber(s) - seconds) * 1e9 + tonumber(ns) - nanoseconds)
    end
  end
  ahead = math.min(ahead + debt * interval, 4e18)
  local admitted = math.min(units, math.max(0, burst - math.ceil(ahead / interval)))
  ahead = ahead + admitted * interval
  if debt + admitted > 0 then
    local arrival = nanoseconds + ahead
    local over = math.floor(arrival / 1e9)
    local text = string.format('%.0f %.0f', seconds + over, arrival - over * 1e9)
    redis.call('SET', key, text, 'PX', string.format('%.0f', math.ceil(ahead / 1e6)))
  end
  answer[number * 2] = admitted
  answer[number * 2 + 1] = ahead
end
return answer
"""

# How long a process counts as alive after its last beat, in seconds.
_ALIVE = 3
_COUNT = f"""
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - {_ALIVE}))
redis.call('EXPIRE', KEYS[1], {_ALIVE * 4})
return redis.call('ZCARD', KEYS[1])
"""

_CONNECT_SECONDS = 2.0
_LEAVE_SECONDS = 0.2
# Raised when what stands behind the same key means something else.
_FORMAT = "waypost:quota:1:"


class RedisSource:
    """See `Source`. Gateways share quotas where URL and namespace are the same."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._prefix = f"{_FORMAT}{namespace}:"
        self._processes = f"{self._prefix}processes"
        self._name = secrets.token_hex(8)
        # How far Redis's clock is ahead of this process's, or up to a round trip further, in microseconds; 0 where it
        # is not known.
        self._offset = 0
        self._take: AsyncScript = client.register_script(_TAKE)
        self._count: AsyncScript = client.register_script(_COUNT)

    async def exchange(self, takes: Sequence[Take], seconds: float) -> Sequence[tuple[int, int]]:
        """See `Source.exchange`."""
        sent = monotonic_ns() // 1000
        until = sent + self._offset + round(seconds * 1e6) if self._offset else 0
        keys = [self._prefix + take.name for take in takes]
        numbers = [number for take in takes for number in take[1:]]
        now, *answer = await self._take(keys, [until, *numbers])
        self._offset = now - sent
        if not answer:
            raise TimeoutError
        return list(zip(answer[::2], answer[1::2], strict=True))

    async def count_processes(self) -> int:
        """See `Source.count_processes`; those whose last beat is a few seconds old do not count."""
        return int(await self._count([self._processes], [self._name]))

    async def close(self) -> None:
        """See `Source.close`. The others count without this process at once."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._client.zrem(self._processes, self._name)
        with contextlib.suppress(Exception):
            await self._client.aclose()


def open_redis_source(url: str, namespace: str) -> RedisSource:
    """Return the source at a URL (`redis://`, `rediss://`, `unix://`); nothing is connected yet.

    Raises ConfigError without the package `redis`.
    """
    client = open_redis_client(url, _CONNECT_SECONDS, key="quotas.redis_url", without='set quotas.backend = "memory"')
    return RedisSource(client, namespace)
