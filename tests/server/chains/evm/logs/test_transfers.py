"""Transfers of one account, on a chain where tokens of every kind moved."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.capabilities.logs import BlockRange
from server.chains.evm.logs import scan, transfers
from server.chains.evm.logs.transfers import TRANSFER
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.address import checksum_address
from server.errors import InvalidArgument
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.log_nodes import ID_LOGGER, LOGGER, logger_code, place_loggers, write_logs
from tests.server.chains.evm.nodes import (
    ALICE,
    BOB,
    GAS_BURNER,
    NAMELESS,
    OWNER,
    USDC,
    WHOLE,
    Anvil,
    LatestOnly,
    build_world,
    call_data,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web

pytestmark = pytest.mark.devnet


NATIVE = "0x0000000000000000000000000000000000001010"
FIRST = 60_000_000
DEPTH = 60  # instead of 10,000, which a local node takes a minute to mine
STRANGE = checksum_address(LOGGER)
UNTOUCHED = "0x00000000000000000000000000000000000beef0"
WHO = "0x00000000000000000000000000000000000a11ce"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(session) -> AsyncIterator[Anvil]:
    """Polygon, whose native coin logs transfers of its own; blocks 1 to 9 of `blocks` are the transfers below."""
    anvil = await Anvil.start(session, "--chain-id", "137", "--number", str(FIRST))
    await build_world(anvil)
    await place_loggers(anvil)
    await anvil.place(NATIVE, logger_code(3), is_runtime=True)
    await anvil.place(GAS_BURNER, logger_code(3), is_runtime=True)
    anvil.blocks["oldest"] = await write_logs(anvil, 1, TRANSFER, WHO, BOB)
    await anvil.call("anvil_mine", hex(DEPTH))
    await anvil.call("anvil_setBalance", WHO, hex(10**20))
    await anvil.call("anvil_impersonateAccount", WHO)
    await anvil.send(USDC, call_data("mint(address,uint256)", WHO, 2_500_000))
    await anvil.send(USDC, call_data("transfer(address,uint256)", BOB, 1_500_000), sender=WHO)
    await anvil.send(USDC, call_data("transfer(address,uint256)", WHO, 250_000), sender=WHO)
    await anvil.send(NAMELESS, call_data("mint(address,uint256)", WHO, 123_456_789))
    await anvil.send(WHOLE, call_data("mint(address,uint256)", WHO, 7))
    await write_logs(anvil, 2, TRANSFER, BOB, WHO, "0x2a", contract=ID_LOGGER)
    await write_logs(anvil, 2, TRANSFER, BOB, WHO, contract=NATIVE)
    await write_logs(anvil, 1, TRANSFER, BOB, WHO)
    await anvil.call("anvil_mine", "0x2")
    yield anvil
    anvil.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def polygon(node, tally, monkeypatch) -> AsyncIterator[Operations]:
    assert transfers.DEPTH == 10_000
    monkeypatch.setattr(transfers, "DEPTH", DEPTH)
    settings = Settings.model_validate(
        {"profile": "devnet", "chains": {"polygon": {"endpoints": [{"label": "local", "url": node.url}]}}}
    )
    async with open_session() as http:
        chains = Chains.load(settings, http, observer=tally)
        driver = Operations(chains.get("polygon"))
        await driver.pool.call("eth_chainId", [])
        tally.requests.clear()
        yield driver
        await chains.close()


ALL = BlockRange(None, "latest", None)


async def test_transfers_of_both_directions_newest_first_each_once(polygon, node):
    page = await polygon.read_transfers(ALL, WHO, ReadView())
    rows = [(one.token, one.value, one.symbol, one.decimals, one.amount) for one in page.transfers]
    assert rows == [
        (STRANGE, "0", "", 0, ""),
        (WHOLE, "7", "WHL", 0, "7"),
        (NAMELESS, "123456789", "", 8, "1.23456789"),
        (USDC, "250000", "USDC", 6, "0.25"),
        (USDC, "1500000", "USDC", 6, "1.5"),
        (USDC, "2500000", "USDC", 6, "2.5"),
    ]
    who = page.address
    assert who.lower() == WHO
    zero = "0x" + "00" * 20
    assert [(one.from_address, one.to) for one in page.transfers] == [
        (BOB, who),
        (zero, who),
        (zero, who),
        (who, who),
        (who, BOB),
        (zero, who),
    ]
    assert (page.count, page.page_size, page.has_more, bool(page.next_page_token)) == (6, 1000, False, False)
    truth = await node.call("eth_getLogs", {"fromBlock": hex(node.blocks["oldest"] + 1), "address": USDC})
    newest = page.transfers[3]
    assert (newest.transaction_hash, newest.block_number, newest.log_index) == (
        truth[-1]["transactionHash"],
        int(truth[-1]["blockNumber"], 16),
        0,
    )


async def test_an_unknown_token_has_neither_symbol_nor_amount(polygon):
    page = await polygon.read_transfers(ALL, WHO, ReadView())
    strange = page.transfers[0]
    assert not strange.HasField("symbol")
    assert not strange.HasField("decimals")
    assert not strange.HasField("amount")
    nameless = page.transfers[2]
    assert not nameless.HasField("symbol")
    assert nameless.HasField("decimals")


async def test_questions_to_the_node_are_counted(polygon, tally):
    await polygon.read_transfers(ALL, UNTOUCHED, ReadView())
    assert tally.requests == [1, 1, 1]  # the newest block, sent, received
    tally.requests.clear()
    page = await polygon.read_transfers(BlockRange(None, "latest", None), BOB, ReadView())
    tokens = {one.token for one in page.transfers}
    # One more round trip for all tokens; what fails without an answer is asked again alone.
    assert tally.requests[:4] == [1, 1, 1, len(tokens)]


async def test_the_default_window_is_bounded_and_can_be_widened(polygon, node):
    oldest = node.blocks["oldest"]
    head = await node.height()
    assert head - oldest > DEPTH
    default = await polygon.read_transfers(ALL, WHO, ReadView())
    assert all(one.block_number > oldest for one in default.transfers)
    exact = await polygon.read_transfers(BlockRange(str(oldest), "latest", None), WHO, ReadView())
    assert exact.transfers[-1].block_number == oldest
    assert exact.count == default.count + 1
    await polygon.read_height(ReadView())
    edge = await polygon.read_transfers(BlockRange(str(oldest), str(oldest), None), WHO, ReadView())
    assert edge.count == 1


async def test_the_cursor_carries_the_window_that_was_left_out(polygon, node, monkeypatch):
    """Nothing is lost at the old end while the chain moves on between two pages."""
    account = "0x" + "5a" * 20
    block = await write_logs(node, 1005, TRANSFER, BOB, account)
    low = await node.height() - DEPTH
    page = await polygon.read_transfers(ALL, account, ReadView())
    assert (page.count, page.next_page_token) == (1000, f"{block}:5:{low}")
    await node.call("anvil_mine", hex(50))
    asked: list[int] = []
    real = scan.LogScanner.read_page

    async def spy(self, window, *args, **options):
        asked.append(window.low)
        return await real(self, window, *args, **options)

    monkeypatch.setattr(scan.LogScanner, "read_page", spy)
    rest = await polygon.read_transfers(BlockRange(None, "latest", page.next_page_token), account, ReadView())
    assert (rest.count, rest.has_more, asked) == (5, False, [low])
    assert [one.log_index for one in rest.transfers] == [4, 3, 2, 1, 0]


async def test_a_hostile_token_spoils_no_other_tokens_symbol(polygon, node):
    account = "0x" + "6b" * 20
    await node.send(USDC, call_data("mint(address,uint256)", account, 5_000_000))
    await write_logs(node, 1, TRANSFER, BOB, account, contract=GAS_BURNER)
    await node.place(GAS_BURNER, bytes.fromhex("5b600056"), is_runtime=True)
    page = await polygon.read_transfers(ALL, account, ReadView())
    burner, usdc = page.transfers
    assert not burner.HasField("symbol")
    assert (usdc.symbol, usdc.amount) == ("USDC", "5")


class _Mute(LatestOnly):
    """Stands before a real node and keeps callers of contracts waiting until `over`."""

    over: asyncio.Event

    async def _answer(self, request: web.Request) -> web.Response:
        self.over = getattr(self, "over", None) or asyncio.Event()
        if b"eth_call" in await request.read():
            await self.over.wait()
        return await super()._answer(request)


async def test_tokens_that_do_not_answer_cost_their_symbols_and_not_the_page(node, tally, session, monkeypatch):
    monkeypatch.setattr(transfers, "DEPTH", DEPTH)
    account = "0x" + "7c" * 20
    await node.send(USDC, call_data("mint(address,uint256)", account, 5_000_000))
    mute = _Mute(node.url, session)
    await mute.start()
    settings = {"profile": "devnet", "chains": {"polygon": {"endpoints": [{"label": "local", "url": mute.url}]}}}
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(settings), http, observer=tally)
        started = time.monotonic()
        view = ReadView(deadline=started + 4)
        page = await Operations(chains.get("polygon")).read_transfers(ALL, account, view)
        took = time.monotonic() - started
        await chains.close()
    mute.over.set()
    await mute.stop()
    assert [(one.token, one.value, one.HasField("symbol")) for one in page.transfers] == [(USDC, "5000000", False)]
    assert took < 3.5


@pytest.mark.parametrize("address", ["", "0x12", "vitalik", "0x" + "ab" * 3000])
async def test_what_is_no_address_is_refused_without_a_node(polygon, tally, address):
    with pytest.raises(InvalidArgument) as caught:
        await polygon.read_transfers(ALL, address, ReadView())
    assert caught.value.field == "address"
    assert tally.requests == []


async def test_reversed_ranges_are_refused_and_the_future_is_empty(polygon, node):
    for blocks in (BlockRange("9", "8", None), BlockRange(None, "8", None), BlockRange("latest", "8", None)):
        with pytest.raises(InvalidArgument) as caught:
            await polygon.read_transfers(blocks, ALICE, ReadView())
        assert caught.value.field == "fromBlock"
    page = await polygon.read_transfers(BlockRange(str(await node.height() + 5), "latest", None), OWNER, ReadView())
    assert (page.count, page.has_more) == (0, False)
