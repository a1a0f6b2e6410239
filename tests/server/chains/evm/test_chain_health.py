"""Chain health: what nodes answer decides it, and a dead node is an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import NotAvailable, UpstreamUnavailable
from server.upstream import open_session
from server.upstream.failures import Trouble
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, Anvil

pytestmark = pytest.mark.devnet

DEAD = "http://127.0.0.1:9"


def load(profile: str, http, *urls: str) -> Chains:
    endpoints = [{"label": f"node-{index}", "url": url} for index, url in enumerate(urls)]
    return Chains.load(
        Settings.model_validate({"profile": profile, "chains": {"ethereum": {"endpoints": endpoints}}}), http
    )


async def test_one_dead_endpoint_of_two_is_ok(ethereum):
    async with open_session() as http:
        chains = load("devnet", http, DEAD, ethereum.url)
        driver = Operations(chains.get("ethereum"))
        assert driver.last_state() is None
        health = await driver.read_health()
        assert (health.state, health.height) == ("ok", await ethereum.height())
        assert 0 < health.latency < 5
        assert datetime.now(UTC) - health.asked_at < timedelta(seconds=5)
        assert driver.last_state() == "ok"
        await chains.close()


async def test_no_endpoint_that_answers_is_down(ethereum):
    async with open_session() as http:
        chains = load("devnet", http, DEAD)
        driver = Operations(chains.get("ethereum"))
        health = await driver.read_health()
        assert (health.state, health.height, health.latency) == ("down", None, None)
        assert driver.last_state() == "down"
        with pytest.raises(UpstreamUnavailable):
            await driver.read_balance(ALICE, ReadView())
        await chains.close()


async def test_the_last_known_state_follows_what_reads_find(session):
    node = await Anvil.start(session, "--chain-id", "1")
    async with open_session() as http:
        chains = load("devnet", http, node.url)
        driver = Operations(chains.get("ethereum"))
        await driver.read_height(ReadView())
        assert driver.last_state() is None  # block 0 proves nothing about the head
        await node.call("anvil_mine", "0x2")
        await driver.read_height(ReadView())
        assert driver.last_state() == "ok"
        node.stop()
        for _ in range(20):
            with pytest.raises(UpstreamUnavailable):
                await driver.read_height(ReadView())
        assert driver.last_state() == "down"
        assert (await driver.read_health()).height == 2
        await chains.close()


async def test_a_chain_that_came_back_is_ok_again(ethereum):
    async with open_session() as http:
        chains = load("devnet", http, ethereum.url)
        driver = Operations(chains.get("ethereum"))
        probe, driver.pool.probe = driver.pool.probe, _nothing
        assert (await driver.read_health()).state == driver.last_state() == "down"
        driver.pool.probe = probe
        await driver.read_height(ReadView())
        assert driver.last_state() == "ok"
        await chains.close()


async def _nothing(method, params, *, deadline=None):
    return []


async def test_a_chain_without_endpoints_is_down_and_says_so():
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate({"profile": "devnet"}), http)
        driver = Operations(chains.get("gnosis"))
        assert (await driver.read_health()).state == "down"
        with pytest.raises(UpstreamUnavailable):
            await driver.read_height(ReadView())
        with pytest.raises(NotAvailable):
            chains.capability("solana", type(driver))
        await chains.close()


async def test_a_head_that_stands_still_is_degraded_but_not_on_local_nodes(session):
    node = await Anvil.start(session, "--chain-id", "1", "--timestamp", "1700000000", "--no-mining")
    try:
        async with open_session() as http:
            for profile, state in (("mainnet", "degraded"), ("devnet", "ok")):
                chains = load(profile, http, node.url)
                health = await Operations(chains.get("ethereum")).read_health()
                assert (health.state, health.height) == (state, 0)
                assert health.trouble is (Trouble.BEHIND if state == "degraded" else None)
                await chains.close()
    finally:
        node.stop()


async def test_a_node_of_another_chain_does_not_make_it_healthy(arbitrum):
    async with open_session() as http:
        chains = load("devnet", http, arbitrum.url)
        with pytest.raises(UpstreamUnavailable, match="42161"):
            await Operations(chains.get("ethereum")).read_height(ReadView())
        assert (await Operations(chains.get("ethereum")).read_health()).state == "down"
        await chains.close()
