"""Redis as the shared tier: optional, and never in the way of a request.

A look-up waits `LOOKUP_SECONDS` at most. The first failure opens the circuit: from then on every look-up is a miss at
once and nothing is written, while one task pings until Redis answers again. Writes leave in the background, many in one
exchange, and are dropped when they pile up.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import struct
import time
from collections import deque
from typing import TYPE_CHECKING

import structlog

from runtime.metrics import set_store_up
from server.redis_client import open_redis_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis.asyncio import Redis

LOOKUP_SECONDS = 0.05
"""Seconds that a look-up waits for Redis."""

LONGEST_SECONDS = 24 * 3600.0
"""How long Redis keeps values that never go out of date; its own eviction policy may drop them earlier."""

_CONNECTIONS = 32
_PENDING = 2000
_PENDING_BYTES = 16 << 20
_PER_EXCHANGE = 100
_LARGEST = 1 << 20
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 15.0
_WRITE_SECONDS = 2.0

# Until when the value may be used, in seconds of the epoch: memory must not keep it longer than Redis does.
_HEADER = struct.Struct(">d")
# Raised when what stands behind the same key means something else.
_FORMAT = b"waypost:1:"

_log = structlog.get_logger("waypost.cache")


def open_redis(url: str, namespace: str) -> RedisTier:
    """Return the tier at a URL (`redis://`, `rediss://`, `unix://`); nothing is connected yet.

    Gateways share values when URL and namespace are the same. Raises ConfigError without the package `redis`.
    """
    client = open_redis_client(
        url,
        _WRITE_SECONDS,
        key="cache.redis_url",
        without="remove cache.redis_url",
        max_connections=2 * _CONNECTIONS,
    )
    return RedisTier(client, namespace)


class RedisTier:
    """See `SharedTier`. `wall` returns the time of day in seconds, which processes on several machines share."""

    def __init__(self, client: Redis, namespace: str, *, wall: Callable[[], float] = time.time) -> None:
        self._client = client
        self._prefix = _FORMAT + namespace.encode() + b":"
        self._wall = wall
        self._asking: set[asyncio.Task[object]] = set()
        self._is_open = False
        self._pending: deque[tuple[bytes, bytes, float]] = deque()
        self._pending_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._healer: asyncio.Task[None] | None = None
        self._closed = False
        set_store_up("cache", True)

    @property
    def is_resting(self) -> bool:
        """Whether Redis is left alone because it failed."""
        return self._is_open

    async def get(self, key: bytes) -> tuple[bytes, float] | None:
        """See `SharedTier.get`."""
        if self._is_open or self._closed or len(self._asking) >= _CONNECTIONS:
            return None
        # In a task that is left behind when it is late: the client's own way out of a cancelled call may take seconds.
        asking = asyncio.get_running_loop().create_task(self._ask(self._name(key)))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        try:
            await asyncio.wait((asking,), timeout=LOOKUP_SECONDS)
        except asyncio.CancelledError:
            asking.cancel()
            raise
        if not asking.done():
            asking.cancel()
            self._rest(TimeoutError())
            return None
        framed = None if asking.cancelled() else asking.result()
        if not isinstance(framed, bytes) or len(framed) < _HEADER.size:
            return None
        left = _HEADER.unpack_from(framed)[0] - self._wall()
        # A clock that is ahead of the writer's must not make the value live longer than any can.
        return (framed[_HEADER.size :], min(left, LONGEST_SECONDS)) if left > 0 else None

    def put(self, key: bytes, value: bytes, seconds: float) -> None:
        """See `SharedTier.put`."""
        full = len(self._pending) >= _PENDING or self._pending_bytes + len(value) > _PENDING_BYTES
        if self._is_open or self._closed or full or len(value) > _LARGEST:
            return
        self._pending.append((key, value, self._wall() + min(seconds, LONGEST_SECONDS)))
        self._pending_bytes += len(value)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())

    def forget(self, keys: Sequence[bytes]) -> None:
        """See `SharedTier.forget`."""
        dropped = set(keys)
        self._pending = deque(entry for entry in self._pending if entry[0] not in dropped)
        self._pending_bytes = sum(len(value) for _, value, _ in self._pending)
        if self._is_open or self._closed:
            return
        # Counted as a look-up under way, so that the end of the process ends it.
        dropping = asyncio.get_running_loop().create_task(self._drop([self._name(key) for key in keys]))
        self._asking.add(dropping)
        dropping.add_done_callback(self._asking.discard)

    async def flush(self) -> None:
        """Return once everything put so far is written or dropped."""
        while self._writer is not None:
            await asyncio.wait([self._writer])

    async def close(self) -> None:
        """See `SharedTier.close`."""
        self._closed = True
        tasks = [*self._asking, *(task for task in (self._writer, self._healer) if task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(Exception):
            await self._client.aclose()

    def _name(self, key: bytes) -> bytes:
        # Keys hold calldata of any length; hashed they are short, and an operator's `KEYS` shows no caller's requests.
        return self._prefix + hashlib.sha256(key).hexdigest().encode()

    async def _ask(self, name: bytes) -> object:
        try:
            return await self._client.get(name)
        except Exception as error:
            # Whatever it is: a cache that cannot answer is a miss.
            self._rest(error)
            return None

    async def _drop(self, names: Sequence[bytes]) -> object:
        if self._writer is not None:
            # What is being written now is dropped as well.
            await asyncio.wait([self._writer])
        try:
            return await self._client.delete(*names)
        except Exception as error:
            self._rest(error)
            return None

    async def _write(self) -> None:
        try:
            while self._pending and not self._is_open:
                pipeline = self._client.pipeline(transaction=False)
                now = self._wall()
                for _ in range(min(len(self._pending), _PER_EXCHANGE)):
                    key, value, until = self._pending.popleft()
                    self._pending_bytes -= len(value)
                    milliseconds = int((until - now) * 1000)
                    if milliseconds > 0:
                        pipeline.set(self._name(key), _HEADER.pack(until) + value, px=milliseconds)
                async with asyncio.timeout(_WRITE_SECONDS):
                    await pipeline.execute()
        except Exception as error:
            self._rest(error)
        finally:
            self._writer = None

    def _rest(self, error: Exception) -> None:
        if self._is_open or self._closed:
            return
        self._is_open = True
        self._pending.clear()
        self._pending_bytes = 0
        set_store_up("cache", False)
        # The text of a connection error names host and port: the type is enough.
        _log.warning("the shared cache does not answer; going on without it", failure=type(error).__name__)
        self._healer = asyncio.get_running_loop().create_task(self._heal())

    async def _heal(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(_WRITE_SECONDS):
                    await self._client.ping()
                break
            except Exception:
                pause = min(pause * 2, _LONGEST_PAUSE)
        self._is_open = False
        set_store_up("cache", True)
        _log.info("the shared cache answers again")
