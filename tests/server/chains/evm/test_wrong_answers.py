"""Endpoints that answer in good form, and wrongly: about another block, another transaction, or with no such thing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from server.chains.capabilities.contracts import CallRequest
from server.chains.capabilities.logs import BlockRange
from server.chains.view import ReadView
from server.errors import GatewayError, UpstreamDisagrees, UpstreamUnavailable
from tests.server.chains.evm.changed import Changed, nodes
from tests.server.chains.evm.nodes import ALICE, BOB, USDC, call_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.chains.evm.changed import Change

pytestmark = pytest.mark.devnet

BLOCK, BY_HASH, LOGS = "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getLogs"
RECEIPT, TRANSACTION = "eth_getTransactionReceipt", "eth_getTransactionByHash"
STRANGE: dict[str, Change] = {
    "text": lambda _: "0x",
    "a list": lambda _: [],
    "an empty object": lambda _: {},
    "a number": lambda _: 7,
    "nothing in a list": lambda _: [None],
}
OTHERS: dict[str, Change] = {
    "another number": lambda one: one | {"number": "0x1", "blockNumber": "0x1"},
    "another hash": lambda one: one | {"hash": "0x" + "cd" * 32, "transactionHash": "0x" + "cd" * 32},
}


@pytest.fixture
async def sent(ethereum: Any) -> dict[str, Any]:
    return dict(await ethereum.send(BOB, value=5, sender=ALICE))


def reads(driver: Any, sent: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    number = int(sent["blockNumber"], 16)
    return {
        BLOCK: lambda: driver.read_block_by_number(number, ReadView()),
        BLOCK + " in full": lambda: driver.read_block_transactions(number, ReadView()),
        BY_HASH: lambda: driver.read_block_by_hash(sent["blockHash"], ReadView()),
        RECEIPT: lambda: driver.read_receipt(sent["transactionHash"], ReadView()),
        TRANSACTION: lambda: driver.read_transaction(sent["transactionHash"], ReadView()),
        LOGS: lambda: driver.read_logs(BlockRange(str(number), str(number), None), None, None, ReadView()),
    }


CASES = [
    *((name, change) for name in (BLOCK, BLOCK + " in full", BY_HASH, RECEIPT, TRANSACTION) for change in STRANGE),
    (BLOCK, "another number"),
    (BLOCK + " in full", "another number"),
    (BY_HASH, "another hash"),
    (RECEIPT, "another hash"),
    (TRANSACTION, "another hash"),
    *((LOGS, change) for change in STRANGE if change != "a list"),
]


@pytest.mark.parametrize(("name", "change"), CASES)
async def test_one_endpoint_that_answers_wrongly_costs_no_caller_an_error(name, change, ethereum, sent, session, tally):
    method = name.split()[0]
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await reads(driver, sent)[name]()
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = {method: (STRANGE | OTHERS)[change]}
        assert await reads(driver, sent)[name]() == truth
        assert method in favourite.asked


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
async def test_one_sound_endpoint_of_three_is_enough(name, ethereum, sent, session, tally):
    async with nodes(tally, ethereum, session, alpha={}, beta={}, gamma={}) as (driver, fronts):
        truth = await reads(driver, sent)[name]()
        for change in ("text", "an empty object"):
            for good in fronts.values():
                for front in fronts.values():
                    front.changes = {} if front is good else {name.split()[0]: STRANGE[change]}
                assert await reads(driver, sent)[name]() == truth


@pytest.mark.parametrize(("name", "change"), CASES)
async def test_where_all_endpoints_answer_wrongly_none_is_believed(name, change, ethereum, sent, session, tally):
    wrong = {name.split()[0]: (STRANGE | OTHERS)[change]}
    async with nodes(tally, ethereum, session, alpha=wrong, beta=wrong) as (driver, _):
        with pytest.raises(GatewayError) as caught:
            await reads(driver, sent)[name]()
    assert isinstance(caught.value, UpstreamUnavailable)


NO_NUMBERS = ["0x", "0x" + "f" * 65, "", "latest", 7, [], {}, "0xzz", "0x-5", "0x 5", "0x1_0", True]


@pytest.mark.parametrize("said", NO_NUMBERS, ids=str)
@pytest.mark.parametrize("method", ["eth_getBlockByNumber", "eth_getBalance", "eth_call"])
async def test_what_is_no_number_is_asked_elsewhere(method, said, ethereum, session, tally):
    """Without Multicall3, so that balances are read one by one."""

    def read(driver: Any) -> Any:
        return driver.read_height(ReadView()) if is_height else driver.read_balance(ALICE, ReadView())

    is_height = method == "eth_getBlockByNumber"
    alone: dict[str, Change | None] = {} if method == "eth_call" else {"eth_call": lambda _: "0x"}
    wrong: dict[str, Change | None] = alone | {method: lambda reply: reply | {"number": said} if is_height else said}
    async with nodes(tally, ethereum, session, alpha=alone, beta=alone) as (driver, fronts):
        truth = await read(driver)
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = wrong
        assert await read(driver) == truth
        if method == "eth_call":
            return  # a fold that cannot be read is not the last word either: the balances are read one by one
        for front in fronts.values():
            front.changes = wrong
        with pytest.raises(UpstreamUnavailable):
            await read(driver)


@pytest.mark.parametrize(
    "said",
    [{"number": "0x" + "f" * 16}, {"timestamp": "0x" + "f" * 16}, {"timestamp": "soon"}, {"timestamp": None}],
    ids=str,
)
async def test_a_height_or_time_beyond_all_numbers_is_no_head(said, ethereum, session, tally):
    wrong = {"eth_getBlockByNumber": lambda reply: reply | said}
    async with nodes(tally, ethereum, session, only=wrong) as (driver, _):
        with pytest.raises(UpstreamUnavailable):
            await driver.read_height(ReadView())


@pytest.mark.parametrize("block", ["newest", "chosen"])
async def test_one_endpoint_that_garbles_folds_does_not_end_folding(block, ethereum, session, tally):
    head = await ethereum.height()

    def view() -> ReadView:
        return ReadView(block=head) if block == "chosen" else ReadView()

    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        truth = await driver.read_balance(ALICE, view())
        favourite.changes = {"eth_call": lambda _: "0x1234"}
        tally.requests.clear()
        assert await driver.read_balance(ALICE, view()) == truth
        assert tally.requests == [1, 1]
        for front in fronts.values():
            front.changes = {"eth_call": lambda _: "0x1234"}
        assert await driver.read_balance(ALICE, view()) == truth  # one by one


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("eth_blockNumber", "latest"),
        ("eth_call", "0xzz"),
        ("eth_call", 7),
        ("eth_estimateGas", "0x"),
        ("eth_getCode", "code"),
        ("eth_getCode", []),
    ],
)
async def test_what_is_no_answer_to_a_callers_own_call_is_asked_elsewhere(method, said, ethereum, session, tally):
    balance = CallRequest(to=USDC, data=call_data("balanceOf(address)", ALICE))
    head = await ethereum.height()

    async def read(driver: Any, block: int | None) -> Any:
        if method == "eth_getCode":
            return await driver.read_code(USDC, ReadView(block=block))
        if method == "eth_estimateGas":
            return await driver.estimate_gas(CallRequest(to=BOB, sender=ALICE), ReadView())
        return await driver.simulate_call(balance, ReadView(block=block))

    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await read(driver, None)
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = {method: lambda _: said}
        for block in (None, head):
            assert await read(driver, block) == truth
        assert method in favourite.asked
        for front in fronts.values():
            front.changes = {method: lambda _: said}
        with pytest.raises(UpstreamUnavailable):
            await read(driver, None)


async def test_more_gas_than_any_chain_has_is_no_estimate(ethereum, session, tally):
    async with nodes(tally, ethereum, session, only={"eth_estimateGas": lambda _: "0x" + "f" * 16}) as (driver, _):
        with pytest.raises(UpstreamUnavailable):
            await driver.estimate_gas(CallRequest(to=BOB, sender=ALICE), ReadView())


class AnotherBlock(Changed):
    """Runs every call two blocks below the one that it is asked for."""

    async def _one(self, item: dict[str, Any]) -> Any:
        tag = item["params"][-1] if item["method"] == "eth_call" else None
        if isinstance(tag, str) and tag.startswith("0x"):
            item = json.loads(json.dumps(item))
            item["params"][-1] = hex(int(tag, 16) - 2)
        return await super()._one(item)


async def test_state_of_another_block_is_read_elsewhere(ethereum, session, tally):
    """The answer proves its block by the number in it."""
    head = await ethereum.height()
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        label = (await driver.pool.call("eth_chainId", [])).endpoint
        fronts[label].__class__ = AnotherBlock
        for view in (ReadView(block=head), ReadView(block=head)):
            balance = await driver.read_token_balance(ALICE, USDC, view)
            assert balance.block == head
            assert view.endpoint != label
        for front in fronts.values():
            front.__class__ = AnotherBlock
        with pytest.raises(UpstreamDisagrees):
            await driver.read_token_balance(BOB, USDC, ReadView(block=head))


NOT_ASKED_FOR: dict[str, Change] = {
    "another block": lambda logs: [one | {"blockNumber": hex(int(one["blockNumber"], 16) - 1)} for one in logs],
    "another contract": lambda logs: [one | {"address": ALICE} for one in logs],
    "another event": lambda logs: [one | {"topics": ["0x" + "cd" * 32, *one["topics"][1:]]} for one in logs],
    "no topics": lambda logs: [one | {"topics": []} for one in logs],
    "more than asked for": lambda logs: [*logs, *(one | {"address": BOB, "logIndex": "0x7f"} for one in logs)],
}


@pytest.mark.parametrize("change", NOT_ASKED_FOR)
async def test_logs_that_were_not_asked_for_are_not_taken_for_the_answer(change, ethereum, session, tally):
    sent = await ethereum.send(USDC, call_data("transfer(address,uint256)", BOB, 1), sender=ALICE)
    number = str(int(sent["blockNumber"], 16))
    wanted = (BlockRange(number, number, None), USDC, sent["logs"][0]["topics"][0].upper().replace("X", "x"))
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_logs(*wanted, ReadView())
        assert [log.transaction_hash for log in truth.logs] == [sent["transactionHash"]]
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = {LOGS: NOT_ASKED_FOR[change]}
        assert await driver.read_logs(*wanted, ReadView()) == truth
        assert favourite.asked.count(LOGS) >= 1
        for front in fronts.values():
            front.changes = {LOGS: NOT_ASKED_FOR[change]}
        with pytest.raises(UpstreamUnavailable):
            await driver.read_logs(*wanted, ReadView())
