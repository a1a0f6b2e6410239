"""Old blocks of filters, read ahead by ranges: what that costs, and that it sends what the blocks hold."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.capabilities.following import FollowsBlocks
from server.chains.capabilities.logs import WatchesLogs
from server.chains.evm.logs.selections import UNITS_SECONDS, KeptUnits
from server.chains.evm.tokens import TokenUnit
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from tests.faults.simulator import FaultyNode, error, spoil
from tests.server.chains.evm.log_nodes import LOGGER, OTHER_LOGGER, place_loggers, write_logs
from tests.server.chains.evm.nodes import Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

TOPIC, ONE, TWO = (f"0x{number:064x}" for number in (7, 1, 2))
SLUG = "ethereum"
AT = 10
"""The first block of those that are read."""
BLOCKS = 40


class Site:
    """A chain whose final blocks are known, behind a front."""

    def __init__(self, node: Anvil, front: FaultyNode, chains: Chains) -> None:
        self.node = node
        self.front = front
        self.chains = chains

    async def read(self, items: Any, first: int = AT, count: int = BLOCKS) -> list[tuple[int, int]]:
        """Return block and index of the logs of so many blocks, read one after the other."""
        follows = self.chains.capability(SLUG, FollowsBlocks)
        links = [await follows.read_link(number, self.view()) for number in range(first, first + count)]
        self.front.asked.clear()
        return [(log.block_number, log.log_index) for link in links for log in await items.read(link, self.view())]

    def select(self, *addresses: str) -> Any:
        return self.chains.capability(SLUG, WatchesLogs).select_logs(addresses, [])

    def view(self) -> ReadView:
        return ReadView(deadline=time.monotonic() + 10)

    async def truth(self, address: str) -> list[tuple[int, int]]:
        query = {"fromBlock": hex(AT), "toBlock": hex(AT + BLOCKS - 1), "address": address}
        logs = await self.node.call("eth_getLogs", query)
        return [(int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs]


@pytest_asyncio.fixture(loop_scope="session")
async def site(session: Any) -> AsyncIterator[Site]:
    node = await Anvil.start(session, "--chain-id", "1")
    await place_loggers(node)
    await node.call("anvil_mine", hex(AT - 1))
    for number in range(BLOCKS):
        contract = LOGGER if number % 3 else OTHER_LOGGER
        await write_logs(node, 1 + number % 2, TOPIC, ONE, TWO, contract=contract)
    await node.call("anvil_mine", hex(100))
    front = FaultyNode(node.url)
    await front.start()
    endpoints = [{"label": "a", "url": front.url}]
    settings = Settings.model_validate({"profile": "devnet", "chains": {SLUG: {"endpoints": endpoints}}})
    async with open_session() as http:
        chains = Chains.load(settings, http)
        cache = chains.get(SLUG).driver.caches["jsonrpc"]
        cache.finality.when_final(1, lambda: None)
        await cache.finality.settled()
        assert cache.finality.block >= AT + BLOCKS
        yield Site(node, front, chains)
        await chains.close()
    await front.close()
    node.stop()


async def test_final_blocks_cost_a_question_for_many(site: Site) -> None:
    found = await site.read(site.select(LOGGER))
    assert found == await site.truth(LOGGER)
    assert [site.front.methods.count(method) for method in ("eth_getBlockByHash", "eth_getLogs")] == [0, 1]


async def test_what_is_read_ahead_counts_only_for_the_block_that_it_names(site: Site) -> None:
    def change(answer: dict[str, Any]) -> None:
        for log in answer["result"]:
            if int(log["blockNumber"], 16) == AT + 4:
                log["blockHash"] = "0x" + "ab" * 32

    site.front.fault = spoil("eth_getLogs", change)
    items = site.select(LOGGER)
    await site.read(items, AT, 4)
    site.front.fault = spoil("eth_getLogs", lambda _: None)
    found = await site.read(items, AT + 4, BLOCKS - 4)
    assert found == [place for place in await site.truth(LOGGER) if place[0] >= AT + 4]
    assert [site.front.methods.count(method) for method in ("eth_getBlockByHash", "eth_getLogs")] == [1, 1]


async def test_where_ranges_are_refused_blocks_are_read_one_by_one(site: Site) -> None:
    refuse = error(-32000, "block range is too wide")

    async def refuse_ranges(request: Any) -> None:
        is_range = b"fromBlock" in request.body
        await (refuse if is_range else spoil("eth_getLogs", lambda _: None))(request)

    site.front.fault = refuse_ranges
    assert await site.read(site.select(LOGGER)) == await site.truth(LOGGER)


async def test_no_block_is_left_out_where_final_and_newer_blocks_meet(site: Site) -> None:
    final = site.chains.get(SLUG).driver.caches["jsonrpc"].finality.block
    height = await site.node.height()
    number = await write_logs(site.node, 2, TOPIC, ONE, TWO)
    found = await site.read(site.select(LOGGER), AT, number - AT + 1)
    assert found == [*await site.truth(LOGGER), (number, 0), (number, 1)]
    assert AT + BLOCKS < final < height


async def test_units_of_tokens_are_kept_and_those_that_do_not_answer_are_left_alone() -> None:
    clock = [100.0]

    class Units:
        def __init__(self) -> None:
            self.asked: list[str] = []

        async def read(self, tokens: Iterable[str], deadline: float | None) -> dict[str, TokenUnit]:
            assert deadline == clock[0] + 2
            self.asked += tokens
            return {token: TokenUnit(token, 6) for token in tokens if token != "mute"}

    units = Units()
    kept = KeptUnits(units, lambda: clock[0])  # type: ignore[arg-type]
    assert await kept.read(["a", "mute"]) == {"a": TokenUnit("a", 6)}
    assert await kept.read(["a", "mute", "b"]) == {"a": TokenUnit("a", 6), "b": TokenUnit("b", 6)}
    assert units.asked == ["a", "mute", "b"]
    clock[0] += 31
    await kept.read(["a", "mute"])
    assert units.asked == ["a", "mute", "b", "mute"]
    clock[0] += UNITS_SECONDS
    await kept.read(["a"])
    assert units.asked[-1] == "a"
