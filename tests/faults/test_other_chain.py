"""An endpoint that becomes another chain while it is in use: a proxy pointed elsewhere, a provider's mix-up.

Two real nodes of different chains hold the same contracts and accounts, with other balances and other blocks.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from devnet.evm.artifacts import multicall3
from runtime.operations import load_operations
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream.identity import WATCH_SECONDS
from tests.faults import simulator as faults
from tests.faults.test_whole_gateway import gateway_on
from tests.server.chains.evm.nodes import MULTICALL3, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.operations import Operations

pytestmark = pytest.mark.devnet

FIRST = 20_000_000
BLOCKS = 300
ACCOUNTS = [f"0x{number:040x}" for number in range(1 << 100, (1 << 100) + 400)]
RIGHT, WRONG = 1_000, 2_000

LONGEST = 2.0
"""Seconds for which unfolded reads may be wrong after the change."""

SLACK = 1.0
"""What a loaded machine may add to that."""


class Worlds(NamedTuple):
    """The right chain (id 1) and another one, with the hash of every block of each."""

    right: Anvil
    wrong: Anvil
    hashes: dict[int, str]


async def build(
    session: aiohttp.ClientSession, chain_id: int, balance: int, *, timestamp: int = 1_700_000_000, interval: int = 1
) -> tuple[Anvil, dict[int, str]]:
    """Start a node whose accounts hold that balance, with blocks made that many seconds apart, and their hashes."""
    options = ("--chain-id", str(chain_id), "--number", str(FIRST), "--timestamp", str(timestamp))
    node = await Anvil.start(session, *options)
    await node.place(MULTICALL3, multicall3())
    calls = [("anvil_setBalance", [account, hex(balance)]) for account in ACCOUNTS]
    body = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params} for method, params in calls]
    async with session.post(node.url, json=body) as response:
        await response.read()
    await node.call("anvil_mine", hex(BLOCKS), hex(interval))
    body = [
        {"jsonrpc": "2.0", "id": number, "method": "eth_getBlockByNumber", "params": [hex(number), False]}
        for number in range(FIRST + 1, FIRST + BLOCKS)
    ]
    async with session.post(node.url, json=body) as response:
        rows = json.loads(await response.read())
    return node, {row["id"]: row["result"]["hash"] for row in rows}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def worlds() -> AsyncIterator[Worlds]:
    async with aiohttp.ClientSession() as session:
        right, hashes = await build(session, 1, RIGHT)
        wrong, others = await build(session, 56, WRONG)
        assert not set(hashes.values()) & set(others.values())
        yield Worlds(right, wrong, hashes)
        right.stop()
        wrong.stop()


class Found:
    """What a load was answered, and until when after the change it was of the other chain."""

    def __init__(self) -> None:
        self.reads = 0
        self.wrong_until: float | None = None
        self.failures: list[str] = []

    def note(self, is_right: bool, changed_at: float | None) -> None:
        self.reads += 1
        if not is_right:
            assert changed_at is not None
            self.wrong_until = max(self.wrong_until or 0.0, time.monotonic() - changed_at)


async def test_folded_reads_are_never_of_the_other_chain(
    worlds: Worlds, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    """Both faces, under load: not one wrong balance, and no failure either, because another endpoint is right."""
    alpha, beta = await faulty(worlds.right.url), await faulty(worlds.right.url)
    beta.fault = faults.delay(0.02)
    operation = next(one for one in load_operations() if one.name == "getBalance")
    accounts = itertools.cycle(ACCOUNTS)
    balances: list[str] = []
    async with gateway_on(tmp_path, alpha.url, beta.url) as gateway:

        async def ask_json() -> None:
            answer = await gateway.ask("getBalance", {"chain": "ethereum", "address": next(accounts)})
            balances.append(answer["result"]["data"]["balanceRaw"] if "result" in answer else str(answer))

        async def ask_grpc() -> None:
            request = operation.request(chain="ethereum", address=next(accounts))
            answer: Any = await gateway.ask_grpc(operation, request)
            balances.append(answer.balance_raw)

        async def load(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                await asyncio.gather(*(ask() for ask in (ask_json, ask_grpc) for _ in range(4)))
                # A new block, so that nothing comes out of the cache.
                await worlds.right.call("anvil_mine", "0x1")
                await worlds.wrong.call("anvil_mine", "0x1")

        await load(1)
        assert alpha.methods.count("eth_call") > 0
        alpha.target = worlds.wrong.url
        await load(2)
        assert set(balances) == {str(RIGHT)}
        assert len(balances) > 100


async def test_a_first_read_of_the_other_chain_is_noticed_where_it_has_no_multicall(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    bare = await Anvil.start(worlds.right.session, "--chain-id", "137", "--number", str(FIRST))
    alpha = await faulty(worlds.right.url)
    try:
        driver = open_driver(alpha.url, worlds.right.url)
        assert (await driver.read_balance(ACCOUNTS[0], ReadView())).raw == RIGHT
        alpha.target = bare.url
        for account in ACCOUNTS[1:20]:
            assert (await driver.read_balance(account, ReadView())).raw == RIGHT
    finally:
        bare.stop()


@pytest.mark.parametrize("has_other", [True, False], ids=["another endpoint is right", "the only endpoint"])
async def test_unfolded_reads_are_wrong_for_two_seconds_at_most(
    has_other: bool, worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """Blocks one by one: none is wrong after that, not out of the cache either."""
    alpha = await faulty(worlds.right.url)
    driver = open_driver(alpha.url, *([worlds.right.url] if has_other else []))
    found = Found()
    changed_at: float | None = None
    numbers = itertools.cycle(worlds.hashes)

    async def load(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            number = next(numbers)
            try:
                block = (await driver.read_block_by_number(number, ReadView())).evm
            except UpstreamUnavailable as error:
                found.failures.append(error.message)
                await asyncio.sleep(0.01)
            else:
                found.note(block.hash == worlds.hashes[number], changed_at)
            await asyncio.sleep(0.002)

    await load(0.5)
    alpha.target = worlds.wrong.url
    changed_at = time.monotonic()
    await load(LONGEST + SLACK + 1)
    # The relay is really read, and the change seen in time.
    assert found.wrong_until is None or found.wrong_until <= LONGEST + SLACK
    assert found.reads > 10
    assert bool(found.failures) is not has_other
    assert all("alpha: serves chain id 56 instead of 1" in message for message in found.failures)
    if has_other:
        # What was kept of the other chain is forgotten as well: every block is asked for once more.
        for number, block_hash in worlds.hashes.items():
            assert (await driver.read_block_by_number(number, ReadView())).evm.hash == block_hash


async def test_what_is_under_way_when_the_change_is_seen_is_thrown_away(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    alpha = await faulty(worlds.right.url)
    driver = open_driver(alpha.url, worlds.right.url)
    number, accounts = FIRST + 5, iter(ACCOUNTS[1:])
    assert (await driver.read_balance(ACCOUNTS[0], ReadView())).raw == RIGHT

    asked, seen = asyncio.Event(), asyncio.Event()

    async def slow(request: faults.Request) -> None:
        answer = await request.forward(request.body)
        if "eth_getBlockByNumber" in request.asked.methods:
            asked.set()
            await seen.wait()
        faults.write_answer(request, answer)

    alpha.fault, alpha.target = slow, worlds.wrong.url
    under_way = asyncio.create_task(driver.read_block_by_number(number, ReadView()))
    await asked.wait()
    while (await driver.pool.probe("eth_blockNumber", []))[0].error is None:
        assert (await driver.read_balance(next(accounts), ReadView())).raw == RIGHT
    seen.set()
    assert (await under_way).evm.hash == worlds.hashes[number]


async def test_the_change_is_seen_while_a_long_read_is_all_that_is_asked(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    alpha = await faulty(worlds.right.url)
    driver = open_driver(alpha.url, worlds.right.url)
    await driver.read_balance(ACCOUNTS[0], ReadView())

    async def slow(request: faults.Request) -> None:
        answer = await request.forward(request.body)
        if "eth_getBlockByNumber" in request.asked.methods:
            await asyncio.sleep(WATCH_SECONDS * 2.5)
        faults.write_answer(request, answer)

    alpha.fault, alpha.target = slow, worlds.wrong.url
    block = await driver.read_block_transactions(FIRST + 7, ReadView())
    assert block.evm.hash == worlds.hashes[FIRST + 7]


async def test_the_endpoint_returns_once_it_proves_to_be_of_the_chain_again(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    alpha, beta = await faulty(worlds.right.url), await faulty(worlds.right.url)
    driver = open_driver(alpha.url, beta.url)
    numbers = itertools.cycle(worlds.hashes)

    async def read() -> None:
        number = next(numbers)
        driver.memory.forget()
        assert (await driver.read_block_by_number(number, ReadView())).evm.hash == worlds.hashes[number]

    await read()
    alpha.target = worlds.wrong.url
    assert (await driver.read_balance(ACCOUNTS[0], ReadView())).raw == RIGHT
    alpha.asked.clear()
    for _ in range(5):
        await read()
    assert set(alpha.methods) <= {"eth_chainId"}
    alpha.target = worlds.right.url
    until = time.monotonic() + 20
    while "eth_getBlockByNumber" not in alpha.methods:
        assert time.monotonic() < until
        await read()
        await asyncio.sleep(0.05)
    # Proved before it was read.
    assert alpha.methods[0] == "eth_chainId"


async def test_what_it_costs(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    """Folded reads and batches bring the proof along; single reads cost one question in 1.4 s; idle, nothing."""
    alpha = await faulty(worlds.right.url)
    driver = open_driver(alpha.url)
    accounts, numbers = iter(ACCOUNTS), itertools.cycle(worlds.hashes)
    await driver.read_balance(next(accounts), ReadView())
    alpha.asked.clear()
    until = time.monotonic() + 2 * WATCH_SECONDS
    while time.monotonic() < until:
        await driver.read_balance(next(accounts), ReadView())
        await asyncio.sleep(0.05)
    assert set(alpha.methods) == {"eth_call"}

    await asyncio.gather(*(driver.read_block_by_number(next(numbers), ReadView()) for _ in range(20)))
    assert [len(asked.methods) for asked in alpha.asked if asked.is_batch] == [21]

    alpha.asked.clear()
    began = time.monotonic()
    while time.monotonic() - began < 3 * WATCH_SECONDS:
        await driver.read_block_by_number(next(numbers), ReadView())
        await asyncio.sleep(0.02)
    questions = alpha.methods.count("eth_chainId")
    assert 1 <= questions <= (time.monotonic() - began) / WATCH_SECONDS + 1

    # Once more after the last read, and then nothing.
    await asyncio.sleep(1.2 * WATCH_SECONDS)
    alpha.asked.clear()
    await asyncio.sleep(2.5 * WATCH_SECONDS)
    assert alpha.asked == []


async def test_an_answer_of_the_other_chain_that_was_the_last_one_for_long_is_not_kept(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    alpha = await faulty(worlds.right.url)
    driver = open_driver(alpha.url)
    number = FIRST + 9
    await driver.read_balance(ACCOUNTS[0], ReadView())
    alpha.target = worlds.wrong.url
    assert (await driver.read_block_by_number(number, ReadView())).evm.hash != worlds.hashes[number]
    await asyncio.sleep(LONGEST)
    with pytest.raises(UpstreamUnavailable, match="serves chain id 56"):
        await driver.read_block_by_number(number, ReadView())


async def test_an_endpoint_without_the_question_is_still_read(
    worlds: Worlds, faulty: Callable[..., Any], open_driver: Callable[..., Operations]
) -> None:
    alpha = await faulty(worlds.right.url)

    def refuse(one: dict[str, Any]) -> None:
        one.pop("result", None)
        one["error"] = {"code": -32601, "message": "the method does not exist"}

    alpha.fault = faults.spoil("eth_chainId", refuse)
    driver = open_driver(alpha.url)
    for number in list(worlds.hashes)[:3]:
        assert (await driver.read_block_by_number(number, ReadView())).evm.hash == worlds.hashes[number]
    rows = await asyncio.gather(
        *(driver.read_block_by_number(number, ReadView()) for number in list(worlds.hashes)[3:9])
    )
    assert [row.evm.hash for row in rows] == list(worlds.hashes.values())[3:9]
    # Asked once: an error is its last word for a while.
    assert alpha.methods.count("eth_chainId") == 1
