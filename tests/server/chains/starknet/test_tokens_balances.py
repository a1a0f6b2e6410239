"""Balances against the chain's own answers, at the block that they name."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from devnet import known_starknet as known
from server.chains.starknet.tokens import BALANCE_OF, BALANCE_OF_SNAKE
from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, NotAToken, NotFound, UpstreamUnavailable
from server.rpc.pipeline.errors import facts_of
from tests.server.chains.starknet.fronts import front

pytestmark = pytest.mark.devnet


async def truth(node, token, owner, block="latest", selector=BALANCE_OF):
    request = {"contract_address": token, "entry_point_selector": selector, "calldata": [owner]}
    felts = await node.call("starknet_call", request, block)
    return sum(int(felt, 16) << 128 * index for index, felt in enumerate(felts))


async def test_the_native_balance_is_strk_in_one_request(driver, node, requests):
    view = ReadView()
    with requests([3]):
        found = await driver.read_balance(known.BOB, view)
    assert (found.raw, found.decimals) == (await truth(node, known.STRK, known.BOB), 18)
    assert found.block == view.block == await node.call("starknet_blockNumber")


@pytest.mark.parametrize(
    ("block", "raw"),
    [(0, 0), (1, known.STRK_SENT), (3, known.STRK_SENT), (4, known.STRK_SENT + known.STRK_SENT_LATER)],
)
async def test_history_is_read_at_its_block(driver, requests, block, raw):
    with requests([1]):
        found = await driver.read_balance(known.BOB, ReadView(block=block))
    assert (found.raw, found.block) == (raw, block)


@pytest.mark.parametrize(
    ("token", "raw", "decimals"),
    [
        (known.ETH, known.ETH_SUPPLY - known.ETH_SENT, 18),
        (known.USDC, known.USDC_SUPPLY - known.USDC_SENT, 6),
        (known.SNAKE_TOKEN, known.SNAKE_SUPPLY, 8),
        (known.OLD_TOKEN, known.OLD_SUPPLY, 3),
    ],
)
async def test_tokens_of_every_kind_are_read(driver, token, raw, decimals):
    # The seeded block: other tests move tokens.
    found = await driver.read_token_balance(known.ALICE, token, ReadView(known.HEIGHT))
    assert (found.raw, found.decimals, found.token, found.address) == (raw, decimals, token, known.ALICE)


async def test_what_is_known_of_a_token_saves_calls(driver, requests):
    with requests([4, 4]):
        await driver.read_token_balance(known.ALICE, known.SNAKE_TOKEN, ReadView())
    with requests([3]):
        await driver.read_token_balance(known.BOB, known.SNAKE_TOKEN, ReadView())


@pytest.mark.parametrize(
    "write",
    [
        lambda felt: "0x" + felt[2:].rjust(64, "0"),
        lambda felt: "0x" + felt[2:].upper(),
        lambda felt: "0x0" + felt[2:],
    ],
)
async def test_all_writings_of_an_address_mean_the_same(driver, write):
    found = await driver.read_token_balance(write(known.BOB), write(known.ETH), ReadView())
    assert found.raw == known.ETH_SENT
    assert (found.address, found.token) == (write(known.BOB), write(known.ETH))


@pytest.mark.parametrize("text", ["", "0x", "12", "0x" + "1" * 65, "0xzz", hex(2**251 - 256), "0x" + "f" * 64, " 0x1"])
async def test_what_is_no_address_is_refused(driver, requests, text):
    with requests([]):
        with pytest.raises(InvalidArgument) as refused:
            await driver.read_balance(text, ReadView())
        assert refused.value.field == "address"
        with pytest.raises(InvalidArgument) as refused:
            await driver.read_token_balance(known.BOB, text, ReadView())
        assert refused.value.field == "token"


@pytest.mark.parametrize("token", ["0x123", known.ALICE])
async def test_what_is_no_token_is_reported(driver, token):
    with pytest.raises(NotAToken):
        await driver.read_token_balance(known.BOB, token, ReadView())


async def test_a_block_to_come_is_not_found(driver, node):
    head = await node.call("starknet_blockNumber")
    with pytest.raises(NotFound) as refused:
        await driver.read_balance(known.BOB, ReadView(block=head + 1))
    assert (refused.value.field, facts_of(refused.value)) == ("blockHeight", {"head": str(head)})


async def test_a_forgotten_block_needs_an_archive(load, node, session):
    async def forget(item, forward):
        if item["method"] == "starknet_call" and item["params"][1] == {"block_number": 1}:
            return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": 24, "message": "Block not found"}}
        return await forward(item)

    async with front(node.endpoints["starknet"][0].url, session, forget) as url:
        with pytest.raises(ArchiveRequired) as refused:
            await load(pruned=url).read_balance(known.BOB, ReadView(block=1))
        assert refused.value.field == "blockHeight"


@pytest.mark.parametrize("after", ["starknet_blockNumber", "starknet_call"])
async def test_the_block_is_exact_while_the_chain_moves(load, node, session, after):
    """Bob is paid in a block that comes after the first look at the number, or after the call."""
    moves = count()

    async def move(item, forward):
        answer = await forward(item)
        if item["method"] == after and next(moves) == 0:
            await node.call("devnet_transfer", known.STRK, known.BOB, "0x64")
            await node.call("devnet_mine", 1)
        return answer

    before = await truth(node, known.STRK, known.BOB)
    async with front(node.endpoints["starknet"][0].url, session, move) as url:
        found = await load(moving=url).read_balance(known.BOB, ReadView())
    assert found.raw == before + 100
    assert await truth(node, known.STRK, known.BOB, {"block_number": found.block}) == found.raw
    assert await truth(node, known.STRK, known.BOB, {"block_number": found.block - 1}) == before


async def test_an_execution_error_that_means_no_entry_point_is_one(load, node, session):
    """As nodes before 0.8, and some proxies, say it."""

    async def old(item, forward):
        answer = await forward(item)
        if answer.get("error", {}).get("code") == 21:
            text = f"Entry point EntryPointSelector({BALANCE_OF}) not found in contract."
            answer["error"] = {"code": 40, "message": "Contract error", "data": {"revert_error": text}}
        return answer

    async with front(node.endpoints["starknet"][0].url, session, old) as url:
        found = await load(old=url).read_token_balance(known.ALICE, known.SNAKE_TOKEN, ReadView())
    assert found.raw == await truth(node, known.SNAKE_TOKEN, known.ALICE, selector=BALANCE_OF_SNAKE)


@pytest.mark.parametrize(
    "result", [[], ["0x1", "0x2", "0x3"], ["0x0", hex(2**128)], "0x1", ["0x" + "f" * 64], [1], None]
)
async def test_answers_that_are_no_amounts_are_no_balances(load, node, session, result):
    async def spoil(item, forward):
        answer = await forward(item)
        is_balance = item["method"] == "starknet_call" and item["params"][0]["entry_point_selector"] == BALANCE_OF
        return {**answer, "result": result} if is_balance else answer

    async with front(node.endpoints["starknet"][0].url, session, spoil) as url:
        with pytest.raises((NotAToken, UpstreamUnavailable)):
            await load(odd=url).read_token_balance(known.ALICE, known.ETH, ReadView())


async def test_many_reads_at_once_agree(driver):
    found = await asyncio.gather(*(driver.read_balance(known.BOB, ReadView()) for _ in range(20)))
    assert len({(one.raw, one.block) for one in found}) == 1
