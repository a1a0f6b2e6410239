"""How many requests reach a node, exactly, when the same is asked again."""

from __future__ import annotations

import asyncio

import pytest

from server.chains.view import ReadView
from server.errors import NotAToken, NotFound
from server.upstream.cache import CacheContext
from tests.server.chains.evm.nodes import ALICE, BOB, MKR, NAMELESS, NOBODY, OWNER, PROBER, USDC, USDT, WETH
from tests.server.chains.shared.conftest import BLOCK_TIME, FINAL_DEPTH, Site

pytestmark = pytest.mark.devnet

HOLDERS = [f"0x{number:040x}" for number in range(0x3000, 0x3000 + 48)] + [ALICE, BOB]


async def test_a_balance_asked_again_at_the_same_head_costs_nothing(site: Site):
    first = await site.driver.read_balance(ALICE, ReadView())
    assert await site.asked() == 1
    assert await site.driver.read_balance(ALICE.lower(), ReadView()) == first
    assert await site.asked() == 0
    assert first.block == await site.node.height()


async def test_fifty_token_balances_are_one_request_and_asked_again_none(site: Site):
    async def ask() -> list[int]:
        balances = await asyncio.gather(
            *(site.driver.read_token_balance(holder, USDC, ReadView()) for holder in HOLDERS)
        )
        return [balance.raw for balance in balances]

    first = await ask()
    assert await site.asked() == 1
    assert await ask() == first
    assert await site.asked() == 0
    assert first[-2] > 0


async def test_the_same_balance_for_fifty_clients_at_once_is_one_read(site: Site):
    balances = await asyncio.gather(*(site.driver.read_token_balance(ALICE, USDT, ReadView()) for _ in range(50)))
    assert await site.asked() == 1
    assert len({balance.raw for balance in balances}) == 1


async def test_every_kind_of_read_costs_nothing_the_second_time(site: Site):
    driver, head = site.driver, await site.node.height()
    tip = await site.node.block(hex(head))
    reads = {
        "metadata": lambda: driver.read_token(MKR, ReadView()),
        "nameless": lambda: driver.read_token(NAMELESS, ReadView()),
        "allowance": lambda: driver.read_allowance(USDC, ALICE, BOB, ReadView()),
        "code": lambda: driver.read_code(PROBER, ReadView()),
        "no code": lambda: driver.read_code(NOBODY, ReadView()),
        "pinned balance": lambda: driver.read_balance(ALICE, ReadView(block=head - 1)),
        "block": lambda: driver.read_block_by_number(head, ReadView()),
        "block by hash": lambda: driver.read_block_by_hash(tip["hash"], ReadView()),
        "transactions": lambda: driver.read_block_transactions(head, ReadView()),
    }
    for name, read in reads.items():
        first = await read()
        assert await site.asked() > 0, name
        assert await read() == first, name
        assert await site.asked() == 0, name


async def test_a_new_block_is_read_anew(site: Site):
    before = await site.driver.read_balance(BOB, ReadView())
    await site.node.send(BOB, value=7)
    await site.driver.read_height(ReadView())
    await site.asked()
    after = await site.driver.read_balance(BOB, ReadView())
    assert await site.asked() == 1
    assert (after.raw, after.block) == (before.raw + 7, before.block + 1)


async def test_a_new_block_that_nobody_reported_of_is_seen_after_one_block_time(site: Site):
    before = await site.driver.read_balance(BOB, ReadView())
    await site.node.send(BOB, value=7)
    assert await site.driver.read_balance(BOB, ReadView()) == before
    site.clock.pass_seconds(BLOCK_TIME)
    assert (await site.driver.read_balance(BOB, ReadView())).raw == before.raw + 7


async def test_reads_of_one_request_are_of_one_block_when_the_first_came_out_of_memory(site: Site):
    kept = await site.driver.read_balance(ALICE, ReadView())
    await site.node.send(BOB, value=1)
    view = ReadView()
    first = await site.driver.read_balance(ALICE, view)
    second = await site.driver.read_token_balance(ALICE, WETH, view)
    assert first.block == second.block == kept.block < await site.node.height()


