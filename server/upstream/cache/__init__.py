"""Answers kept for later: in memory, and in Redis where several processes share them."""

from server.upstream.cache.cache import FOR_EVER, Cache, key_prefix
from server.upstream.cache.lru import OVERHEAD
from server.upstream.cache.opening import open_cache
from server.upstream.cache.redis_tier import RedisTier, open_redis
from server.upstream.cache.shared import SharedTier
from server.upstream.cache.use import CacheUse, Holding

__all__ = [
    "FOR_EVER",
    "OVERHEAD",
    "Cache",
    "CacheUse",
    "Holding",
    "RedisTier",
    "SharedTier",
    "key_prefix",
    "open_cache",
    "open_redis",
]
