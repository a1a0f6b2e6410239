"""A node that has only begun to follow its chain: it answers, of block 0 or of blocks long past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from server.chains.capabilities.contracts import CallRequest
from server.chains.capabilities.logs import BlockRange
from server.chains.view import ReadView
from server.errors import UpstreamDisagrees
from tests.server.chains.evm.nodes import (
    ALICE,
    MULTICALL3,
    OWNER,
    USDC,
    Answers,
    Anvil,
    build_world,
    call_data,
    driver_on,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.devnet

READS: dict[str, Callable[..., Any]] = {
    "height": lambda driver, view: driver.read_height(view),
    "balance": lambda driver, view: driver.read_balance(ALICE, view),
    "token": lambda driver, view: driver.read_token_balance(ALICE, USDC, view),
    "code": lambda driver, view: driver.read_code(USDC, view),
    "call": lambda driver, view: driver.simulate_call(
        CallRequest(to=USDC, data=call_data("balanceOf(address)", ALICE)), view
    ),
    "logs": lambda driver, view: driver.read_logs(BlockRange(None, "latest", None), None, None, view),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["with Multicall3", "without"])
async def fresh(request, session) -> AsyncIterator[Anvil]:
    """The same chain at its first block."""
    node = await Anvil.start(session, "--chain-id", "1")
    if request.param != "without":
        await node.call("anvil_setCode", MULTICALL3, "0x" + (await _multicall(session)).hex())
    yield node
    node.stop()


async def _multicall(session) -> bytes:
    world = await Anvil.start(session, "--chain-id", "1")
    await build_world(world)
    code = await world.call("eth_getCode", MULTICALL3, "latest")
    world.stop()
    return bytes.fromhex(code[2:])


@pytest.mark.parametrize("kind", READS)
async def test_a_node_at_block_0_answers_no_read_of_the_newest_state(kind, ethereum, fresh, tally):
    head = await ethereum.height()
    async with driver_on(tally, fresh=fresh.url, synced=ethereum.url) as driver:
        for _ in range(3):
            view = ReadView()
            await READS[kind](driver, view)
            assert view.block == head


@pytest.mark.parametrize("kind", READS)
async def test_a_node_that_begins_anew_in_the_middle_of_traffic_is_not_believed(kind, ethereum, fresh, tally, session):
    head = await ethereum.height()
    front = Answers(ethereum.url, session, {})
    await front.start()
    async with driver_on(tally, only=front.url) as driver:
        view = ReadView()
        await READS[kind](driver, view)
        assert view.block == head
        front._target = fresh.url
        for _ in range(2):
            with pytest.raises(UpstreamDisagrees):
                await READS[kind](driver, ReadView())
        front._target = ethereum.url
        await READS[kind](driver, view := ReadView())
        assert view.block == head
    await front.stop()


async def test_a_chain_that_is_at_block_0_itself_can_be_read(fresh, tally):
    async with driver_on(tally, only=fresh.url) as driver:
        balance = await driver.read_balance(OWNER, ReadView())
    assert (balance.block, balance.raw) == (0, 10_000 * 10**18)
