"""Reads of several executions while the chain moves, forks, or its nodes fail: of one block, or a named error.

The contracts read return the block that they run in, so that a mixed answer shows itself: its number, its time and its
parent's hash.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.evm.artifacts import multicall3
from runtime.settings import Settings
from server.chains.evm.reads.executions import MAX_CALLS
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.calls import CallGroup, ContractCall
from server.errors import MovedOn
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.faults import simulator as faults
from tests.operations import Operations
from tests.server.chains.evm.nodes import MULTICALL3, Anvil, contracts_of
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    Act = Callable[[], Awaitable[object]]

MakeFaulty = Any

# NUMBER, TIMESTAMP, BLOCKHASH(NUMBER - 1), and six after 45,000 gas; each returned as a word.
TELLERS = {
    "0x00000000000000000000000000000000000000C1": "4360005260206000f3",
    "0x00000000000000000000000000000000000000C2": "4260005260206000f3",
    "0x00000000000000000000000000000000000000C3": "60014303 40 60005260206000f3",
    "0x00000000000000000000000000000000000000C4": "6106c2 5b 6001 90 03 80 6003 57 50 6006 60005260206000f3",
}
NUMBER, TIME, PARENT, EATER = TELLERS
GAS_EATEN = 50_000


def group_of(address: str, count: int = MAX_CALLS, **options: Any) -> CallGroup:
    """Ask one contract as often as fills an execution; calls of different lengths, so that no two groups are equal."""
    return CallGroup(tuple(ContractCall(address, index.to_bytes(2, "big")) for index in range(count)), **options)


GROUPS = (group_of(NUMBER), group_of(TIME), group_of(PARENT))


@pytest_asyncio.fixture(loop_scope="session")
async def chain() -> AsyncIterator[Anvil]:
    async with aiohttp.ClientSession() as session:
        node = await start(session)
        yield node
        node.stop()


async def start(session: aiohttp.ClientSession, *options: str) -> Anvil:
    node = await Anvil.start(session, "--chain-id", "1", "--number", "20000000", "--timestamp", "1700000000", *options)
    await node.place(MULTICALL3, multicall3())
    for address, code in TELLERS.items():
        await node.place(address, bytes.fromhex(code), is_runtime=True)
    await node.call("anvil_mine", "0x3", "0xc")
    return node


@pytest.fixture
def tally() -> CallTally:
    return CallTally()


@pytest_asyncio.fixture(loop_scope="session")
async def open_driver(tally: CallTally) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Opens drivers of ethereum on endpoints alpha (the favourite of all) and beta, which have proved their chain."""
    opened: list[Chains] = []
    async with open_session() as http:

        async def open_on(*urls: str, cached: bool = False, hedge: bool = False) -> Any:
            endpoints = [
                {"label": label, "url": url, "weight": weight}
                for label, url, weight in zip(("alpha", "beta"), urls, (1000, 1), strict=False)
            ]
            settings = {"profile": "devnet", "chains": {"ethereum": {"endpoints": endpoints, "hedge": hedge}}}
            cache = Cache(1 << 24, clock=lambda: 0.0) if cached else None
            chains = Chains.load(Settings.model_validate(settings), http, observer=tally, cache=cache)
            opened.append(chains)
            driver: Any = Operations(chains.get("ethereum"))
            await driver.pool.probe("eth_chainId", [])
            await driver.pool.call("eth_chainId", [])
            tally.requests.clear()
            return driver

        yield open_on
        for chains in opened:
            await chains.close()


