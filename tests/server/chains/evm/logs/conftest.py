"""A chain with thin, full and empty blocks, and drivers on providers before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.log_nodes import OTHER_LOGGER, LimitedNode, place_loggers, write_logs
from tests.server.chains.evm.logs.world import CROWD, FIRST, ONE, SMALL, TOPIC, TWO
from tests.server.chains.evm.nodes import Anvil, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(session) -> AsyncIterator[Anvil]:
    anvil = await Anvil.start(session, "--chain-id", "1", "--number", str(FIRST))
    await place_loggers(anvil)
    for count in CROWD:
        if count:
            await write_logs(anvil, count, TOPIC, ONE, TWO)
        else:
            await anvil.call("anvil_mine", "0x1")
    await write_logs(anvil, 4, "0x05", ONE, TWO, contract=OTHER_LOGGER)
    await anvil.call("anvil_mine", hex(300))
    for count in SMALL:
        if count:
            await write_logs(anvil, count, "0x09", ONE, TWO, contract=OTHER_LOGGER)
        else:
            await anvil.call("anvil_mine", "0x1")
    await anvil.call("anvil_mine", "0x5")
    yield anvil
    anvil.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fronts(node, session) -> AsyncIterator[list[LimitedNode]]:
    found = [LimitedNode(node.url, session), LimitedNode(node.url, session)]
    for front in found:
        await front.start()
    yield found
    for front in found:
        await front.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def reader(fronts, tally) -> AsyncIterator[Operations]:
    """A driver on one provider that lets everything through until a test sets otherwise."""
    for front in fronts:
        front.refuse = lambda low, high, logs: None
        front.delay = lambda low, high: 0.0
        front.asked.clear()
    async with open_session() as http:
        chains = await load(http, tally, limited=fronts[0].url)
        yield Operations(chains.get("ethereum"))
        await chains.close()


@pytest_asyncio.fixture(loop_scope="session")
async def two(fronts, tally) -> AsyncIterator[Operations]:
    """A driver on two providers."""
    for front in fronts:
        front.refuse = lambda low, high, logs: None
        front.delay = lambda low, high: 0.0
        front.asked.clear()
    async with open_session() as http:
        chains = await load(http, tally, limited=fronts[0].url, wide=fronts[1].url)
        yield Operations(chains.get("ethereum"))
        await chains.close()
