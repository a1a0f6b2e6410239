"""Opens the cache that the settings describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.metrics import measure_cache
from server.upstream.cache.cache import Cache
from server.upstream.cache.redis_tier import open_redis

if TYPE_CHECKING:
    from runtime.settings import Settings

_DEVNET_SECONDS = 1.0
"""Who tries things out on local nodes wants to see at once what a transaction changed."""


def open_cache(settings: Settings) -> Cache | None:
    """Return the cache, None where the settings keep nothing; nothing is connected yet.

    Gateways of one profile share a Redis. Raises ConfigError when the Redis client is not installed.
    """
    wanted = settings.cache
    if wanted.max_bytes == 0:
        return None
    near = min(wanted.near_head, _DEVNET_SECONDS) if settings.profile == "devnet" else wanted.near_head
    shared = None if wanted.redis_url is None else open_redis(wanted.redis_url.get_secret_value(), settings.profile)
    cache = Cache(wanted.max_bytes, near_seconds=near, shared=shared)
    measure_cache("near", lambda: cache.near.size)
    measure_cache("lasting", lambda: cache.lasting.size)
    return cache
