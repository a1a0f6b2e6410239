"""Endpoints from the future: blocks that do not exist, or of times to come, from one endpoint or from most.

A real node stands behind every endpoint; what faulty ones report of the newest block is rewritten on the way, the
balances with it, so that an answer taken from one of them is wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from runtime.operations import load_operations
from runtime.settings import Settings, load_settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamDisagrees
from server.upstream import open_session, polling
from tests.e2e.gateway import run_gateway
from tests.faults import simulator as faults
from tests.faults.test_other_chain import ACCOUNTS, RIGHT, WRONG, build
from tests.operations import Operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.server.chains.evm.nodes import Anvil

FAR = 1_000_000
DAY = 86_400


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node() -> AsyncIterator[Anvil]:
    """A real node whose newest block is of this minute."""
    async with aiohttp.ClientSession() as session:
        made, _ = await build(session, 1, RIGHT, timestamp=int(time.time()) - 3_000, interval=10)
        yield made
        made.stop()


def word(number: int) -> str:
    return f"{number:064x}"


class Ahead:
    """Rewrites what a node reports of its newest block: `by` blocks and `seconds` ahead.

    With `has_blocks` it also answers for those blocks, each as the one so many below with its number, time and parent
    rewritten: everything but the hash.
    """

    def __init__(self, by: int, *, seconds: int = 0, has_blocks: bool = False) -> None:
        self.by, self.seconds, self.has_blocks = by, seconds, has_blocks

    async def __call__(self, request: faults.Request) -> None:
        body = json.loads(request.body)
        calls = body if isinstance(body, list) else [body]
        for call in calls:
            self._ask(call)
        look = [{"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByNumber", "params": ["latest", False]}]
        newest, *answers = json.loads(await request.forward(json.dumps(look + calls).encode()))
        for call, answer in zip(calls, answers, strict=True):
            self._report(call, answer, newest["result"])
        faults.write_answer(request, json.dumps(answers if isinstance(body, list) else answers[0]).encode())

    def _ask(self, call: dict[str, Any]) -> None:
        if self.has_blocks and call["method"] == "eth_getBlockByNumber" and call["params"][0].startswith("0x"):
            call["params"][0] = hex(max(int(call["params"][0], 16) - self.by, 0))

    def _report(self, call: dict[str, Any], answer: dict[str, Any], newest: dict[str, Any]) -> None:
        result = answer.get("result")
        if call["method"] == "eth_blockNumber":
            answer["result"] = hex(int(result, 16) + self.by)
        elif call["method"] == "eth_call":
            number, made_at = int(newest["number"], 16), int(newest["timestamp"], 16)
            for before, after in (
                (number, number + self.by),
                (made_at, made_at + self.seconds),
                (RIGHT, WRONG),
            ):
                result = result.replace(word(before), word(after))
            answer["result"] = result
        elif call["method"] == "eth_getBlockByNumber" and result is not None and self._is_rewritten(call):
            result["number"] = hex(int(result["number"], 16) + self.by)
            result["timestamp"] = hex(int(result["timestamp"], 16) + self.seconds)

    def _is_rewritten(self, call: dict[str, Any]) -> bool:
        return self.has_blocks or call["params"][0] == "latest"


LIES = {
    "numbers without blocks": Ahead(FAR),
    "blocks that are other ones": Ahead(FAR, has_blocks=True),
    "blocks of tomorrow": Ahead(FAR, seconds=DAY, has_blocks=True),
    "the next block, of tomorrow": Ahead(1, seconds=DAY, has_blocks=True),
    "fifty blocks, of tomorrow": Ahead(50, seconds=DAY, has_blocks=True),
    "a hundred blocks": Ahead(100, has_blocks=True),
}


def settings_of(*urls: str, chain: str = "ethereum", **more: Any) -> dict[str, Any]:
    endpoints = [
        {"label": label, "url": url, "weight": weight}
        for label, url, weight in zip(("alpha", "beta", "gamma"), urls, (1000, 100, 1), strict=False)
    ]
    return {"profile": "devnet", "chains": {chain: {"endpoints": endpoints, "mines_at_will": False}}} | more


@pytest_asyncio.fixture(loop_scope="session")
async def open_driver() -> AsyncIterator[Callable[..., Operations]]:
    """Opens drivers on endpoints alpha, beta and gamma, preferred in that order, without a cache; of ethereum if not
    stated otherwise.
    """
    opened: list[Chains] = []
    async with open_session() as http:

        def open_on(*urls: str, chain: str = "ethereum") -> Operations:
            chains = Chains.load(Settings.model_validate(settings_of(*urls, chain=chain)), http)
            opened.append(chains)
            driver: Any = Operations(chains.get(chain))
            return driver

        yield open_on
        for chains in opened:
            await chains.close()


@pytest.mark.parametrize("liars", [(0, 1), (0,), (1, 2)], ids=["the favourites", "the favourite", "the others"])
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_most_endpoints_from_the_future_cost_no_read_its_answer(
    lie: Ahead, liars: tuple[int, ...], node: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """Once it was known how far the chain is: not one failure and not one wrong answer."""
    fronts = [await faulty(node.url) for _ in range(3)]
    driver = open_driver(*(front.url for front in fronts))
    head = await node.height()
    assert await driver.read_height(ReadView()) == head
    for number in liars:
        fronts[number].fault = lie
    accounts = itertools.cycle(ACCOUNTS)
    for _ in range(20):
        balances = await asyncio.gather(*(driver.read_balance(next(accounts), ReadView()) for _ in range(10)))
        assert {(balance.raw, balance.block) for balance in balances} == {(RIGHT, head)}
        assert await driver.read_height(ReadView()) == head
    assert driver.pool.heads.head() == head
    health = await driver.read_health()
    assert health.height == head
    assert (await driver.read_code(ACCOUNTS[0], ReadView())).block == head


@pytest.mark.parametrize(
    "lie", ["the next block, of tomorrow", "fifty blocks, of tomorrow", "blocks that are other ones"]
)
async def test_most_endpoints_that_callers_do_not_ask_neither_move_the_head_nor_outvote_the_favourite(
    lie: str, faulty: Callable[..., Any], open_driver: Callable[..., Operations], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers are answered by the favourite; the others are looked at once a block time, and compared with it."""
    monkeypatch.setattr(polling, "COMPARED_EVERY", 2.0)
    async with aiohttp.ClientSession() as session:
        node, _ = await build(session, 8453, RIGHT, timestamp=int(time.time()) - 3_000, interval=10)
        try:
            fronts = [await faulty(node.url) for _ in range(3)]
            driver = open_driver(*(front.url for front in fronts), chain="base")
            head = await node.height()
            accounts = itertools.cycle(ACCOUNTS)
            assert (await driver.read_balance(next(accounts), ReadView())).block == head
            for front in fronts[1:]:
                front.fault = LIES[lie]
                front.asked.clear()
            until = time.monotonic() + 5.0
            while time.monotonic() < until or min(len(front.asked) for front in fronts[1:]) < 3:
                assert time.monotonic() < until + 30
                assert (await driver.read_balance(next(accounts), ReadView())).block == head
                assert driver.pool.heads.head() == head
                await asyncio.sleep(0.05)
            assert {label: driver.pool.heads.is_ahead(label) for label in driver.pool.labels} == {
                "alpha": False,
                "beta": True,
                "gamma": True,
            }
            await node.call("anvil_mine", "0x1", "0x0")
            assert await driver.read_height(ReadView()) == head + 1
        finally:
            node.stop()


