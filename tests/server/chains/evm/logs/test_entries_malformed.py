"""Logs in a shape that no node writes: another endpoint is asked, and where there is none it is no success."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.chains.capabilities.logs import BlockRange
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from tests.server.chains.evm.changed import nodes
from tests.server.chains.evm.nodes import ALICE, BOB, USDC, call_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.chains.evm.changed import Change

pytestmark = pytest.mark.devnet

LOGS, RECEIPT = "eth_getLogs", "eth_getTransactionReceipt"
MALFORMED: dict[str, dict[str, Any]] = {
    "data without a prefix": {"data": "00" * 32},
    "data of half a byte": {"data": "0x0"},
    "data that is no hex": {"data": "0x" + "zz" * 32},
    "no data": {"data": None},
    "data that is a number": {"data": 1},
    "a topic of 31 bytes": {"topics": ["0x" + "cd" * 31]},
    "a topic that is no hex": {"topics": ["0x" + "zz" * 32]},
    "a topic that is none": {"topics": [None]},
    "five topics": {"topics": ["0x" + "cd" * 32] * 5},
    "topics in one text": {"topics": "0x" + "cd" * 32},
    "no topics": {"topics": None},
    "an index that is a number": {"logIndex": 0},
    "an index that is no hex": {"logIndex": "first"},
    "an index beyond all blocks": {"logIndex": "0x80000000"},
    "no index": {"logIndex": None},
    "no block": {"blockNumber": None},
    "a block that is a number": {"blockNumber": 7},
    "no transaction": {"transactionHash": None},
    "a short transaction": {"transactionHash": "0x" + "ab" * 31},
    "a long transaction": {"transactionHash": "0x" + "ab" * 33},
    "two transactions": {"transactionHash": "0x" + "ab" * 32 + " 0x" + "ab" * 32},
    "a short address": {"address": ALICE[:-2]},
    "no address": {"address": None},
    "removed": {"removed": True},
    "removed in words": {"removed": "false"},
}
READS: dict[str, Callable[[Any, str], Any]] = {
    "getLogs": lambda driver, number: driver.read_logs(BlockRange(number, number, None), None, None, ReadView()),
    "getTransfers": lambda driver, number: driver.read_transfers(BlockRange(number, number, None), ALICE, ReadView()),
    "marketplace": lambda driver, number: driver.search_events(
        BlockRange(number, number, None), USDC, [], ReadView(), keep=lambda *_: True, limit=100, most_blocks=10
    ),
}


def spoil(members: dict[str, Any]) -> Change:
    return lambda logs: [one | members for one in logs]


def drop(members: dict[str, Any]) -> Change:
    return lambda logs: [{name: value for name, value in one.items() if name not in members} for one in logs]


@pytest.fixture
async def transferred(ethereum: Any) -> str:
    """The block of a transfer by ALICE, and of nothing else."""
    sent = await ethereum.send(USDC, call_data("transfer(address,uint256)", BOB, 0), sender=ALICE)
    return str(int(sent["blockNumber"], 16))


async def check_logs(change: Change, number: str, ethereum: Any, session: Any, tally: Any) -> None:
    """A wrong endpoint costs one question more: one answer of each read holds logs. Alone it is not believed."""
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        for read in READS.values():
            for front in fronts.values():
                front.changes = {}
                front.asked.clear()
            truth = await read(driver, number)
            assert USDC in str(truth)
            questions = sum(front.asked.count(LOGS) for front in fronts.values())
            favourite, other = sorted(fronts.values(), key=lambda front: LOGS not in front.asked)
            favourite.changes = {LOGS: change}
            for front in fronts.values():
                front.asked.clear()
            assert await read(driver, number) == truth
            assert [front.asked.count(LOGS) for front in (favourite, other)] == [questions, 1]
    async with nodes(tally, ethereum, session, only={LOGS: change}) as (driver, fronts):
        for read in READS.values():
            with pytest.raises(UpstreamUnavailable, match="answered eth_getLogs with what cannot be its answer"):
                await read(driver, number)


@pytest.mark.parametrize("what", MALFORMED)
async def test_malformed_logs_are_asked_elsewhere(what, transferred, ethereum, session, tally):
    await check_logs(spoil(MALFORMED[what]), transferred, ethereum, session, tally)


@pytest.mark.parametrize("name", ["address", "topics", "data", "blockNumber", "transactionHash", "logIndex"])
async def test_logs_that_lack_a_member_are_asked_elsewhere(name, transferred, ethereum, session, tally):
    await check_logs(drop({name: None}), transferred, ethereum, session, tally)


async def test_two_logs_of_one_place_are_asked_elsewhere(transferred, ethereum, session, tally):
    twin = {"transactionHash": "0x" + "ab" * 32}
    await check_logs(lambda logs: [*logs, *(one | twin for one in logs)], transferred, ethereum, session, tally)


async def test_a_log_that_is_reported_twice_counts_once(transferred, ethereum, session, tally):
    async with nodes(tally, ethereum, session, only={}) as (driver, fronts):
        for read in READS.values():
            fronts["only"].changes = {}
            truth = await read(driver, transferred)
            fronts["only"].changes = {LOGS: lambda logs: logs * 2}
            assert await read(driver, transferred) == truth


@pytest.mark.parametrize("what", ["data of half a byte", "a short transaction", "removed", "a topic of 31 bytes"])
async def test_receipts_with_malformed_logs_are_asked_elsewhere(what, ethereum, session, tally):
    sent = await ethereum.send(USDC, call_data("transfer(address,uint256)", BOB, 0), sender=ALICE)

    def change(receipt: Any) -> Any:
        return receipt | {"logs": spoil(MALFORMED[what])(receipt["logs"])}

    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_receipt(sent["transactionHash"], ReadView())
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = {RECEIPT: change}
        assert await driver.read_receipt(sent["transactionHash"], ReadView()) == truth
        for front in fronts.values():
            front.changes = {RECEIPT: change}
        with pytest.raises(UpstreamUnavailable):
            await driver.read_receipt(sent["transactionHash"], ReadView())
