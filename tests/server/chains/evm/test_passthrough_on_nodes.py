"""Callers' own calls to nodes: byte for byte, alone, and bounded."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from aiohttp import web

from server.chains.view import ReadView
from server.errors import InvalidArgument, NotSupported, RangeTooLarge, Reverted
from tests.server.chains.evm.nodes import ALICE, PROBER, USDC, LatestOnly, call_data, driver_on

pytestmark = pytest.mark.devnet


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


class RangeLimited(LatestOnly):
    """Measures ranges as go-ethereum does with --rpc.rangelimit: `latest`, or an end left out, is 2^64-1."""

    limit = 5
    LATEST = 2**64 - 1

    async def _answer(self, request):
        body = await request.json()
        for item in body if isinstance(body, list) else [body]:
            if item["method"] == "eth_getLogs":
                self.asked.append(item["params"])
                first, last = (self.number(item["params"][0].get(end)) for end in ("fromBlock", "toBlock"))
                if (last - first) % 2**64 > self.limit:
                    message = f"exceed maximum block range {self.limit}"
                    error = {"code": -32602, "message": message}
                    return web.json_response({"jsonrpc": "2.0", "id": item["id"], "error": error})
        async with self._session.post(self._target, json=body) as response:
            return web.json_response(await response.json())

    def number(self, text):
        return self.LATEST if text in (None, "latest") else 0 if text == "earliest" else int(text, 16)


@pytest.fixture
async def range_limited(ethereum, session, tally):
    front = RangeLimited(ethereum.url, session)
    front.asked = []
    await front.start()
    async with driver_on(tally, geth=front.url) as opened:
        yield opened, front
    await front.stop()


@pytest.mark.parametrize("ends", [{}, {"toBlock": "latest"}, {"toBlock": None}])
async def test_a_refused_tag_is_written_as_a_number_once(range_limited, ethereum, tally, ends):
    driver, front = range_limited
    await ethereum.send(USDC, call_data("approve(address,uint256)", PROBER, 1))
    head = await ethereum.height()
    first = hex(head - 3)
    # The head that answers state is known; had it been read long ago, it would be asked for.
    driver.pool.observe_head("geth", head)
    tally.requests.clear()
    wanted = {"fromBlock": first, "address": USDC} | ends
    got = json.loads(await ask(driver, "eth_getLogs", [wanted]))
    assert got == await ethereum.call("eth_getLogs", {"fromBlock": first, "toBlock": hex(head), "address": USDC})
    assert got
    assert front.asked == [[wanted], [wanted | {"toBlock": hex(head)}]]
    assert tally.requests == [1, 1]


async def test_a_range_that_is_refused_in_numbers_too_is_refused(range_limited, ethereum, tally):
    driver, front = range_limited
    head = await ethereum.height()
    driver.pool.observe_head("geth", head)
    tally.requests.clear()
    with pytest.raises(RangeTooLarge):
        await ask(driver, "eth_getLogs", [{"fromBlock": hex(head - 6), "toBlock": "latest"}])
    assert tally.requests == [1, 1]
    with pytest.raises(RangeTooLarge):
        await ask(driver, "eth_getLogs", [{"fromBlock": hex(head - 6), "toBlock": hex(head)}])
    assert tally.requests == [1, 1, 1]
    assert len(front.asked) == 3


async def test_a_head_that_was_not_heard_lately_is_asked_for(range_limited, ethereum, tally):
    driver, front = range_limited
    head = await ethereum.height()
    driver.pool.observe_head("geth", head - 1)
    driver.pool.heads._clock = lambda: time.monotonic() + 5
    tally.requests.clear()
    await ask(driver, "eth_getLogs", [{"fromBlock": hex(head - 2)}])
    assert front.asked[-1] == [{"fromBlock": hex(head - 2), "toBlock": hex(head)}]
    assert tally.requests == [1, 1, 1]


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
