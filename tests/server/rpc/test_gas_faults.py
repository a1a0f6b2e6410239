"""compareGas when chains or prices are missing, and what it costs in requests."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from devnet.evm.feeds import load_feeds
from devnet.evm.world import load_world
from runtime.exposition import render_metrics
from runtime.settings import Settings
from server.apis.sources import Sources
from server.catalog.feeds import load_price_table
from server.chains.registry import Chains
from server.errors import UpstreamUnavailable
from server.gas import GasComparison
from server.prices import Prices, open_prices
from server.prices.on_chain import OnChainFeeds
from server.storage.database import open_database
from server.upstream import open_session
from tests.operations import Operations
from tests.server.rpc.conftest import unchanged
from tests.server.rpc.price_feeds import tell
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

WORLD = load_world()
FEED = {row["chain"] + " " + row["pair"]: row for row in load_feeds()["chainlink"]}
ETHER = FEED["ethereum ETH / USD"]


@asynccontextmanager
async def opened(settings: dict[str, Any], tally: ChainTally) -> AsyncIterator[Chains]:
    """The gateway's chains without a cache; every endpoint has proved its chain id."""
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(settings), http, observer=tally)
        for slug in settings["chains"]:
            if chains.get(slug).family != "evm":
                continue
            driver: Any = Operations(chains.get(slug))
            await driver.pool.call("eth_chainId", [])
        tally.requests.clear()
        yield chains
        await chains.close()


def on_chain(chains: Chains, clock: Callable[[], float] = time.time) -> Prices:
    """Prices out of feeds alone, which are what is tried here."""
    return Prices([OnChainFeeds(chains, load_price_table(), clock=clock)])


def comparison(chains: Chains) -> GasComparison:
    return GasComparison(chains, on_chain(chains))


async def test_every_chain_is_asked_in_one_request(full_devnet: Devnet):
    tally = ChainTally()
    async with opened(full_devnet.settings_overrides(), tally) as chains:
        costs = await comparison(chains).compare(time.monotonic() + 10)
    assert len(costs) == 16
    # Linea's own estimate is unknown to the local node, which says so in the same batch.
    assert sorted(tally.requests) == sorted(WORLD)


async def test_an_off_chain_source_of_prices_costs_one_request_more(full_devnet: Devnet, tmp_path: Path):
    tally = ChainTally()
    settings = full_devnet.settings_overrides()
    async with opened(settings, tally) as chains, AsyncExitStack() as lifetime:
        http = await lifetime.enter_async_context(open_session())
        database = await open_database(f"sqlite:///{tmp_path}/prices.db")
        lifetime.push_async_callback(database.dispose)
        whole = Settings.model_validate(settings)
        prices, _ = open_prices(Sources(whole, http, lifetime, observer=tally), chains, database, None)
        costs = await GasComparison(chains, prices).compare(time.monotonic() + 10)
    assert len(costs) == 16
    assert sorted(tally.requests) == sorted([*WORLD, "defillama"])


async def test_a_chain_that_does_not_answer_is_left_out_and_named(full_devnet: Devnet):
    settings = full_devnet.settings_overrides()
    settings["chains"] = {slug: table for slug, table in settings["chains"].items() if slug not in ("monad", "base")}
    tally = ChainTally()
    async with opened(settings, tally) as chains:
        with capture_logs() as logs:
            costs = await comparison(chains).compare(time.monotonic() + 10)
    assert {cost.chain for cost in costs} == set(WORLD) - {"monad", "base"}
    named = [line["chain"] for line in logs if line["event"] == "chain left out of the gas comparison"]
    assert sorted(named) == ["base", "monad"]
    assert b'waypost_rows_left_out_total{chain="monad",operation="compareGas"}' in render_metrics()
    # GLMR's first feed is on base; the second one stands in.
    assert all(cost.usd is not None for cost in costs)


