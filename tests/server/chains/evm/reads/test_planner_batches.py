"""Which reads travel in company: what may be slow or long shares a request with nothing cheap."""

from __future__ import annotations

import asyncio

import pytest

from server.chains.capabilities.contracts import CallRequest
from server.chains.capabilities.logs import BlockRange
from server.chains.view import ReadView
from tests.server.chains.evm.nodes import ALICE, BOB, PROBER, USDC, call_data

pytestmark = pytest.mark.devnet

CALL = CallRequest(to=PROBER, data=call_data("answer()"))


@pytest.fixture
async def sent(ethereum) -> str:
    return str((await ethereum.send(BOB, value=3, sender=ALICE))["transactionHash"])


async def test_heavy_reads_share_no_request_with_cheap_ones(driver, ethereum, sent, tally):
    head = await ethereum.height()
    cheap = [
        lambda: driver.read_balance(ALICE, ReadView()),
        lambda: driver.read_token_balance(ALICE, USDC, ReadView()),
        lambda: driver.read_receipt(sent, ReadView()),
        lambda: driver.read_block_by_number(head, ReadView()),
    ]
    heavy = {
        "logs": (lambda: driver.read_logs(BlockRange(str(head), str(head), None), None, None, ReadView()), [2]),
        "full block": (lambda: driver.read_block_transactions(head, ReadView()), [1]),
        "trace": (lambda: driver.read_trace(sent, ReadView()), [1]),
        "call": (lambda: driver.simulate_call(CALL, ReadView(block=head)), [1]),
        "call at the newest block": (lambda: driver.simulate_call(CALL, ReadView()), [3]),
        "estimate": (lambda: driver.estimate_gas(CALL, ReadView()), [3]),
        "simulation": (lambda: driver.simulate_transaction(CALL, ReadView(block=head)), [1]),
        "passed on": (lambda: driver.pass_call("eth_blockNumber", b"[]", ReadView()), [1]),
    }
    # Asked once before, so that what the node can do is known and the head too.
    for read, _ in heavy.values():
        await read()
    tally.requests.clear()
    await asyncio.gather(*(read() for read in cheap))
    company = list(tally.requests)
    assert sum(company) > len(company)
    for name, (read, requests) in heavy.items():
        tally.requests.clear()
        await asyncio.gather(*(one() for one in cheap), read())
        assert sorted(tally.requests) == sorted([*company, *requests]), name


async def test_heavy_reads_share_no_request_with_each_other(driver, ethereum, sent, tally):
    head = await ethereum.height()
    await driver.read_height(ReadView())
    tally.requests.clear()
    await asyncio.gather(
        driver.read_block_transactions(head, ReadView()),
        driver.read_block_transactions(head - 1, ReadView()),
        driver.simulate_call(CALL, ReadView(block=head)),
        driver.estimate_gas(CALL, ReadView()),
        driver.read_logs(BlockRange(str(head), str(head), None), None, None, ReadView()),
    )
    # Logs of a single block come with its header, calls at the newest block between two looks at its number.
    assert sorted(tally.requests) == [1, 1, 1, 2, 3]
