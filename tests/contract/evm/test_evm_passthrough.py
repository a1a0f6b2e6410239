"""Callers' own calls to nodes: byte for byte, alone, and bounded."""

from __future__ import annotations

import asyncio
import json

import pytest

from server.chains.view import ReadView
from server.errors import InvalidArgument, NotSupported, RangeTooLarge, Reverted
from tests.contract.evm.nodes import ALICE, PROBER, call_data


async def ask(driver, method, params=None):
    return await driver.pass_call(method, None if params is None else json.dumps(params).encode(), ReadView())


async def test_the_nodes_own_bytes_come_back(driver, ethereum):
    block = hex(ethereum.blocks["sent"])
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": [block, True]}
    async with ethereum.session.post(ethereum.url, json=request) as response:
        body = await response.read()
    got = await ask(driver, "eth_getBlockByNumber", [block, True])
    assert body == b'{"jsonrpc":"2.0","id":1,"result":' + got + b"}"


async def test_null_is_an_answer(driver):
    assert await ask(driver, "eth_getTransactionReceipt", ["0x" + "ab" * 32]) == b"null"


async def test_a_callers_own_call_shares_nothing(driver, tally):
    tally.requests.clear()
    results = await asyncio.gather(
        *(ask(driver, "eth_getBalance", [ALICE, "latest"]) for _ in range(3)), driver.read_balance(ALICE, ReadView())
    )
    assert len(set(results[:3])) == 1
    assert tally.requests == [1, 1, 1, 1]


async def test_what_is_refused_reaches_no_node(driver, requests):
    with requests([]):
        with pytest.raises(InvalidArgument):
            await ask(driver, "evm_mine")
        with pytest.raises(InvalidArgument):
            await ask(driver, "eth_getLogs", [{"fromBlock": "latest", "limit": 1}])


async def test_errors_mean_what_they_mean_elsewhere(driver):
    call = {"to": PROBER, "data": call_data("fail_with_reason(string)", "no")}
    with pytest.raises(Reverted, match="execution reverted: no"):
        await ask(driver, "eth_call", [call, "latest"])
    with pytest.raises(NotSupported):
        await ask(driver, "linea_estimateGas", [call])
    with pytest.raises(InvalidArgument, match="refused the parameters"):
        await ask(driver, "eth_getBalance", ["nobody", "latest"])


async def test_open_log_ranges_are_measured_from_the_head(driver, ethereum):
    head = await ethereum.height()
    near = await ask(driver, "eth_getLogs", [{"fromBlock": hex(head - 5), "address": PROBER}])
    assert near == b"[]"
    for wanted in (
        {"fromBlock": hex(head - 10_000)},
        {"fromBlock": "earliest"},
        {"fromBlock": "0x1", "toBlock": "safe"},
    ):
        with pytest.raises(RangeTooLarge):
            await ask(driver, "eth_getLogs", [wanted])