def between(*acts: Act | None) -> faults.Fault:
    """Run the calls of a batch one after the other and act after each `eth_call`, as long as there are acts."""
    left = list(acts)

    async def fault(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        answers = []
        for one in parsed if isinstance(parsed, list) else [parsed]:
            answers.append(json.loads(await request.forward(json.dumps(one).encode())))
            if one["method"] == "eth_call" and left and (act := left.pop(0)) is not None:
                await act()
        faults.write_answer(request, json.dumps(answers if isinstance(parsed, list) else answers[0]).encode())

    return fault


def mined(node: Anvil) -> Act:
    return lambda: node.call("anvil_mine", "0x1", "0xc")


async def blocks_of(node: Anvil, block: int) -> tuple[int, int, int]:
    header = await node.block(hex(block))
    return int(header["number"], 16), int(header["timestamp"], 16), int(header["parentHash"], 16)


async def check(node: Anvil, view: ReadView, groups: Sequence[Sequence[Any]]) -> None:
    """All that was returned is of the block that the view is settled on, as the node has it now."""
    assert view.block is not None
    for truth, outcomes in zip(await blocks_of(node, view.block), groups, strict=True):
        assert {int.from_bytes(outcome.data, "big") for outcome in outcomes} == {truth}


async def test_an_unmoved_chain_is_asked_once(chain, open_driver, tally):
    driver, view = await open_driver(chain.url), ReadView()
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    assert tally.requests == [3]


@pytest.mark.parametrize(("at", "again"), [(0, 1), (1, 2), (2, 0)])
async def test_a_block_mined_between_two_executions_costs_one_request_more(
    chain, faulty, open_driver, tally, at, again
):
    front = await faulty(chain.url)
    driver, view = await open_driver(front.url), ReadView()
    front.fault = between(*[None] * at, mined(chain))
    before = await chain.height()
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    assert view.block == before + (at < 2)
    assert tally.requests == ([3, again] if again else [3])


async def test_a_block_mined_after_every_execution_is_no_failure(chain, faulty, open_driver, tally):
    front = await faulty(chain.url)
    driver, view = await open_driver(front.url), ReadView()
    front.fault = between(*[mined(chain)] * 20)
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    assert tally.requests == [3, 2]


async def prepare_forks(node: Anvil, *forks: tuple[int, int]) -> list[Act]:
    """Return acts that replace the two newest blocks by others, whose times are given; the first stands already."""
    start_time = int((await node.block("latest"))["timestamp"], 16)
    snapshot = await node.call("evm_snapshot")

    async def make(*times: int) -> None:
        nonlocal snapshot
        assert await node.call("evm_revert", snapshot)
        snapshot = await node.call("evm_snapshot")
        for time in times:
            await node.call("evm_setNextBlockTimestamp", start_time + time)
            await node.call("evm_mine")

    await make(*forks[0])
    return [lambda times=times: make(*times) for times in forks[1:]]


@pytest.mark.parametrize("other", [(5, 24), (12, 25)], ids=["other parent", "other time"])
async def test_a_block_replaced_by_one_of_its_height_is_noticed(chain, faulty, open_driver, tally, other):
    front = await faulty(chain.url)
    driver, view = await open_driver(front.url), ReadView()
    replace, *_ = await prepare_forks(chain, (12, 24), other)
    before = await chain.height()
    front.fault = between(None, replace)
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    assert view.block == before == await chain.height()
    assert tally.requests == [3, 3]


async def test_a_chain_replaced_twice_is_an_error_that_says_when_to_try_again(chain, faulty, open_driver, tally):
    front = await faulty(chain.url)
    driver, view = await open_driver(front.url), ReadView()
    first, second = await prepare_forks(chain, (12, 24), (5, 24), (6, 24))
    front.fault = between(first, None, None, None, second)
    with pytest.raises(MovedOn, match="try again") as caught:
        await contracts_of(driver).call_groups(GROUPS, view)
    assert caught.value.retry_after_ms == 1000
    assert tally.requests == [3, 3]
    # As soon as it stands still it is read.
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))


async def test_a_chain_that_moves_on_and_is_replaced_is_an_error(chain, faulty, open_driver, tally):
    front = await faulty(chain.url)
    driver = await open_driver(front.url)
    replace, *_ = await prepare_forks(chain, (12, 24), (5, 24, 36))
    front.fault = between(mined(chain), None, replace)
    with pytest.raises(MovedOn):
        await contracts_of(driver).call_groups(GROUPS, ReadView())
    assert tally.requests == [3, 1]


async def test_what_is_kept_of_a_replaced_block_is_read_again(chain, open_driver, tally):
    driver = await open_driver(chain.url, cached=True)
    replace, *_ = await prepare_forks(chain, (12, 24), (5, 24))
    first, second = ReadView(), ReadView()
    await contracts_of(driver).call_groups(GROUPS[1:], first)
    await replace()
    tally.requests.clear()
    await check(chain, second, await contracts_of(driver).call_groups(GROUPS, second))
    assert second.block == first.block
    # The one that was not kept shows another block of that height: all are read then.
    assert tally.requests == [1, 3]


async def test_a_node_that_caps_gas_gets_smaller_executions_of_one_block(faulty, open_driver, tally):
    async with aiohttp.ClientSession() as session:
        node = await start(session, "--gas-limit", "5000000")
        eaters = CallGroup(tuple(ContractCall(EATER, index.to_bytes(2, "big"), GAS_EATEN) for index in range(180)))
        smaller = [CallGroup(group.calls[:120]) for group in GROUPS]
        front = await faulty(node.url)
        driver = await open_driver(front.url)
        for acts in ((), [mined(node)] * 3):
            front.fault = between(*acts)
            view = ReadView()
            tally.requests.clear()
            *others, eaten = await contracts_of(driver).call_groups((*smaller, eaters), view)
            assert {int.from_bytes(outcome.data, "big") for outcome in eaten} == {6}
            await check(node, view, others)
            # Halved once, at the block that the others ran at.
            assert tally.requests == [4, 2 + (2 if acts else 0)]
        # All of them too much: halves at the newest block.
        front.fault = between()
        view = ReadView()
        tally.requests.clear()
        (eaten,) = await contracts_of(driver).call_groups([eaters], view)
        assert {int.from_bytes(outcome.data, "big") for outcome in eaten} == {6}
        assert tally.requests == [1, 2]
    node.stop()


TOO_MUCH = {
    "time": (-32000, "execution aborted (timeout = 5s)"),
    "size": (-32000, "backend response too large"),
    "gas": (-32000, "out of gas"),
}


