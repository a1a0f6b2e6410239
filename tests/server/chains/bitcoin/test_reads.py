"""What the gateway reads from a Bitcoin node, compared with what the node says when asked directly."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_bitcoin as known
from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound, NotSupported

if TYPE_CHECKING:
    import aiohttp

    from devnet.bitcoin.node import BitcoinNode
    from tests.operations import Operations
    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet


async def ask(http: aiohttp.ClientSession, node: BitcoinNode, method: str, *params: object) -> bytes:
    """Return the bytes of a node's result, asked without the gateway."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)}
    async with http.post(f"{node.url}/", json=body) as response:
        text = await response.read()
    return text.removeprefix(b'{"jsonrpc":"2.0","result":').removesuffix(b',"id":7}')


async def test_the_height_is_the_nodes(driver: Operations, tally: EndpointTally) -> None:
    assert await driver.read_height(ReadView()) == known.HEIGHT
    assert tally.requests == ["bcoin-core"]


async def test_health_tells_the_head(driver: Operations) -> None:
    health = await driver.read_health()
    assert (health.state, health.height) == ("ok", known.HEIGHT)
    assert health.latency is not None
    assert 0 < health.latency < 5
    assert driver.last_state() == "ok"


@pytest.mark.parametrize("number", [0, 1, known.PAYMENTS, known.HEIGHT])
async def test_a_block_is_the_nodes_own_bytes(
    driver: Operations, node: BitcoinNode, http: aiohttp.ClientSession, tally: EndpointTally, number: int
) -> None:
    view = ReadView()
    block = (await driver.read_block_by_number(number, view)).bitcoin
    block_hash = json.loads(await ask(http, node, "getblockhash", number))
    assert (block.number, block.hash) == (number, block_hash)
    assert block.native.json.encode() == await ask(http, node, "getblock", block_hash, 1)
    assert json.loads(block.native.json)["confirmations"] == known.HEIGHT - number + 1
    assert view.block == known.HEIGHT
    assert tally.requests == ["bcoin-core"] * 2
    again = (await driver.read_block_by_hash(block_hash.upper(), ReadView())).bitcoin
    assert again == block
    assert tally.requests == ["bcoin-core"] * 3


async def test_blocks_that_are_not_there(driver: Operations) -> None:
    with pytest.raises(NotFound, match="no block 99999"):
        await driver.read_block_by_number(99999, ReadView())
    with pytest.raises(NotFound, match="no block abab"):
        await driver.read_block_by_hash("ab" * 32, ReadView())


@pytest.mark.parametrize("text", ["", "0x" + "ab" * 32, "ab" * 31, "zz" * 32, "ab" * 32 + " ", "٣" * 64])
async def test_what_is_no_block_hash(driver: Operations, tally: EndpointTally, text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await driver.read_block_by_hash(text, ReadView())
    assert caught.value.field == "hash"
    assert tally.requests == []


@pytest.mark.parametrize("number", [-1, 1 << 31, 1 << 70])
async def test_no_node_is_asked_for_what_is_no_height(driver: Operations, tally: EndpointTally, number: int) -> None:
    with pytest.raises(NotFound):
        await driver.read_block_by_number(number, ReadView())
    assert tally.requests == []


@pytest.mark.parametrize("address", known.CONFIRMED)
async def test_balances_are_confirmed_and_exact(
    driver: Operations, node: BitcoinNode, http: aiohttp.ClientSession, tally: EndpointTally, address: str
) -> None:
    balance = await driver.read_balance(address, ReadView())
    assert (balance.address, balance.raw, balance.decimals) == (address, known.CONFIRMED[address], 8)
    assert balance.block == known.HEIGHT
    # The tip before and after, and the address between them; once in a while whether the nodes have that tip.
    assert tally.requests == ["bcoin-esplora"] * 3 + ["bcoin-core"]
    tally.requests.clear()
    assert await driver.read_balance(address, ReadView()) == balance
    assert tally.requests == ["bcoin-esplora"] * 3
    if address != known.P2TR:
        scan: Any = json.loads(
            await ask(http, node, "scantxoutset", "start", [f"addr({address})"]), parse_float=Decimal
        )
        assert scan["total_amount"] * 10**8 == balance.raw


async def test_an_address_in_capitals_is_the_same_one(driver: Operations) -> None:
    balance = await driver.read_balance(known.P2WPKH.upper(), ReadView())
    assert (balance.address, balance.raw) == (known.P2WPKH.upper(), known.CONFIRMED[known.P2WPKH])


async def test_the_past_is_refused(driver: Operations, tally: EndpointTally) -> None:
    with pytest.raises(NotSupported) as caught:
        await driver.read_balance(known.P2PKH, ReadView(block=500))
    assert caught.value.field == "blockHeight"
    assert tally.requests == []


async def test_bad_addresses_reach_no_node(driver: Operations, tally: EndpointTally) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await driver.read_balance("1BoatSLRHtKNngkdXEeobR76b53LETtpyX", ReadView())
    assert caught.value.field == "address"
    assert tally.requests == []


async def test_callers_own_calls(driver: Operations, node: BitcoinNode, http: aiohttp.ClientSession) -> None:
    params = f'["{known.PAYMENTS_HASH}", 2]'.encode()
    answer = await driver.pass_call("getblock", params, ReadView())
    assert answer == await ask(http, node, "getblock", known.PAYMENTS_HASH, 2)
    assert b'"value":0.10000000' in answer
    raw = json.loads(await driver.pass_call("getrawtransaction", f'["{known.PAYMENT}", true]'.encode(), ReadView()))
    assert raw["blockhash"] == known.PAYMENTS_HASH
    with pytest.raises(NotFound):
        await driver.pass_call("getblock", f'["{"ab" * 32}"]'.encode(), ReadView())
    named = f'{{"verbosity": 2, "blockhash": "{known.PAYMENTS_HASH}"}}'.encode()
    assert await driver.pass_call("getblock", named, ReadView()) == answer
    for malformed in (b'["00"]', b'{"blockhash": "00"}'):
        with pytest.raises(InvalidArgument):
            await driver.pass_call("getblock", malformed, ReadView())


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("sendrawtransaction", b'["00"]', "method"),
        ("scantxoutset", b'["start", []]', "method"),
        ("stop", None, "method"),
        ("getblock", b'["00", 3]', "params"),
        ("getblockcount", b"[1]", "params"),
        ("getblock", b'{"hash": "00"}', "params"),
    ],
)
async def test_calls_that_are_not_passed_on(
    driver: Operations, tally: EndpointTally, method: str, params: bytes | None, field: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await driver.pass_call(method, params, ReadView())
    assert caught.value.field == field
    assert tally.requests == []


async def test_many_at_once_get_their_own_answers(driver: Operations) -> None:
    blocks = await asyncio.gather(*(driver.read_block_by_number(number, ReadView()) for number in range(50)))
    assert [block.bitcoin.number for block in blocks] == list(range(50))
    balances = await asyncio.gather(*(driver.read_balance(address, ReadView()) for address in known.CONFIRMED))
    assert {one.address: one.raw for one in balances} == known.CONFIRMED
