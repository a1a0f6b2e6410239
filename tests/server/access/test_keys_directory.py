from __future__ import annotations

import asyncio
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

import pytest

from server.access.directory import FRESH_SECONDS, STALE_SECONDS, KeyDirectory
from server.access.keys import KeyStore, new_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy.ext.asyncio import AsyncEngine


class Clock:
    """Real time, moved on by what the tests add to `now`."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return monotonic() + self.now


class CountingStore(KeyStore):
    """The store, counting what it is asked; `is_down` makes it fail as an unreachable database does."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self.asked = 0
        self.loaded = 0
        self.is_down = False

    async def version(self) -> tuple[tuple[int, int, int], int]:
        self.asked += 1
        if self.is_down:
            raise ConnectionError("postgres://user:secret@host")
        return await super().version()

    async def live_keys(self):  # type: ignore[no-untyped-def]
        self.loaded += 1
        return await super().live_keys()


@pytest.fixture
def counting(database: AsyncEngine) -> CountingStore:
    return CountingStore(database)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def directory(counting: CountingStore, clock: Clock) -> AsyncIterator[KeyDirectory]:
    directory = KeyDirectory(counting, clock)
    yield directory
    await directory.close()


async def test_a_known_key_is_found_without_the_database(
    directory: KeyDirectory, counting: CountingStore, clock: Clock
) -> None:
    number, key = await counting.create_key("a")
    assert directory.peek(key) is None
    found = await directory.find(key)
    assert found is not None
    assert found.id == number
    asked = counting.asked
    for _ in range(1000):
        assert directory.peek(key) is not None
    assert counting.asked == asked


async def test_a_key_made_elsewhere_works_at_once(directory: KeyDirectory, counting: CountingStore) -> None:
    assert await directory.find(new_key()) is None
    _, key = await counting.create_key("made by the command line")
    assert await directory.find(key) is not None


async def test_revocation_is_seen_while_requests_flow(
    directory: KeyDirectory, counting: CountingStore, clock: Clock
) -> None:
    number, key = await counting.create_key("a")
    assert await directory.find(key)
    await counting.revoke_key(number)
    assert directory.peek(key)
    clock.now += FRESH_SECONDS
    assert directory.peek(key), "the request that starts the refresh does not wait for it"
    async with asyncio.timeout(10):
        while directory.peek(key) is not None:  # noqa: ASYNC110  # the refresh ends on its own
            await asyncio.sleep(0.01)


async def test_revocation_is_seen_after_idleness(
    directory: KeyDirectory, counting: CountingStore, clock: Clock
) -> None:
    number, key = await counting.create_key("a")
    assert await directory.find(key)
    await counting.revoke_key(number)
    clock.now += STALE_SECONDS
    assert directory.peek(key) is None
    assert await directory.find(key) is None
    assert STALE_SECONDS < 5


async def test_the_keys_are_read_again_only_after_a_change(
    directory: KeyDirectory, counting: CountingStore, clock: Clock
) -> None:
    _, key = await counting.create_key("a")
    for _ in range(5):
        assert await directory.find(key)
        clock.now += 10
    assert counting.loaded == 1


async def test_a_flood_of_wrong_keys_asks_little(counting: CountingStore) -> None:
    directory = KeyDirectory(counting)
    started = perf_counter()
    found = await asyncio.gather(*(directory.find(new_key()) for _ in range(500)))
    assert found == [None] * 500
    assert counting.asked <= 2 + (perf_counter() - started) / 0.04
    await directory.close()


async def test_malformed_keys_never_reach_the_database(directory: KeyDirectory, counting: CountingStore) -> None:
    for text in ("wp_", "x" * 46, "wp_" + "ä" * 43, "wp_" + "a" * 44, "demo"):
        assert await directory.find(text) is None
    assert counting.asked == 0


async def test_an_unreachable_database_keeps_known_keys_working(
    directory: KeyDirectory, counting: CountingStore, clock: Clock
) -> None:
    _, key = await counting.create_key("a")
    assert await directory.find(key)
    counting.is_down = True
    clock.now += 60
    assert await directory.find(key)
    assert directory.peek(key)
    counting.is_down = False
    clock.now += 60
    assert await directory.find(key)
