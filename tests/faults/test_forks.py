"""An endpoint on a fork: the same chain id and height, other blocks. Most others contradict it."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import polling
from tests.faults.test_other_chain import ACCOUNTS, FIRST, RIGHT, WRONG, build, worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.faults.test_other_chain import Worlds
    from tests.operations import Operations
    from tests.server.chains.evm.nodes import Anvil

__all__ = ["worlds"]

LONGEST_SECONDS = 10.0
NUMBERS = itertools.cycle(range(FIRST + 1, FIRST + 200))


@pytest.fixture(autouse=True)
def compared_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "COMPARED_EVERY", 1.0)
    monkeypatch.setattr(polling, "_LONGEST_TURN", 0.2)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fork(worlds: Worlds) -> AsyncIterator[Anvil]:
    """The right chain's id and height, with blocks of its own."""
    node, hashes = await build(worlds.right.session, 1, WRONG, timestamp=1_700_000_001)
    assert not set(hashes.values()) & set(worlds.hashes.values())
    yield node
    node.stop()


async def read(driver: Operations) -> tuple[int, str]:
    driver.memory.forget()
    block = (await driver.read_block_by_number(next(NUMBERS), ReadView())).evm
    return int(block.number), block.hash


def reason(driver: Operations, label: str) -> str | None:
    """Why the endpoint is not asked, if it is not."""
    return driver.pool._by_label[label].exclusion


async def until_left(driver: Operations, front: Any) -> None:
    """Read until a second has passed in which the endpoint was asked for no read."""
    until = time.monotonic() + LONGEST_SECONDS
    while True:
        assert time.monotonic() < until, "the traffic stays"
        front.asked.clear()
        stop = time.monotonic() + 0.5
        while time.monotonic() < stop:
            await read(driver)
            await asyncio.sleep(0.01)
        if sum(len(asked.methods) for asked in front.asked if not asked.is_batch) == 0:
            return


async def test_an_endpoint_that_most_others_contradict_loses_its_traffic_until_it_agrees(
    worlds: Worlds,
    fork: Anvil,
    faulty: Callable[..., Any],
    open_driver: Callable[..., Operations],
    caplog: pytest.LogCaptureFixture,
) -> None:
    fronts = [await faulty(worlds.right.url) for _ in range(3)]
    driver = open_driver(*(front.url for front in fronts))
    for _ in range(3):
        number, named = await read(driver)
        assert named == worlds.hashes[number]
    fronts[0].target = fork.url
    await until_left(driver, fronts[0])
    for account in ACCOUNTS[:20]:
        assert (await driver.read_balance(account, ReadView())).raw == RIGHT
    for _ in range(20):
        number, named = await read(driver)
        assert named == worlds.hashes[number]
    assert "than most others" in caplog.text
    health = await driver.read_health()
    assert health.state in ("ok", "degraded")

    fronts[0].target = worlds.right.url
    until = time.monotonic() + LONGEST_SECONDS
    while reason(driver, "alpha"):
        assert time.monotonic() < until
        await read(driver)
        await asyncio.sleep(0.05)
    fronts[0].asked.clear()
    for _ in range(10):
        await read(driver)
    assert "eth_getBlockByNumber" in fronts[0].methods


async def test_of_two_it_is_not_known_which_is_right(
    worlds: Worlds, fork: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    fronts = [await faulty(worlds.right.url), await faulty(fork.url)]
    driver = open_driver(*(front.url for front in fronts))
    stop = time.monotonic() + 3
    while time.monotonic() < stop:
        await read(driver)
        await asyncio.sleep(0.02)
    assert not any(reason(driver, label) for label in driver.pool.labels)


async def test_where_the_others_are_gone_the_contradicted_one_is_not_read_either(
    worlds: Worlds, fork: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    fronts = [await faulty(url) for url in (fork.url, worlds.right.url, worlds.right.url)]
    driver = open_driver(*(front.url for front in fronts))
    await until_left(driver, fronts[0])
    for front in fronts[1:]:
        await front.stop()
    with pytest.raises(UpstreamUnavailable, match="than most others"):
        await read(driver)
