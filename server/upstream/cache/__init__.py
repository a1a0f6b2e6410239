"""Answers kept for later: in memory, and in Redis where several processes share them."""

from server.upstream.cache.cache import (
    FOR_EVER,
    OVERHEAD,
    ByteLru,
    Cache,
    CacheContext,
    Holding,
    SharedTier,
    key_prefix,
    open_cache,
)
from server.upstream.cache.redis_tier import RedisTier, open_redis

__all__ = [
    "FOR_EVER",
    "OVERHEAD",
    "ByteLru",
    "Cache",
    "CacheContext",
    "Holding",
    "RedisTier",
    "SharedTier",
    "key_prefix",
    "open_cache",
    "open_redis",
]