@pytest.mark.parametrize("words", TOO_MUCH)
async def test_an_execution_that_is_too_much_is_halved_at_the_block_of_the_others(
    chain, faulty, open_driver, tally, words
):
    """Of three executions the largest is refused, and a block is mined before its halves are asked."""
    code, message = TOO_MUCH[words]
    front = await faulty(chain.url)
    driver, view = await open_driver(front.url), ReadView()
    move = mined(chain)

    async def refuse_long(request: faults.Request) -> None:
        parsed = json.loads(request.body)
        answers = []
        for one in parsed if isinstance(parsed, list) else [parsed]:
            answer = json.loads(await request.forward(json.dumps(one).encode()))
            if one["method"] == "eth_call" and len(one["params"][0]["data"]) > 70_000:
                answer = {"jsonrpc": "2.0", "id": one["id"], "error": {"code": code, "message": message}}
            answers.append(answer)
        await move()
        faults.write_answer(request, json.dumps(answers if isinstance(parsed, list) else answers[0]).encode())

    front.fault = refuse_long
    before = await chain.height()
    groups = [CallGroup(GROUPS[0].calls[:120]), GROUPS[1], CallGroup(GROUPS[2].calls[:120], is_known=False)]
    await check(chain, view, await contracts_of(driver).call_groups(groups, view))
    assert view.block == before
    assert tally.requests == [3, 2]


async def test_a_node_that_refuses_batches_is_read_at_one_block_all_the_same(chain, faulty, open_driver, tally):
    front = await faulty(chain.url)
    driver = await open_driver(front.url)
    refuse, move = faults.refuse_batches(), between(mined(chain))

    async def fault(request: faults.Request) -> None:
        await (refuse if request.asked.is_batch else move)(request)

    front.fault = fault
    view = ReadView()
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        # The call that was left out, and then the two that are of an older block.
        (faults.half_batch, [3, 1, 2]),
        (faults.cut, [3, 3]),
        (faults.cut_json, [3, 3]),
        (faults.broken, [3, 3]),
        # Sent again by the HTTP client itself, as the server may have closed an idle connection.
        (faults.drop, [3]),
    ],
)
async def test_what_one_endpoint_leaves_out_another_one_answers_of_the_same_block(
    chain, faulty, open_driver, tally, fault, requests
):
    """The other endpoint is at another height by then."""
    bad, good = await faulty(chain.url), await faulty(chain.url)
    driver = await open_driver(bad.url, good.url)

    async def fail_and_move(request: faults.Request) -> None:
        # After the node has answered, and before the answer ends: else the other endpoint is asked during the move.
        forward, is_asked = request.forward, fault not in (faults.broken, faults.drop)

        async def forward_and_move(body: bytes) -> bytes:
            answer = await forward(body)
            await mined(chain)()
            return answer

        request.forward = forward_and_move
        if not is_asked:
            await mined(chain)()
        await fault(request)

    bad.fault = faults.first(1, fail_and_move)
    view = ReadView()
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    assert tally.requests == requests


async def test_hedged_executions_are_of_one_block(chain, faulty, open_driver, tally):
    slow, fast = await faulty(chain.url), await faulty(chain.url)
    driver = await open_driver(slow.url, fast.url, hedge=True)
    for index in range(20):
        await contracts_of(driver).call_groups([group_of(NUMBER, index + 1)], ReadView())
    tally.requests.clear()

    async def late(request: faults.Request) -> None:
        await mined(chain)()
        await faults.delay(2.0)(request)

    # Whichever is asked first.
    slow.fault = fast.fault = faults.first(1, late)
    view = ReadView()
    await check(chain, view, await contracts_of(driver).call_groups(GROUPS, view))
    # The hedges of the three have timers of their own, which may expire in several turns. What is of another block than
    # the others is asked once more.
    assert len(tally.requests) >= 2
    assert sum(tally.requests) <= 3 * 3


async def test_five_large_executions_are_one_request(chain, open_driver, tally):
    """Of 45 kB each: what an overview of a wallet's positions on ethereum takes."""
    driver, view = await open_driver(chain.url), ReadView()
    large = [
        CallGroup(tuple(ContractCall(address, bytes([number]) * 20 + index.to_bytes(4, "big")) for index in range(100)))
        for number, address in enumerate((NUMBER, TIME, PARENT, NUMBER, TIME))
    ]
    whole = [group._replace(is_known=False) for group in large]
    outcomes = await contracts_of(driver).call_groups(whole, view)
    await check(chain, view, outcomes[:3])
    assert tally.requests == [5]


async def test_a_plain_read_of_many_calls_is_one_request_too(chain, open_driver, tally):
    driver, view = await open_driver(chain.url), ReadView()
    calls = [call for group in GROUPS for call in group.calls]
    for are_known in (True, False):
        tally.requests.clear()
        outcomes = await contracts_of(driver).call_contracts(calls, view := ReadView(), are_known=are_known)
        await check(chain, view, [outcomes[start : start + MAX_CALLS] for start in range(0, len(calls), MAX_CALLS)])
        assert tally.requests == [3]
