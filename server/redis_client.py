"""Opening a Redis: the cache's shared tier and shared quotas ask it in different ways, and connect alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.config_errors import ConfigError

if TYPE_CHECKING:
    from redis.asyncio import Redis


def open_redis_client(url: str, seconds: float, *, key: str, without: str, **options: Any) -> Redis:
    """Return a client of the Redis at a URL (`redis://`, `rediss://`, `unix://`); nothing is connected yet.

    A connection and each exchange may take `seconds`, and none is tried twice: who asks has a way without Redis. Raises
    ConfigError for the setting `key` without the package `redis`; `without` is what to set then.
    """
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        fix = f"this needs the Python package redis: install it, or {without}"
        raise ConfigError(key, "(hidden)", fix) from None
    client: Redis = Redis.from_url(
        url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0), **options
    )
    return client
