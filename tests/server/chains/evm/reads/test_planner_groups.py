"""Several groups of calls at one block: what is asked of nodes, what is cached, how groups are kept apart."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.evm.reads.executions import MAX_CALLS
from server.chains.evm.reads.multicall import Call
from server.chains.evm.reads.planner import CallsAtOnce
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.calls import CallGroup, ContractCall
from server.errors import MovedOn
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from tests.operations import Operations
from tests.server.chains.evm.nodes import (
    ALICE,
    ARB_SYS,
    BOB,
    GAS_BURNER,
    HOSTILE,
    MULTICALL3,
    NOBODY,
    OWNER,
    PROBER,
    SILENT,
    USDC,
    USDT,
    WETH,
    MovesOn,
    call_data,
    contracts_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

pytestmark = pytest.mark.devnet


@pytest_asyncio.fixture(loop_scope="session")
async def remembering(ethereum: Any, tally: Any) -> AsyncIterator[Any]:
    """A driver with a memory, whose answers near the head do not grow old."""
    settings = Settings.model_validate(
        {"profile": "devnet", "chains": {"ethereum": {"endpoints": [{"label": "local", "url": ethereum.url}]}}}
    )
    async with open_session() as http:
        loaded = Chains.load(settings, http, observer=tally, cache=Cache(1 << 24, clock=lambda: 0.0))
        driver: Any = Operations(loaded.get("ethereum"))
        await driver.pool.call("eth_chainId", [])
        tally.requests.clear()
        yield driver
        await loaded.close()


def call(address: str, signature: str, *arguments: object, **options: Any) -> ContractCall:
    return ContractCall(address, bytes.fromhex(call_data(signature, *arguments)[2:]), **options)


def holdings(owner: str, count: int = 1) -> CallGroup:
    """Balances of one wallet, and then of as many others as it takes."""
    owners = [owner, *(f"0x{0x7000 + index:040x}" for index in range(count - 1))]
    return CallGroup(tuple(call(USDC, "balanceOf(address)", one) for one in owners))


FACTS = CallGroup((call(USDC, "decimals()"), call(USDT, "decimals()"), call(WETH, "totalSupply()")))


def numbers(outcomes: Sequence[Any]) -> list[int]:
    assert all(outcome.succeeded for outcome in outcomes)
    return [int.from_bytes(outcome.data, "big") for outcome in outcomes]


async def balance_at(node: Any, owner: str, block: int | str) -> int:
    tag = block if isinstance(block, str) else hex(block)
    return int(await node.call("eth_call", {"to": USDC, "data": call_data("balanceOf(address)", owner)}, tag), 16)


async def test_groups_that_fit_one_execution_are_one_call(driver, ethereum, requests):
    view = ReadView()
    with requests([1]):
        facts, alice, bob = await contracts_of(driver).call_groups([FACTS, holdings(ALICE), holdings(BOB)], view)
    assert numbers(facts)[:2] == [6, 6]
    assert view.block == await ethereum.height()
    assert numbers(alice) == [await balance_at(ethereum, ALICE, view.block)]
    assert numbers(bob) == [await balance_at(ethereum, BOB, view.block)]


async def test_many_calls_at_the_newest_block_are_one_request(driver, ethereum, requests):
    view = ReadView()
    groups = [holdings(ALICE, 2 * MAX_CALLS + 1), holdings(BOB, 30), FACTS]
    with requests([3]):
        alice, bob, facts = await contracts_of(driver).call_groups(groups, view)
    assert (len(alice), len(bob), len(facts)) == (2 * MAX_CALLS + 1, 30, 3)
    assert numbers(alice)[0] == await balance_at(ethereum, ALICE, view.block)
    assert numbers(facts)[:2] == [6, 6]


async def test_a_group_of_strange_addresses_has_executions_of_its_own(driver, requests):
    """A hostile token changes what the next call of its execution sees."""
    hostile = call(HOSTILE, "balanceOf(address)", ALICE)
    with requests([3]):
        strange, known, other = await contracts_of(driver).call_groups(
            [CallGroup((hostile,), is_known=False), holdings(HOSTILE), CallGroup((hostile,), is_known=False)],
            ReadView(),
        )
    assert strange == other
    assert numbers(known) == [await balance_at_of_hostile(driver)]


async def balance_at_of_hostile(driver: Any) -> int:
    return numbers(
        (await contracts_of(driver).call_groups([holdings(HOSTILE)], ReadView(cache=CacheContext(bypass=True))))[0]
    )[0]


async def test_what_does_not_depend_on_the_wallet_serves_the_next_wallet(remembering, ethereum, requests):
    first, second = ReadView(), ReadView()
    with requests([2]):
        facts, _ = await contracts_of(remembering).call_groups([FACTS, holdings(ALICE, MAX_CALLS)], first)
    with requests([1]):
        kept, bob = await contracts_of(remembering).call_groups([FACTS, holdings(BOB)], second)
    assert kept == facts
    assert second.block == first.block
    assert numbers(bob) == [await balance_at(ethereum, BOB, first.block)]
    with requests([]):
        again = await contracts_of(remembering).call_groups([holdings(BOB), FACTS], ReadView())
    assert again == [bob, facts]


async def test_the_rest_is_asked_at_the_block_of_what_is_kept(remembering, ethereum, tally):
    first = ReadView()
    await contracts_of(remembering).call_groups([FACTS], first)
    await ethereum.send(USDC, call_data("mint(address,uint256)", BOB, 17))
    second = ReadView()
    _, bob = await contracts_of(remembering).call_groups([FACTS, holdings(BOB)], second)
    assert second.block == first.block
    assert numbers(bob) == [await balance_at(ethereum, BOB, first.block)]


async def test_equal_groups_of_one_moment_are_asked_once(driver, tally):
    wallets = [f"0x{0x9000 + index:040x}" for index in range(10)]
    views = [ReadView() for _ in wallets]
    many = CallGroup(tuple(call(USDC, "balanceOf(address)", f"0x{0xA000 + index:040x}") for index in range(MAX_CALLS)))
    answers = await asyncio.gather(
        *(
            contracts_of(driver).call_groups([many, holdings(wallet)], view)
            for wallet, view in zip(wallets, views, strict=True)
        )
    )
    # One execution for what all want, one for ten wallets.
    assert tally.requests == [2]
    assert all(answer[0] == answers[0][0] for answer in answers)
    assert len({view.block for view in views}) == 1


async def test_groups_fold_with_the_reads_of_others(driver, requests):
    with requests([1]):
        await asyncio.gather(
            contracts_of(driver).call_groups([FACTS, holdings(ALICE)], ReadView()),
            driver.read_balance(ALICE, ReadView()),
            contracts_of(driver).call_groups([holdings(BOB)], ReadView()),
        )


@pytest.mark.parametrize("is_bypass", [False, True])
async def test_a_chosen_block_is_read_as_it_was(remembering, ethereum, requests, is_bypass):
    before = await ethereum.height()
    truth = await balance_at(ethereum, BOB, before)
    await ethereum.send(USDC, call_data("mint(address,uint256)", BOB, 5))
    view = ReadView(block=before, cache=CacheContext(bypass=is_bypass))
    with requests([2]):
        bob, _ = await contracts_of(remembering).call_groups([holdings(BOB), holdings(ALICE, MAX_CALLS)], view)
    assert numbers(bob) == [truth]
    assert view.cache.status == ("bypass" if is_bypass else "miss")


async def test_groups_without_calls_are_not_asked(driver, requests):
    view = ReadView()
    with requests([]):
        assert await contracts_of(driver).call_groups([], view) == []
        assert await contracts_of(driver).call_groups([CallGroup(())], view) == [[]]
    assert view.block is None
    with requests([1]):
        assert [
            len(one) for one in await contracts_of(driver).call_groups([CallGroup(()), FACTS, CallGroup(())], view)
        ] == [0, 3, 0]


async def test_failures_stay_with_their_call_and_optional_ones_are_not_asked_again(driver, requests):
    plain = CallGroup((call(PROBER, "answer()"), call(PROBER, "fail_with_reason(string)", "no")))
    silent = CallGroup((call(PROBER, "fail_silently()"), call(USDC, "decimals()")))
    optional = CallGroup((call(PROBER, "fail_silently()", is_optional=True),), is_known=False)
    with requests([2, 1]):
        plain_ones, silent_ones, optional_ones = await contracts_of(driver).call_groups(
            [plain, silent, optional], ReadView()
        )
    assert [one.succeeded for one in (*plain_ones, *silent_ones, *optional_ones)] == [True, False, False, True, False]
    assert plain_ones[1].data[:4] == bytes.fromhex("08c379a0")


async def test_calls_are_cut_by_the_gas_that_they_state(driver, requests):
    heavy = CallGroup(tuple(call(USDC, "decimals()", gas=4_000_000) for _ in range(5)), is_known=False)
    with requests([3]):
        (outcomes,) = await contracts_of(driver).call_groups([heavy], ReadView())
    assert numbers(outcomes) == [6] * 5


async def test_an_address_that_burns_gas_is_read_by_itself_at_the_block_of_the_others(driver, ethereum, tally):
    burner = CallGroup((call(USDC, "decimals()"), call(GAS_BURNER, "anything()"), call(USDC, "totalSupply()")))
    for _ in range(2):
        view = ReadView(cache=CacheContext(bypass=True))
        tally.requests.clear()
        (decimals, burnt, supply), alice, facts = await contracts_of(driver).call_groups(
            [burner, holdings(ALICE, 150), FACTS], view
        )
        assert not burnt.succeeded
        assert numbers([decimals]) == [6]
        assert numbers([supply])[0] > numbers(alice)[0] == await balance_at(ethereum, ALICE, view.block)
        assert numbers(facts)[:2] == [6, 6]
    assert driver.planner._quarantine.holds([Call(bytes.fromhex(GAS_BURNER[2:]), b"")])
    # All others in one execution, then the burner alone, and once more as it failed without a word.
    assert tally.requests == [1, 1, 1]


async def test_calls_in_a_senders_name_stay_in_it(driver, ethereum, requests):
    """The code there returns CALLER."""
    address = "0x00000000000000000000000000000000000000B8"
    await ethereum.place(address, bytes.fromhex("3360005260206000f3"), is_runtime=True)
    named = CallGroup((ContractCall(address, b"", sender=ALICE),), is_known=False)
    view = ReadView()
    with requests([1, 1]):
        (mine,), facts = await contracts_of(driver).call_groups([named, FACTS], view)
    assert mine.data[-20:].hex() == ALICE[2:].lower()
    assert numbers(facts)[:2] == [6, 6]


async def test_on_arbitrum_the_block_is_that_of_arb_sys(chains, arbitrum, requests):
    driver = Operations(chains.get("arbitrum"))
    number = CallGroup((call(ARB_SYS, "arbBlockNumber()"),))
    many = CallGroup(tuple(call(MULTICALL3, "getEthBalance(address)", OWNER) for _ in range(MAX_CALLS)))
    view = ReadView()
    with requests([2]):
        (reply,), balances = await contracts_of(driver).call_groups([number, many], view)
    assert numbers([reply]) == [view.block] == [await arbitrum.height()]
    assert len(set(numbers(balances))) == 1


async def test_without_multicall_the_calls_go_one_by_one(chains, bare, requests):
    driver = Operations(chains.get("base"))
    groups = [
        CallGroup((call(MULTICALL3, "getEthBalance(address)", ALICE), call(USDC, "decimals()"))),
        CallGroup((call(NOBODY, "decimals()"),), is_known=False),
    ]
    view = ReadView()
    # Found out once that there is none; from then on the head's number, and then the calls.
    await contracts_of(driver).call_groups(groups, ReadView(cache=CacheContext(bypass=True)))
    with requests([1, 3]):
        (balance, decimals), (none,) = await contracts_of(driver).call_groups(groups, view)
    assert numbers([balance]) == [int(await bare.call("eth_getBalance", ALICE, hex(view.block)), 16)]
    assert (decimals, none) == ((True, b""), (True, b""))
    with requests([3]):
        await contracts_of(driver).call_groups(groups, ReadView(block=view.block - 1))


async def test_where_history_is_unproved_different_blocks_are_not_one_answer(chains, hyperliquid, requests):
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    view = ReadView()
    with requests([2]):
        alice, _ = await contracts_of(driver).call_groups([holdings(ALICE), holdings(BOB, MAX_CALLS)], view)
    assert view.block == await node.height()
    assert numbers(alice) == [await balance_at(node, ALICE, "latest")]


async def test_a_group_brings_what_tells_its_block_from_others(driver, ethereum):
    view = ReadView()
    groups = [CallsAtOnce([Call(bytes.fromhex(USDC[2:]), FACTS.calls[0].data)], True)]
    (grouped,) = await driver.planner.read_groups(view, groups)
    header = await ethereum.block(hex(view.block))
    words = [int(header["timestamp"], 16), int(header["parentHash"], 16), int(header["mixHash"], 16)]
    assert grouped.marks == b"".join(word.to_bytes(32, "big") for word in words)


async def test_overviews_of_many_wallets(remembering, ethereum, tally):
    """As many calls as all positions of a wallet on ethereum take: one request, and ten for ten wallets at most."""

    def made(kind: int, wallet: int, count: int, gas: int = 25_000, is_known: bool = True) -> CallGroup:
        data = (bytes([kind, index]) + wallet.to_bytes(34, "big") for index in range(count))
        return CallGroup(tuple(ContractCall(SILENT, one, gas) for one in data), is_known)

    prices = [made(8, 0, 2, 1_000_000), made(9, 0, 1, 1_000_000)]

    def overview(wallet: int) -> list[CallGroup]:
        known = ((1, 136), (2, 115), (3, 46), (6, 4), (7, 145))
        own = [made(4, wallet, 10, 50_000, is_known=False), made(5, wallet, 20, 40_000, is_known=False)]
        return [*prices, *(made(kind, wallet, count) for kind, count in known), *own]

    # What is kept is of an older block then.
    await ethereum.call("anvil_mine", "0x1")
    await contracts_of(remembering).call_groups([FACTS], ReadView(cache=CacheContext(bypass=True)))
    tally.requests.clear()
    await contracts_of(remembering).call_groups(overview(1), ReadView())
    assert tally.requests == [5]
    await ethereum.call("anvil_mine", "0x1")
    await contracts_of(remembering).call_groups([FACTS], ReadView(cache=CacheContext(bypass=True)))
    for most in (10, 0):
        tally.requests.clear()
        views = [ReadView() for _ in range(10)]
        await asyncio.gather(
            *(
                contracts_of(remembering).call_groups(overview(wallet), view)
                for wallet, view in enumerate(views, start=1)
            )
        )
        assert len(tally.requests) <= most
        assert {view.block for view in views} == {await ethereum.height()}


async def test_where_history_is_unproved_a_block_in_between_is_an_error(hyperliquid, session):
    node, _ = hyperliquid
    front = MovesOn(node.url, session, 0)
    await front.start()
    async with open_session() as http:
        endpoints = {"hyperliquid": {"endpoints": [{"label": "local", "url": front.url}]}}
        chains = Chains.load(Settings.model_validate({"profile": "devnet", "chains": endpoints}), http)
        driver = Operations(chains.get("hyperliquid"))
        groups = [holdings(ALICE), holdings(BOB, MAX_CALLS)]
        await contracts_of(driver).call_groups(groups, ReadView())
        front.moves = 1
        with pytest.raises(MovedOn, match="try again") as caught:
            await contracts_of(driver).call_groups(groups, ReadView())
        assert caught.value.retry_after_ms == 1000
        await chains.close()
    await front.stop()