async def test_a_chain_whose_price_is_unknown_comes_last_without_a_cost(full_devnet: Devnet):
    settings = full_devnet.settings_overrides()
    settings["chains"] = {slug: settings["chains"][slug] for slug in ("ethereum", "monad", "berachain", "scroll")}
    async with unchanged(full_devnet, "ethereum"), opened(settings, ChainTally()) as chains:
        await tell(full_devnet, ETHER, "0")
        costs = await comparison(chains).compare(time.monotonic() + 10)
    assert [(cost.chain, cost.usd is None, cost.l1_usd is None) for cost in costs] == [
        *[(cost.chain, False, True) for cost in costs[:2]],
        ("ethereum", True, True),
        ("scroll", True, True),
    ]
    # MON and BERA are reported by Pyth at home when arbitrum is away.
    assert {cost.chain for cost in costs[:2]} == {"monad", "berachain"}


async def test_a_silent_chain_costs_the_others_no_row(full_devnet: Devnet):
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    settings = full_devnet.settings_overrides()
    async with AsyncExitStack() as ending:
        chains = await ending.enter_async_context(opened(settings, ChainTally()))
        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        ending.callback(silent.close)
        port = silent.sockets[0].getsockname()[1]
        settings["chains"]["arbitrum"]["endpoints"][0]["url"] = f"http://127.0.0.1:{port}"
        async with open_session() as http:
            partly = Chains.load(Settings.model_validate(settings), http)
            started = time.monotonic()
            # It waits for five seconds at most, and a machine may be slow.
            costs = await comparison(partly).compare(started + 10)
            assert time.monotonic() - started < 9
            await partly.close()
        assert len(await comparison(chains).compare(None)) == 16
    assert {cost.chain for cost in costs} == set(WORLD) - {"arbitrum"}
    assert all(cost.usd is not None for cost in costs)


async def test_nothing_at_all_is_an_error(full_devnet: Devnet):
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate({"profile": "devnet"}), http)
        with pytest.raises(UpstreamUnavailable):
            await comparison(chains).compare(time.monotonic() + 10)
        await chains.close()


async def test_a_feed_beyond_its_heartbeat_is_not_live(full_devnet: Devnet):
    settings = full_devnet.settings_overrides()
    settings["chains"] = {"ethereum": settings["chains"]["ethereum"]}
    async with unchanged(full_devnet, "ethereum"), opened(settings, ChainTally()) as chains:
        prices = on_chain(chains)
        await tell(full_devnet, ETHER, ETHER["price"])
        assert str((await prices.read(["ETH"], deadline=None))["ETH"].value) == ETHER["price"]
        # It promises a report an hour, which may be an hour late.
        await tell(full_devnet, ETHER, "2000", age=2 * 3600 - 600)
        assert (await prices.read(["ETH"], deadline=None))["ETH"].value == 2000
        await tell(full_devnet, ETHER, "2000", age=2 * 3600 + 60)
        assert await prices.read(["ETH"], deadline=None) == {}
        await tell(full_devnet, ETHER, ETHER["price"])
        later = on_chain(chains, clock=lambda: time.time() + 26 * 3600)
        assert await later.read(["ETH", "OKB", "nothing"], deadline=None) == {}


async def test_a_feed_behind_a_stopped_sequencer_is_not_live(full_devnet: Devnet):
    settings = full_devnet.settings_overrides()
    settings["chains"] = {"arbitrum": settings["chains"]["arbitrum"]}
    sequencer = next(row for row in load_feeds()["sequencer"] if row["chain"] == "arbitrum")
    async with unchanged(full_devnet, "arbitrum"), opened(settings, ChainTally()) as chains:
        prices = on_chain(chains)
        assert set(await prices.read(["ETH", "HYPE"], deadline=None)) == {"ETH", "HYPE"}
        await tell(full_devnet, sequencer, "1")
        assert await prices.read(["ETH", "HYPE"], deadline=None) == {}
        # It runs again, and an hour later its feeds have caught up.
        await tell(full_devnet, sequencer, "0", age=3000)
        assert await prices.read(["ETH", "HYPE"], deadline=None) == {}
        await tell(full_devnet, sequencer, "0", age=3700)
        assert set(await prices.read(["ETH", "HYPE"], deadline=None)) == {"ETH", "HYPE"}
