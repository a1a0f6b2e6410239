"""The logs of one block, read of endpoints that lack it, answer something else or leave something out."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from eth_abi import encode

from runtime.metrics import REGISTRY
from runtime.settings import Settings
from server.chains.capabilities.following import FollowsBlocks, Link
from server.chains.capabilities.logs import BlockItems, WatchesLogs
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from tests.faults.simulator import FaultyNode, error, huge, spoil
from tests.server.chains.evm.log_nodes import LOGGER, OTHER_LOGGER, place_loggers, write_logs
from tests.server.chains.evm.nodes import OWNER, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

TOPIC, ONE, TWO = (f"0x{number:064x}" for number in (7, 1, 2))
# Of the one the bloom filters are known to be those of the logs, of the other nothing is known.
KNOWN, UNKNOWN = "ethereum", "base"
IDS = {KNOWN: "1", UNKNOWN: "8453"}
LOGS = 5


class Site:
    """A node, two fronts before it (`a` is preferred), and what a chain selects of it."""

    def __init__(self, node: Anvil, fronts: list[FaultyNode], chains: Chains, slug: str) -> None:
        self.node = node
        self.fronts = fronts
        self.slug = slug
        self._follows = chains.capability(slug, FollowsBlocks)
        self._logs = chains.capability(slug, WatchesLogs)

    def select(self, *addresses: str, topics: list[list[str]] | None = None) -> BlockItems[Any]:
        return self._logs.select_logs(addresses, topics or [])

    async def link(self, number: int) -> Link:
        return await self._follows.read_link(number, self.view())

    def view(self) -> ReadView:
        return ReadView(endpoint="a", deadline=time.monotonic() + 10)

    async def read(self, items: BlockItems[Any], number: int) -> list[int]:
        link = await self.link(number)
        return [log.log_index for log in await items.read(link, self.view())]

    async def learn(self) -> None:
        """Let the first endpoint show that its logs fit their blooms."""
        for _ in range(3):
            number = await write_logs(self.node, 1, TOPIC, ONE, TWO)
            await self.read(self.select(), number)
        self.clear()

    def asked(self) -> list[int]:
        return [front.methods.count("eth_getLogs") for front in self.fronts]

    def clear(self) -> None:
        for front in self.fronts:
            front.asked.clear()


@pytest_asyncio.fixture(loop_scope="session", params=[KNOWN, UNKNOWN])
async def site(session: Any, request: Any) -> AsyncIterator[Site]:
    async with opened(session, request.param) as site:
        yield site


@asynccontextmanager
async def opened(session: Any, slug: str) -> AsyncIterator[Site]:
    node = await Anvil.start(session, "--chain-id", IDS[slug])
    await place_loggers(node)
    await node.call("anvil_mine", "0x5")
    fronts = [FaultyNode(node.url), FaultyNode(node.url)]
    for front in fronts:
        await front.start()
    endpoints = [
        {"label": label, "url": front.url, "weight": weight}
        for label, front, weight in zip("ab", fronts, (1000, 1), strict=True)
    ]
    settings = Settings.model_validate({"profile": "devnet", "chains": {slug: {"endpoints": endpoints}}})
    async with open_session() as http:
        chains = Chains.load(settings, http)
        yield Site(node, fronts, chains, slug)
        await chains.close()
    for front in fronts:
        await front.close()
    node.stop()


def of_logs(change: Callable[[list[dict[str, Any]]], None]) -> Any:
    def changed(answer: dict[str, Any]) -> None:
        change(answer["result"])

    return spoil("eth_getLogs", changed)


def emptied(logs: list[dict[str, Any]]) -> None:
    logs.clear()


def without_one(logs: list[dict[str, Any]]) -> None:
    del logs[1]


def of_another_block(logs: list[dict[str, Any]]) -> None:
    for log in logs:
        log["blockHash"] = "0x" + "ab" * 32


def with_another_number(logs: list[dict[str, Any]]) -> None:
    logs[0]["blockNumber"] = "0x1"


def twice_and_different(logs: list[dict[str, Any]]) -> None:
    logs.append(logs[0] | {"data": "0x1234"})


def removed(logs: list[dict[str, Any]]) -> None:
    logs[0]["removed"] = True


def malformed(logs: list[dict[str, Any]]) -> None:
    logs[0]["topics"] = ["0x12"]


LIES = [emptied, without_one, of_another_block, with_another_number, twice_and_different, removed, malformed]


@pytest.mark.parametrize("lie", LIES)
async def test_an_answer_that_cannot_be_the_blocks_is_asked_for_elsewhere(site: Site, lie: Any) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    site.fronts[0].fault = of_logs(lie)
    assert await site.read(site.select(), number) == [*range(LOGS)]
    assert site.asked() == [1, 1]


async def test_logs_in_another_order_are_put_in_theirs(site: Site) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    site.fronts[0].fault = of_logs(lambda logs: logs.reverse())
    assert await site.read(site.select(), number) == [*range(LOGS)]
    assert site.asked() == [1, 0]


async def test_the_last_logs_are_missed_where_the_bloom_filter_shows_it(session: Any) -> None:
    async with opened(session, KNOWN) as site:
        await site.learn()
        # Two logs that differ, in one block: of the second nothing is left but its bits in the bloom filter.
        await site.node.call("evm_setAutomine", False)
        for topic in (ONE, TWO):
            await site.node.call("eth_sendTransaction", _log_call(topic))
        await site.node.call("evm_mine")
        number = await site.node.height()
        site.fronts[0].fault = of_logs(lambda logs: logs.pop())
        assert await site.read(site.select(), number) == [0, 1]
        assert site.asked() == [1, 1]


async def test_an_endpoint_that_lacks_the_block_is_passed_over(site: Site) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    link = await site.link(number)
    for fault in (
        error(-32000, "unknown block"),
        spoil("eth_getBlockByHash", lambda answer: answer.update(result=None)),
        error(-32603, "internal error"),
    ):
        site.fronts[0].fault = fault
        found = await site.select().read(link, site.view())
        assert len(found) == LOGS
        site.clear()


async def test_a_block_that_no_endpoint_has_fails_as_what_may_pass(site: Site) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    link = await site.link(number)
    await site.node.call("anvil_reorg", 1, [])
    with pytest.raises(UpstreamUnavailable):
        await site.select().read(link, site.view())


async def test_indexes_with_gaps_and_empty_lists_are_believed_once_every_endpoint_says_so(session: Any) -> None:
    async with opened(session, UNKNOWN) as site:
        for front in site.fronts:
            front.fault = of_logs(without_one)
        for round_ in range(5):
            site.clear()
            number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
            assert await site.read(site.select(), number) == [0, 2, 3, 4]
            assert site.asked() == ([1, 1] if round_ < 3 else [1, 0])


async def test_a_block_is_read_once_for_all_who_ask(site: Site) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    link = await site.link(number)
    selections = [site.select(topics=[[], [], [f"0x{at:064x}"]]) for at in range(100)]
    found = await asyncio.gather(*(one.read(link, site.view()) for one in selections))
    assert [len(logs) for logs in found] == [0, 0, LOGS, *([0] * 97)]
    assert site.asked() == [1, 0]
    assert (await site.select(LOGGER).read(link, site.view()))[0] is found[2][0]
    assert site.asked() == [1, 0]


async def test_blocks_without_what_is_selected_are_not_read_where_blooms_are_believed(session: Any) -> None:
    async with opened(session, KNOWN) as site:
        number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
        before = _unread()
        assert await site.read(site.select(OTHER_LOGGER), number) == []
        assert site.asked() == [0, 0]
        assert _unread() == before + 1
    async with opened(session, UNKNOWN) as site:
        number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
        assert await site.read(site.select(OTHER_LOGGER), number) == []
        assert site.asked() == [1, 0]


async def test_an_endpoint_that_answers_too_much_is_no_reason_while_another_does_not(site: Site) -> None:
    number = await write_logs(site.node, LOGS, TOPIC, ONE, TWO)
    link = await site.link(number)
    site.fronts[0].fault = huge(33 << 20)
    assert len(await site.select().read(link, site.view())) == LOGS


def _log_call(topic: str) -> dict[str, str]:
    words = (1, int(TOPIC, 16), int(topic, 16), int(topic, 16))
    return {"from": OWNER, "to": LOGGER, "data": "0x" + encode(["uint256"] * 4, words).hex(), "gas": hex(200_000)}


def _unread() -> float:
    return REGISTRY.get_sample_value("waypost_unread_logs_total", {"chain": KNOWN}) or 0