@pytest.mark.parametrize(
    "lie",
    ["numbers without blocks", "blocks of tomorrow", "the next block, of tomorrow", "fifty blocks, of tomorrow"],
)
async def test_at_the_start_the_header_decides(
    lie: str, node: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    fronts = [await faulty(node.url) for _ in range(3)]
    fronts[0].fault = fronts[1].fault = LIES[lie]
    driver = open_driver(*(front.url for front in fronts))
    head = await node.height()
    for account in ACCOUNTS[:20]:
        balance = await driver.read_balance(account, ReadView())
        assert (balance.raw, balance.block) == (RIGHT, head)
        assert await driver.read_height(ReadView()) == head


@pytest.mark.parametrize("lie", ["numbers without blocks", "blocks of tomorrow", "the next block, of tomorrow"])
async def test_an_only_endpoint_from_the_future_is_not_believed(
    lie: str, node: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    front = await faulty(node.url)
    driver = open_driver(front.url)
    head = await node.height()
    assert (await driver.read_balance(ACCOUNTS[0], ReadView())).block == head
    front.fault = LIES[lie]
    with pytest.raises(UpstreamDisagrees):
        await driver.read_balance(ACCOUNTS[1], ReadView())
    with pytest.raises(UpstreamDisagrees):
        await driver.read_height(ReadView())
    front.fault = faults.honest
    assert (await driver.read_balance(ACCOUNTS[2], ReadView())).raw == RIGHT


async def test_a_first_read_of_tomorrow_is_not_believed(
    node: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    front = await faulty(node.url)
    front.fault = LIES["blocks of tomorrow"]
    driver = open_driver(front.url)
    with pytest.raises(UpstreamDisagrees):
        await driver.read_balance(ACCOUNTS[0], ReadView())
    assert driver.pool.heads.head() is None


async def test_a_first_read_of_an_only_endpoint_costs_nothing_more(
    node: Anvil, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    front = await faulty(node.url)
    driver = open_driver(front.url)
    await driver.read_balance(ACCOUNTS[0], ReadView())
    assert front.methods == ["eth_chainId", "eth_call"]


async def test_a_jump_that_its_header_explains_is_believed_at_once(
    faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """An endpoint that was two hours behind, the only one, has caught up."""
    async with aiohttp.ClientSession() as session:
        stale, _ = await build(session, 1, RIGHT, timestamp=int(time.time()) - 10_200, interval=10)
        try:
            front = await faulty(stale.url)
            driver = open_driver(front.url)
            before = await driver.read_height(ReadView())
            await stale.call("anvil_mine", hex(600), hex(10))
            assert await driver.read_height(ReadView()) == before + 600
            assert (await driver.read_balance(ACCOUNTS[0], ReadView())).block == before + 600
        finally:
            stale.stop()


async def test_local_nodes_that_mine_at_will_are_exempt(
    faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    async with aiohttp.ClientSession() as session, open_session() as http:
        node, _ = await build(session, 1, RIGHT, timestamp=int(time.time()), interval=10)
        settings = settings_of(node.url)
        settings["chains"]["ethereum"]["mines_at_will"] = True
        chains = Chains.load(Settings.model_validate(settings), http)
        driver: Any = Operations(chains.get("ethereum"))
        try:
            before = await driver.read_height(ReadView())
            await node.call("anvil_mine", hex(400), hex(DAY))
            assert await driver.read_height(ReadView()) == before + 400
            assert (await driver.read_balance(ACCOUNTS[0], ReadView())).block == before + 400
        finally:
            await chains.close()
            node.stop()


async def test_thousands_of_reads_with_two_of_three_far_ahead(
    node: Anvil, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    """A whole gateway, heights and balances, while such endpoints come and go: 0 errors, 0 wrong."""
    fronts = [await faulty(node.url) for _ in range(3)]
    overrides = settings_of(
        *(front.url for front in fronts),
        storage={"url": f"sqlite+aiosqlite:///{tmp_path / 'waypost.db'}"},
        grpc={"host": "127.0.0.1", "port": 0},
        http={"host": "127.0.0.1"},
    )
    head = await node.height()
    accounts = itertools.cycle(ACCOUNTS)
    names = (
        "numbers without blocks",
        "blocks that are other ones",
        "the next block, of tomorrow",
        "fifty blocks, of tomorrow",
    )
    lies = itertools.cycle(LIES[name] for name in names)
    operation = next(one for one in load_operations() if one.name == "getBalance")
    reads = 0
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as gateway:
        assert (await gateway.ask("getBlockHeight", {"chain": "ethereum"}))["result"]
        for step in range(40):
            if step % 10 == 0:
                lie = next(lies)
                for number, front in enumerate(fronts):
                    front.fault = faults.honest if number == step // 10 % 3 else lie
            body = [
                {"jsonrpc": "2.0", "id": 1, "method": "getBlockHeight", "params": {"chain": "ethereum"}},
                *(
                    {
                        "jsonrpc": "2.0",
                        "id": 2 + number,
                        "method": "getBalance",
                        "params": {"chain": "ethereum", "address": next(accounts)},
                    }
                    for number in range(49)
                ),
            ]
            response = await gateway.post(body, headers={"Cache-Control": "no-cache"})
            rows = [row["result"]["data"] if "result" in row else row for row in json.loads(await response.read())]
            assert rows[0].get("blockHeight", rows[0].get("height")) == head, rows[0]
            assert {(row.get("balanceRaw"), row.get("blockHeight")) for row in rows[1:]} == {(str(RIGHT), head)}
            reads += len(rows)
            request = operation.request(chain="ethereum", address=next(accounts))
            answers: list[Any] = await asyncio.gather(*(gateway.ask_grpc(operation, request) for _ in range(10)))
            assert {(answer.balance_raw, answer.block_height) for answer in answers} == {(str(RIGHT), head)}
            reads += len(answers)
            await node.call("anvil_mine", "0x1", "0x0")
            head += 1
    assert reads == 2_400