async def test_what_is_final_is_asked_once_and_for_all(site: Site):
    head = await site.node.height()
    old = head - FINAL_DEPTH - 10
    driver = site.driver
    reads = {
        "balance": lambda: driver.read_balance(ALICE, ReadView(block=old)),
        "token": lambda: driver.read_token_balance(ALICE, USDC, ReadView(block=old)),
        "code": lambda: driver.read_code(USDC, ReadView(block=old)),
        "block": lambda: driver.read_block_by_number(old, ReadView()),
    }
    firsts = [await read() for read in reads.values()]
    await driver.memory.finality.settled()
    assert driver.memory.finality.block == head - FINAL_DEPTH
    await site.asked()
    site.clock.pass_seconds(1e6)
    assert [await read() for read in reads.values()] == firsts
    assert await site.asked() == 0


async def test_what_is_not_final_is_asked_again_after_a_block_time(site: Site):
    block = await site.node.height() - FINAL_DEPTH // 2
    await site.driver.read_balance(ALICE, ReadView(block=block))
    await site.driver.memory.finality.settled()
    await site.asked()
    site.clock.pass_seconds(BLOCK_TIME)
    await site.driver.read_balance(ALICE, ReadView(block=block))
    assert await site.asked() == 1


async def test_a_block_by_hash_is_kept_for_good_at_once(site: Site):
    tip = await site.node.block("latest")
    first = await site.driver.read_block_by_hash(tip["hash"], ReadView())
    await site.asked()
    site.clock.pass_seconds(1e6)
    assert await site.driver.read_block_by_hash(tip["hash"].upper().replace("0X", "0x"), ReadView()) == first
    assert await site.asked() == 0


async def test_a_receipt_and_its_transaction_are_kept_by_their_block(site: Site):
    sent = (await site.node.send(BOB, value=3))["transactionHash"]
    for read in (site.driver.read_receipt, site.driver.read_transaction):
        first = await read(sent, ReadView())
        assert await site.asked() == 1
        assert await read(sent, ReadView()) == first
        assert await site.asked() == 0
    site.clock.pass_seconds(BLOCK_TIME)
    await site.driver.read_receipt(sent, ReadView())
    assert await site.asked() == 1


async def test_a_block_or_transaction_that_does_not_exist_yet_is_asked_for_every_time(site: Site):
    head = await site.node.height()
    for _ in range(2):
        with pytest.raises(NotFound):
            await site.driver.read_block_by_number(head + 1, ReadView())
        with pytest.raises(NotFound):
            await site.driver.read_receipt("0x" + "ab" * 32, ReadView())
        assert await site.asked() >= 2
    await site.node.call("anvil_mine", "0x1")
    assert (await site.driver.read_block_by_number(head + 1, ReadView())).evm.number == head + 1


async def test_an_address_that_is_no_token_becomes_one_within_seconds(site: Site):
    address = "0x00000000000000000000000000000000000000f7"
    for expected in (1, 0):
        with pytest.raises(NotAToken):
            await site.driver.read_token(address, ReadView())
        assert (await site.asked() > 0) == bool(expected)
    code = await site.node.call("eth_getCode", USDC, "latest")
    await site.node.call("anvil_setCode", address, code)
    site.clock.pass_seconds(5)
    assert (await site.driver.read_token(address, ReadView())).decimals == 0


async def test_a_request_that_wants_no_cache_is_answered_by_a_node(site: Site):
    await site.driver.read_balance(OWNER, ReadView())
    await site.asked()
    use = CacheContext(bypass=True)
    await site.driver.read_balance(OWNER, ReadView(cache=use))
    assert await site.asked() == 1
    assert use.status == "bypass"


async def test_what_a_hostile_token_did_to_its_own_request_reaches_nobody_elses(site: Site):
    """Its balanceOf moves another token's balances inside the execution that it was called in."""
    from tests.server.chains.evm.nodes import HOSTILE

    before = await site.driver.read_token_balance(HOSTILE, USDC, ReadView())
    site.clock.pass_seconds(BLOCK_TIME)
    await site.driver.read_token_balance(ALICE, HOSTILE, ReadView())
    await site.driver.read_token(HOSTILE, ReadView())
    after = await site.driver.read_token_balance(HOSTILE, USDC, ReadView())
    assert after.raw == before.raw
