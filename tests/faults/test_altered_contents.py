"""Blocks and receipts that were changed on the way: their hash or bloom filter does not fit any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from server.chains.capabilities.logs import BlockRange
from server.chains.evm.contents import FIRST_MATCHES
from server.chains.view import ReadView
from tests.faults import simulator as faults
from tests.server.chains.evm.nodes import BOB, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.operations import Operations

pytestmark = pytest.mark.devnet

LOGGER = "0x00000000000000000000000000000000000000ee"
# PUSH1 topic, PUSH1 0, PUSH1 0, LOG1; PUSH1 topic, PUSH1 0, PUSH1 0, LOG1; STOP
LOGS_TWICE = "0x60aa60006000a160bb60006000a100"
FALSE_ROOT = "0x" + "5a" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node() -> AsyncIterator[tuple[Anvil, list[str]]]:
    """A node with twelve transactions that log twice each, and their hashes."""
    async with aiohttp.ClientSession() as session:
        made = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
        await made.call("anvil_setCode", LOGGER, LOGS_TWICE)
        sent = [(await made.send(LOGGER))["transactionHash"] for _ in range(12)]
        sent.append((await made.send(BOB, value=1))["transactionHash"])
        yield made, sent
        made.stop()


def drop_log(one: dict[str, Any]) -> None:
    one["result"]["logs"] = one["result"]["logs"][1:]


def add_log(one: dict[str, Any]) -> None:
    one["result"]["logs"] = [one["result"]["logs"][0] | {"address": BOB}, *one["result"]["logs"]]


def change_root(one: dict[str, Any]) -> None:
    one["result"]["stateRoot"] = FALSE_ROOT


async def logs_of(driver: Operations, sent: str) -> int:
    return len((await driver.read_receipt(sent, ReadView())).evm.logs)


async def root_of(driver: Operations, number: int) -> str:
    return (await driver.read_block_by_number(number, ReadView())).evm.state_root


def exclusion(driver: Operations) -> str | None:
    """Why the first endpoint is not asked, if it is not."""
    return driver.pool._by_label["alpha"].exclusion


@pytest.mark.parametrize("change", [drop_log, add_log])
async def test_a_receipt_with_a_log_too_few_or_too_many_is_asked_of_another_endpoint(
    change: Callable[[dict[str, Any]], None],
    node: tuple[Anvil, list[str]],
    faulty: Callable[..., Any],
    open_driver: Callable[..., Operations],
) -> None:
    real, sent = node
    alpha = await faulty(real.url)
    driver = open_driver(alpha.url, real.url)
    assert [await logs_of(driver, one) for one in sent[:FIRST_MATCHES]] == [2] * FIRST_MATCHES
    assert await logs_of(driver, sent[-1]) == 0
    alpha.fault = faults.spoil("eth_getTransactionReceipt", change)
    assert [await logs_of(driver, one) for one in sent[FIRST_MATCHES:-1]] == [2] * (12 - FIRST_MATCHES)
    assert "contents do not fit" in (exclusion(driver) or "")


async def test_a_header_that_was_changed_is_asked_of_another_endpoint(
    node: tuple[Anvil, list[str]], faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    real, _ = node
    alpha = await faulty(real.url)
    driver = open_driver(alpha.url, real.url)
    for number in range(20_000_001, 20_000_001 + FIRST_MATCHES):
        assert await root_of(driver, number) != FALSE_ROOT
    alpha.fault = faults.spoil("eth_getBlockByNumber", change_root)
    for number in range(20_000_005, 20_000_012):
        assert await root_of(driver, number) != FALSE_ROOT
    assert "contents do not fit" in (exclusion(driver) or "")


async def test_it_excludes_none_before_the_first_ones_fitted(
    node: tuple[Anvil, list[str]], faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """A provider that leaves members out, always, does not count as altering."""
    real, sent = node
    alpha = await faulty(real.url)
    alpha.fault = faults.spoil("eth_getTransactionReceipt", drop_log)
    driver = open_driver(alpha.url, real.url)
    for one in sent[:-1]:
        assert await logs_of(driver, one) == 1
    assert exclusion(driver) is None


@pytest.mark.parametrize("endpoints", [1, 2])
async def test_it_excludes_none_where_no_other_endpoint_contradicts(
    endpoints: int, node: tuple[Anvil, list[str]], faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """A fork that changes the layout for all."""
    real, _ = node
    fronts = [await faulty(real.url) for _ in range(endpoints)]
    driver = open_driver(*(front.url for front in fronts))
    for number in range(20_000_001, 20_000_001 + FIRST_MATCHES):
        await root_of(driver, number)
    for front in fronts:
        front.fault = faults.spoil("eth_getBlockByNumber", change_root)
    for number in range(20_000_005, 20_000_010):
        assert await root_of(driver, number) == FALSE_ROOT
    assert exclusion(driver) is None


@pytest.mark.parametrize("asked", ["all", "by address"])
async def test_the_logs_of_a_single_block_are_checked_by_its_header(
    asked: str, node: tuple[Anvil, list[str]], faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """One that is missing among all, or one that was made up."""
    real, sent = node
    alpha = await faulty(real.url)
    driver = open_driver(alpha.url, real.url)
    blocks = [int((await real.call("eth_getTransactionReceipt", one))["blockNumber"], 16) for one in sent[:-1]]
    address = None if asked == "all" else LOGGER

    async def logs_at(block: int) -> int:
        page = await driver.read_logs(BlockRange(str(block), str(block), None), address, None, ReadView())
        return len(page.logs)

    assert [await logs_at(block) for block in blocks[:FIRST_MATCHES]] == [2] * FIRST_MATCHES
    # One request each: the header came along.
    assert alpha.methods.count("eth_getLogs") == FIRST_MATCHES
    assert all(len(asked.methods) == 3 for asked in alpha.asked if "eth_getLogs" in asked.methods)

    def drop(one: dict[str, Any]) -> None:
        one["result"] = one["result"][1:]

    def make_up(one: dict[str, Any]) -> None:
        one["result"][0]["topics"] = [FALSE_ROOT]

    alpha.fault = faults.spoil("eth_getLogs", drop if asked == "all" else make_up)
    for block in blocks[FIRST_MATCHES:]:
        assert await logs_at(block) == 2
    assert "contents do not fit" in (exclusion(driver) or "")
