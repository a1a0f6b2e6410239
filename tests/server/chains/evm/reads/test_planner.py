"""The read planner's bounds and failures."""

from __future__ import annotations

import asyncio
import time

import pytest

from server.chains.evm.reads.executions import MAX_CALLS
from server.chains.evm.reads.multicall import Call, eth_balance_call
from server.chains.view import ReadView
from server.errors import DeadlineExceeded, UpstreamUnavailable
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, BOB, GAS_BURNER, OWNER, PROBER, SILENT, USDC, call_data

pytestmark = pytest.mark.devnet


def read(address: str, signature: str, *arguments: object) -> Call:
    return Call(bytes.fromhex(address[2:]), bytes.fromhex(call_data(signature, *arguments)[2:]))


def balances(driver, count: int) -> list[Call]:
    accounts = [(0x7000 + index).to_bytes(20, "big") for index in range(count - 1)] + [bytes.fromhex(ALICE[2:])]
    return [eth_balance_call(driver.planner._chain.multicall, account) for account in accounts]


async def test_folds_are_cut_into_bounded_executions_of_one_request(driver, requests):
    with requests([3]):
        answers = await asyncio.gather(
            *(driver.planner.read_shared(ReadView(), [call]) for call in balances(driver, 2 * MAX_CALLS + 10))
        )
    assert len(answers) == 2 * MAX_CALLS + 10
    assert int.from_bytes(answers[-1][0].data, "big") > 0
    assert not any(int.from_bytes(answer[0].data, "big") for answer in answers[:-1])


async def test_one_readers_many_calls_are_all_of_one_block(driver, ethereum, requests):
    view = ReadView()
    with requests([3]):
        outcomes = await driver.planner.read_shared(view, balances(driver, 2 * MAX_CALLS + 1))
    assert len(outcomes) == 2 * MAX_CALLS + 1
    truth = int(await ethereum.call("eth_getBalance", ALICE, hex(view.block)), 16)
    assert int.from_bytes(outcomes[-1].data, "big") == truth


async def test_failures_stay_with_their_call(driver):
    outcomes = await driver.planner.read_shared(
        ReadView(),
        [
            read(PROBER, "answer()"),
            read(PROBER, "fail_with_reason(string)", "no"),
            read(PROBER, "fail_silently()"),
            read(SILENT, "anything()"),
            read(USDC, "decimals()"),
        ],
    )
    assert [outcome.success for outcome in outcomes] == [True, False, False, True, True]
    assert outcomes[1].data[:4] == bytes.fromhex("08c379a0")
    assert (outcomes[2].data, outcomes[3].data) == (b"", b"")
    assert int.from_bytes(outcomes[4].data, "big") == 6


async def test_a_contract_that_burns_a_shared_executions_gas_is_read_around(driver):
    """The whole execution dies of it; every read is then asked alone, at one block."""
    answers = await asyncio.gather(
        driver.planner.read_shared(ReadView(), [read(GAS_BURNER, "anything()")]),
        *(driver.planner.read_shared(ReadView(), [call]) for call in balances(driver, 9)),
    )
    assert not answers[0][0].success
    assert int.from_bytes(answers[-1][0].data, "big") > 0


async def test_an_expired_deadline_is_reported(driver):
    view = ReadView(deadline=time.monotonic() - 1)
    with pytest.raises(DeadlineExceeded):
        await driver.planner.read_shared(view, balances(driver, 1))
    with pytest.raises(DeadlineExceeded):
        await driver.planner.read_alone(ReadView(deadline=time.monotonic() - 1), balances(driver, 1))
    assert (await driver.read_balance(ALICE, ReadView())).raw > 0


async def test_one_expired_reader_does_not_end_the_others(driver):
    late, fine = await asyncio.gather(
        driver.read_balance(ALICE, ReadView(deadline=time.monotonic() + 5)),
        driver.read_balance(BOB, ReadView(deadline=time.monotonic() - 1)),
    )
    assert late.raw > 0
    assert fine.raw > 0


