"""Balances by `scantxoutset`: only by endpoints that are configured for it, one scan at a time, never lost."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_bitcoin as known
from runtime.config_errors import ConfigError
from runtime.settings import Settings
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.registry import check_configured
from server.chains.view import ReadView
from server.errors import DeadlineExceeded, InvalidArgument, NotSupported, TooMuchWork, UpstreamUnavailable
from tests.server.chains.bitcoin.fronts import front
from tests.server.chains.bitcoin.test_endpoints import DEAD, drive

if TYPE_CHECKING:
    import aiohttp

    from devnet.bitcoin.node import BitcoinNode

pytestmark = pytest.mark.devnet


def scanning(url: str, label: str = "scanner") -> dict[str, str]:
    return {"label": label, "url": url, "kind": "scan"}


@pytest.mark.parametrize("address", [address for address in known.CONFIRMED if address != known.P2TR])
async def test_a_scan_counts_what_the_indexer_counts(node: BitcoinNode, address: str) -> None:
    async with drive([scanning(node.url)]) as driver:
        balance = await driver.read_balance(address, ReadView())
    assert (balance.raw, balance.block, balance.decimals) == (known.CONFIRMED[address], known.HEIGHT, 8)


async def test_nodes_that_are_not_configured_for_it_are_never_asked_to_scan(
    node: BitcoinNode, http: aiohttp.ClientSession
) -> None:
    async with front(node, http) as relay, drive([relay.endpoints("plain")[0]]) as driver:
        with pytest.raises(NotSupported, match="esplora or scan"):
            await driver.read_balance(known.P2SH, ReadView())
        assert await driver.read_height(ReadView()) == known.HEIGHT
        assert "scantxoutset" not in relay.asked


async def test_an_endpoint_that_scans_is_asked_for_nothing_else(node: BitcoinNode, http: aiohttp.ClientSession) -> None:
    async with front(node, http) as relay, drive([scanning(relay.url)]) as driver:
        with pytest.raises(UpstreamUnavailable):
            await driver.read_height(ReadView())
        with pytest.raises(InvalidArgument):
            await driver.read_balance("1nonsense", ReadView())
        with pytest.raises(NotSupported):
            await driver.read_balance(known.P2SH, ReadView(500))
        assert relay.asked == []
        await driver.read_balance(known.P2SH, ReadView())
        assert relay.asked == ["getblockhash", "scantxoutset"]


async def test_indexers_come_first_and_a_scan_where_none_answers(
    node: BitcoinNode, http: aiohttp.ClientSession
) -> None:
    async with front(node, http) as relay:
        indexer = {"label": "indexer", "url": f"{node.url}/api", "kind": "esplora"}
        async with drive([indexer, scanning(relay.url)]) as driver:
            assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
            assert relay.asked == []
        async with drive([DEAD[1], scanning(relay.url)]) as driver:
            assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
            assert relay.asked.count("scantxoutset") == 1


async def test_a_scan_answers_for_an_address_with_too_much_history_for_the_indexers(
    node: BitcoinNode, http: aiohttp.ClientSession
) -> None:
    async def refuse(what: str) -> tuple[int, bytes] | None:
        return (400, b"Too many history entries") if what.startswith("/address/") else None

    async with front(node, http) as relay:
        relay.twist = refuse
        indexer = relay.endpoints("busy")[1]
        async with drive([indexer, scanning(node.url)]) as driver:
            assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
        async with drive([indexer]) as driver:
            with pytest.raises(TooMuchWork):
                await driver.read_balance(known.P2SH, ReadView())


async def test_a_node_scans_once_at_a_time_and_once_for_an_address(
    node: BitcoinNode, http: aiohttp.ClientSession
) -> None:
    async with front(node, http) as relay:
        under_way = most = 0

        async def slow(what: str) -> None:
            nonlocal under_way, most
            if what == "scantxoutset":
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0.05)
                under_way -= 1

        relay.twist = slow
        async with drive([scanning(relay.url)]) as driver:
            wanted = [known.P2SH, known.P2PKH, known.P2WPKH] * 5
            found = await asyncio.gather(*(driver.read_balance(address, ReadView()) for address in wanted))
            assert [balance.raw for balance in found] == [known.CONFIRMED[address] for address in wanted]
            assert (most, relay.asked.count("scantxoutset")) == (1, 3)


async def test_a_scan_outlives_the_caller_who_waited_in_vain(node: BitcoinNode, http: aiohttp.ClientSession) -> None:
    async with front(node, http) as relay:
        is_done = asyncio.Event()

        async def slow(what: str) -> None:
            if what == "scantxoutset":
                await is_done.wait()

        relay.twist = slow
        async with drive([scanning(relay.url)]) as driver:
            with pytest.raises(DeadlineExceeded) as late:
                await driver.read_balance(known.P2SH, ReadView(deadline=time.monotonic() + 0.1))
            assert late.value.retry_after_ms
            hasty = asyncio.create_task(driver.read_balance(known.P2SH, ReadView()))
            await asyncio.sleep(0.05)
            hasty.cancel()
            is_done.set()
            assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
            assert (await driver.read_balance(known.P2SH, ReadView())).raw == known.CONFIRMED[known.P2SH]
            assert relay.asked.count("scantxoutset") == 1


async def test_too_many_scans_are_refused_at_once(node: BitcoinNode, http: aiohttp.ClientSession) -> None:
    addresses = [known.P2PKH, known.P2SH, known.P2WPKH, known.P2WSH]
    async with front(node, http) as relay:

        async def stuck(what: str) -> None:
            if what == "scantxoutset":
                await asyncio.sleep(30)

        relay.twist = stuck
        async with drive([scanning(relay.url)]) as driver:
            scans = driver.of(ReadsBalances)._ways[-1]
            reads = [asyncio.create_task(driver.read_balance(one, ReadView())) for one in addresses]
            await asyncio.sleep(0.05)
            for number in range(4):
                scans._scan_of(f"another {number}")
            with pytest.raises(UpstreamUnavailable, match="too many"):
                scans._scan_of("one more")
            for read in reads:
                read.cancel()
            await asyncio.gather(*reads, return_exceptions=True)


@pytest.mark.parametrize(
    "result",
    [
        {"success": False, "height": 5, "total_amount": 1},
        {"success": True, "height": 5},
        {"success": True, "height": 5, "total_amount": -1},
        {"success": True, "height": 5, "total_amount": 0.123456789},
        {"success": True, "height": -5, "total_amount": 1},
        None,
        "nothing",
    ],
)
async def test_a_malformed_scan_is_no_balance(node: BitcoinNode, http: aiohttp.ClientSession, result: Any) -> None:
    async with front(node, http) as relay:

        async def spoil(what: str) -> tuple[int, bytes] | None:
            body = json.dumps({"jsonrpc": "2.0", "id": 2, "result": result}).encode()
            return (200, body) if what == "scantxoutset" else None

        relay.twist = spoil
        async with drive([scanning(relay.url)]) as driver:
            with pytest.raises(UpstreamUnavailable):
                await driver.read_balance(known.P2SH, ReadView())


def test_only_bitcoin_has_endpoints_that_scan() -> None:
    def settings(slug: str) -> Settings:
        return Settings.model_validate({"chains": {slug: {"endpoints": [scanning("http://127.0.0.1:9")]}}})

    check_configured(settings("bitcoin"))
    with pytest.raises(ConfigError, match="read through jsonrpc"):
        check_configured(settings("ethereum"))
