"""The made-up node answers as a real one does, in the form that the gateway checks; the load notices what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest
import pytest_asyncio
from aiohttp import web

from bench import native
from bench.loads import ADDRESS, ID, Pace, Question, Reading, ask
from server.chains.evm.chain import EvmChain
from server.chains.evm.contents import Contents
from server.chains.evm.reads.multicall import Call, decode_aggregate3, encode_aggregate3, eth_balance_call
from server.chains.facts import load_facts
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

ACCOUNT = "0x" + 16 * "5b" + "89abcdef"
BALANCE = 10**18 + 0x89ABCDEF
QUESTION = Question(
    orjson.dumps({"jsonrpc": "2.0", "id": ID, "method": "eth_getBalance", "params": [ADDRESS, "latest"]}),
    contained='"result":"0xde0b6b3a764',
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node() -> AsyncIterator[native.Node]:
    missing = await native.build()
    if missing is not None:
        pytest.skip(missing)
    async with native.serve("ethereum") as running:
        yield running


async def call(url: str, method: str, *params: object) -> Any:
    asked = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    async with aiohttp.ClientSession() as session, session.post(url, json=asked) as answer:
        found = await answer.json()
    assert found["id"] == 7
    return found["result"]


async def watch() -> Reading:
    return Reading(0.0, 0)


def ethereum() -> EvmChain:
    return EvmChain.of(load_facts()["ethereum"])


async def execute(url: str, calls: Sequence[Call], block: str) -> tuple[bytes, list[bytes]]:
    chain = ethereum()
    message = {"to": "0x" + chain.multicall.hex(), "data": "0x" + encode_aggregate3(calls).hex()}
    data = bytes.fromhex((await call(url, "eth_call", message, block))[2:])
    outcomes = decode_aggregate3(data, len(calls))
    assert all(outcome.success for outcome in outcomes)
    return data, [outcome.data for outcome in outcomes]


async def test_an_execution_is_answered_as_a_real_node_answers_it(node: native.Node, devnet: Devnet) -> None:
    real, chain = devnet.endpoints["ethereum"], ethereum()
    await call(real, "anvil_setBalance", ACCOUNT, hex(BALANCE))
    balances = [eth_balance_call(chain.multicall, bytes.fromhex(ACCOUNT[2:]))] * 3
    answers = [await execute(url, [*chain.place_calls, *balances], "latest") for url in (real, node.url)]
    (whole, expected), (found, words) = answers
    # Number and time are each chain's own; all else is equal, down to the layout.
    assert words[2:] == expected[2:]
    assert int.from_bytes(words[3]) == BALANCE
    mine = found.replace(words[0], bytes(32)).replace(words[1], bytes(32))
    assert mine == whole.replace(expected[0], bytes(32)).replace(expected[1], bytes(32))
    for method, params in (("eth_chainId", ()), ("eth_getBalance", (ACCOUNT, "latest"))):
        assert await call(node.url, method, *params) == await call(real, method, *params)


async def test_blocks_are_of_the_form_of_real_ones_and_hash_to_their_hashes(node: native.Node, devnet: Devnet) -> None:
    newest = int(await call(node.url, "eth_blockNumber"), 16)
    block = await call(node.url, "eth_getBlockByNumber", hex(newest), False)
    parent = await call(node.url, "eth_getBlockByNumber", hex(newest - 1), False)
    old = await call(node.url, "eth_getBlockByNumber", hex(native.OLD_BLOCK), False)
    contents = Contents(load_facts()["ethereum"])
    for one in (block, parent, old):
        assert contents.fits_block(orjson.dumps(one)) is True
    assert block["parentHash"] == parent["hash"]
    assert int(block["timestamp"], 16) - int(parent["timestamp"], 16) == 12
    assert await call(node.url, "eth_getBlockByHash", old["hash"], False) == old
    assert await call(node.url, "eth_getBlockByNumber", hex(newest + 100), False) is None
    final = await call(node.url, "eth_getBlockByNumber", "finalized", False)
    assert native.OLD_BLOCK < int(final["number"], 16) < newest
    real = await call(devnet.endpoints["ethereum"], "eth_getBlockByNumber", "latest", False)
    assert block.keys() >= real.keys() - {"totalDifficulty"}


async def test_each_execution_is_of_the_block_asked_for(node: native.Node) -> None:
    chain = ethereum()
    _, words = await execute(node.url, [*chain.place_calls, *chain.mark_calls], hex(native.OLD_BLOCK))
    block = await call(node.url, "eth_getBlockByNumber", hex(native.OLD_BLOCK), False)
    assert int.from_bytes(words[0]) == native.OLD_BLOCK
    assert int.from_bytes(words[1]) == int(block["timestamp"], 16)


async def test_requests_are_counted_and_answers_delayed() -> None:
    missing = await native.build()
    if missing is not None:
        pytest.skip(missing)
    async with native.serve("polygon", 0.2) as far:
        assert await far.requests() == 0
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await call(far.url, "eth_chainId") == hex(137)
        assert loop.time() - began >= 0.2
        assert await far.requests() == 1


@pytest.mark.parametrize("pace", [Pace(4, 0.0, requests=30), Pace(4, 0.1), Pace(2, 0.1, rate=200.0)])
async def test_a_load_counts_what_was_answered(node: native.Node, pace: Pace) -> None:
    before = await node.requests()
    found = await ask(node.url, QUESTION, pace, watch, key="", is_native=True)
    # Each caller begins with one request that is not measured.
    assert await node.requests() - before == found.requests + pace.callers
    assert found.requests == 30 or not pace.requests
    assert 0 < found.median <= found.seconds


async def test_the_load_generators_in_python_count_alike(node: native.Node) -> None:
    before = await node.requests()
    found = await ask(node.url, QUESTION, Pace(4, 0.2), watch, key="", is_native=False)
    assert await node.requests() - before == found.requests
    assert 0 < found.median <= found.seconds


def answers() -> dict[str, bytes]:
    good = b'{"jsonrpc":"2.0","result":"0xde0b6b3a7640000","id":%d}'
    return {
        "right": good,
        "an error": b'{"jsonrpc":"2.0","error":{"code":503},"id":%d}',
        "another id": good.replace(b"%d", b"9%d"),
        "another value": good.replace(b"0xde", b"0xff"),
        "two answers": b"[" + good + b"," + good.replace(b"%d", b"1") + b"]",
    }


@pytest.mark.parametrize("kind", answers())
async def test_one_wrong_answer_fails_the_load(node: native.Node, kind: str) -> None:
    assert node
    asked = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        identity = orjson.loads(await request.read())["id"]
        text = answers()[kind if asked == 10 else "right"]
        return web.Response(body=text % identity, content_type="application/json")

    app = web.Application()
    app.router.add_post("/", answer)
    async with serve_app(app) as url:
        load = ask(f"{url}/", QUESTION, Pace(1, 0.0, requests=20), watch, key="", is_native=True)
        if kind == "right":
            assert (await load).requests == 20
            return
        with pytest.raises(AssertionError, match="1 of 8 requests failed"):
            await load


async def test_a_refusal_by_status_fails_the_load(node: native.Node) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=429, body=b"slower")

    assert node
    app = web.Application()
    app.router.add_post("/", refuse)
    async with serve_app(app) as url:
        with pytest.raises(AssertionError, match="429"):
            await ask(f"{url}/", QUESTION, Pace(1, 0.1), watch, key="", is_native=True)


async def test_the_programs_are_formatted_and_pass_the_compilers_own_checks(node: native.Node) -> None:
    assert node
    sources = Path(native.__file__).parent
    for command in (("gofmt", "-l", "."), ("go", "vet", "./...")):
        child = await asyncio.create_subprocess_exec(
            *command, cwd=sources, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await child.communicate()
        assert (child.returncode, output) == (0, b"")