async def test_a_chain_that_moved_between_two_reads_of_a_view_says_try_again(chains, hyperliquid):
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    view = ReadView()
    await driver.read_balance(OWNER, view)
    await node.call("anvil_mine", "0x1")
    with pytest.raises(UpstreamUnavailable, match="try again") as caught:
        await driver.read_balance(OWNER, view)
    assert caught.value.retry_after_ms == 1000


async def test_closing_tells_readers_to_try_again(driver, ethereum):
    reading = asyncio.create_task(driver.read_balance(ALICE, ReadView()))
    for _ in range(4):
        await asyncio.sleep(0)
    await driver.planner.close()
    with pytest.raises(UpstreamUnavailable, match="try again"):
        await reading
    assert (await driver.read_balance(ALICE, ReadView())).raw > 0


def many_reads(number: int) -> list[Call]:
    return [read(USDC, "decimals()") for _ in range(number)]


async def test_a_reader_that_burns_gas_in_a_fold_is_found_by_halving_and_kept_apart(driver, ethereum, tally):
    """Each call may burn all gas but a 64th: three burners leave too little for the execution, which fails whole."""
    burners = [read(GAS_BURNER, f"burn{number}()") for number in range(3)]
    views = [ReadView() for _ in range(12)]
    calls = [*burners, *many_reads(9)]

    async def ask() -> list[list]:
        return await asyncio.gather(
            *(driver.planner.read_shared(view, [call]) for view, call in zip(views, calls, strict=True))
        )

    answers = await ask()
    assert [answer[0].success for answer in answers] == [False] * 3 + [True] * 9
    assert {int.from_bytes(answer[0].data, "big") for answer in answers[3:]} == {6}
    assert driver.planner._quarantine.holds(burners)

    views = [ReadView() for _ in range(12)]
    tally.requests.clear()
    again = await ask()
    assert [answer[0].success for answer in again] == [False] * 3 + [True] * 9
    # The reads beside it fold into one call at once, without a failure first; the burners are asked one by one.
    assert sum(tally.requests) <= 1 + 2 * len(burners) * 2


async def test_calls_are_cut_by_gas_and_by_bytes(driver, requests):
    heavy = [Call(*read(USDC, "decimals()")[:2], gas=4_000_000) for _ in range(5)]
    with requests([3]):
        outcomes = await driver.planner.read_alone(ReadView(), heavy)
    assert [int.from_bytes(outcome.data, "big") for outcome in outcomes] == [6] * 5
    long = [Call(heavy[0].target, heavy[0].data + bytes(30_000)) for _ in range(4)]
    with requests([2]):
        outcomes = await driver.planner.read_alone(ReadView(), long)
    assert [int.from_bytes(outcome.data, "big") for outcome in outcomes] == [6] * 4


async def test_a_call_whose_answer_depends_on_the_sender_is_asked_in_its_name(driver, ethereum):
    """The code there returns CALLER: folded it would be Multicall3."""
    address = "0x00000000000000000000000000000000000000b7"
    await ethereum.place(address, bytes.fromhex("3360005260206000f3"), is_runtime=True)
    target, view = bytes.fromhex(address[2:]), ReadView()
    folded = await driver.planner.read_alone(ReadView(), [Call(target, b"")])
    assert folded[0].data[-20:] == driver.planner._chain.multicall
    outcomes = await driver.planner.read_alone(view, [Call(target, b"", sender=bytes.fromhex(ALICE[2:]))])
    assert outcomes[0].success
    assert outcomes[0].data[-20:].hex() == ALICE[2:].lower()
    assert view.block is not None


@pytest.mark.parametrize("way", ["alone", "shared", "turn"])
async def test_a_reader_that_hangs_up_while_all_wait_interrupts_no_other(driver, way):
    async def one() -> object:
        if way == "turn":
            return await driver.planner.in_turn()
        read_so = driver.planner.read_alone if way == "alone" else driver.planner.read_shared
        return await read_so(ReadView(), balances(driver, 1))

    reading = [asyncio.create_task(one()) for _ in range(4)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reading[0].cancel()
    reading[2].cancel()
    results = await asyncio.gather(*reading, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, False, True, False]
