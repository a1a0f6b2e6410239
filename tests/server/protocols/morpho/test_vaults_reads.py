"""Reads of lend-c's vaults: what they cost, which addresses are refused, and what is left when a source fails."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from waypost.v1 import yield_protocol_pb2, yield_vault_pb2

from devnet import known
from devnet.evm.lending_c_vaults import market_id, queue_of
from devnet.known_lending_c_vaults import (
    CURRENT,
    FACTORIES,
    GAUNTLET,
    NOBODYS,
    SECOND_GENERATION,
    STEAKHOUSE,
    VAULTS,
    WETH_VAULT,
)
from devnet.offchain.morpho import AVERAGE, REWARDS
from server.errors import DeadlineExceeded, GatewayError, NotFound, PriceUnavailable, UpstreamUnavailable
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import mine_at, now, send
from tests.server.protocols.morpho.site import VaultSite, vault_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

LENDING, BALANCE, PRICE = "GetYieldsLending", "GetYieldsBalance", "GetYieldsPrice"
SPOT, BY_AVERAGE = yield_protocol_pb2.YIELD_BASIS_SPOT, yield_protocol_pb2.YIELD_BASIS_AVERAGE
API, CHAIN = yield_vault_pb2.LEND_C_VAULT_SOURCE_API, yield_vault_pb2.LEND_C_VAULT_SOURCE_CHAIN
PARAMETERS = "(address,address,address,address,uint256)"
# The ways in which the API fails at once.
FAILING = ("limited", "half", "renamed", "partial")


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet) -> AsyncIterator[VaultSite]:
    async with vault_site(devnet) as opened:
        yield opened


# --- what they cost ---


@pytest.mark.parametrize(
    ("rpc", "pool", "cold", "api"),
    [
        (LENDING, STEAKHOUSE, 4, 0),
        (BALANCE, STEAKHOUSE, 4, 0),
        (PRICE, STEAKHOUSE, 4, 0),
        (LENDING, SECOND_GENERATION, 4, 1),
        (PRICE, SECOND_GENERATION, 4, 0),
    ],
)
async def test_a_first_read_and_a_warm_one(site: VaultSite, rpc: str, pool: str, cold: int, api: int) -> None:
    wallet = known.VITALIK if rpc == BALANCE else ""
    with site.sends(*["ethereum"] * cold, api=api):
        await site.pool(rpc, "ethereum", pool, wallet)
    with site.sends():
        await site.pool(rpc, "ethereum", pool, wallet)
    await site.mine("ethereum")
    with site.sends("ethereum"):
        await site.pool(rpc, "ethereum", pool, wallet)


async def test_another_wallet_or_operation_of_a_known_vault_is_one_request(site: VaultSite) -> None:
    await site.pool(BALANCE, "ethereum", STEAKHOUSE, known.VITALIK)
    for rpc, wallet in ((BALANCE, known.ALICE), (LENDING, "")):
        with site.sends("ethereum"):
            await site.pool(rpc, "ethereum", STEAKHOUSE, wallet)
    with site.sends():  # the conversion was read for the wallets
        await site.pool(PRICE, "ethereum", STEAKHOUSE)


async def test_listings_are_one_request_a_chain_and_none_where_nothing_is_listed(site: VaultSite) -> None:
    with site.sends(api=1):
        vaults = await site.vaults("ethereum")
    assert [(vault.address, vault.version) for vault in vaults] == [
        (STEAKHOUSE, yield_vault_pb2.LEND_C_VAULT_VERSION_V1),
        (GAUNTLET, yield_vault_pb2.LEND_C_VAULT_VERSION_V1),
        (SECOND_GENERATION, yield_vault_pb2.LEND_C_VAULT_VERSION_V2),
    ]
    for vault in vaults:
        assert (vault.chain_id, vault.chain.id, vault.chain.network, vault.whitelisted) == (1, 1, "Ethereum", True)
    with site.sends():
        await site.vaults("ethereum")
        await site.data("ethereum", STEAKHOUSE, GAUNTLET)
        await site.best("ethereum")
        assert await site.vaults("avalanche") == await site.vaults("bsc") == []
        assert await site.data("avalanche", STEAKHOUSE) == []
        assert await site.best("avalanche") == await site.best("bsc") == []
    with site.sends(api=1):
        versions = [vault.version for vault in await site.vaults("arbitrum")]
    assert versions == [yield_vault_pb2.LEND_C_VAULT_VERSION_V2]


# --- figures of vaults ---


async def test_figures_are_the_apis_in_the_order_asked(site: VaultSite) -> None:
    rows = await site.data("ethereum", SECOND_GENERATION, known.ALICE, STEAKHOUSE, WETH_VAULT)
    assert [row.address for row in rows] == [SECOND_GENERATION, STEAKHOUSE]  # what the API does not list is left out
    second, first = rows
    assert (first.source, first.basis, second.source, second.basis) == (API, SPOT, API, BY_AVERAGE)
    assert (first.fee, second.fee) == (5.0, 10.0)
    assert first.net_apy - REWARDS[STEAKHOUSE] * 100 == pytest.approx(first.apy * 0.95, rel=1e-3)
    assert first.avg_apy == pytest.approx(first.apy * AVERAGE)
    assert (second.apy, second.net_apy, second.avg_apy, second.avg_net_apy) == (5.12, 4.908, 5.05, pytest.approx(4.845))
    assert not first.HasField("block_height")
    of_chain = await site.pool(LENDING, "ethereum", STEAKHOUSE)
    assert first.total_assets_usd == pytest.approx(of_chain.tvl, rel=1e-6)


@pytest.mark.parametrize("mode", FAILING)
async def test_without_the_api_figures_come_from_the_chain(devnet: Devnet, mode: str) -> None:
    async with vault_site(devnet) as sound, vault_site(devnet, mode) as site:
        asked = (WETH_VAULT, STEAKHOUSE, known.ALICE, NOBODYS, GAUNTLET)
        rows = await site.data("ethereum", *asked)
        assert [row.address for row in rows] == [WETH_VAULT, STEAKHOUSE, GAUNTLET]
        reported = {row.address: row for row in await sound.data("ethereum", *asked)}
        for row in rows:
            lending = await site.pool(LENDING, "ethereum", row.address)
            assert (row.source, row.basis, row.net_apy) == (CHAIN, SPOT, lending.supply_apy)
            assert (row.block_height, row.total_assets_usd) == (lending.block_height, lending.tvl)
            assert not row.HasField("avg_apy")
            assert not row.HasField("avg_net_apy")
            if row.address in reported:
                same = reported[row.address]
                for member in ("name", "symbol", "chain_id", "total_assets", "total_supply", "fee"):
                    assert getattr(row, member) == getattr(same, member)
                assert row.apy == pytest.approx(same.apy, rel=1e-2)
        with pytest.raises(UpstreamUnavailable, match="morpho"):
            await site.data("ethereum", STEAKHOUSE, SECOND_GENERATION)


async def test_from_the_chain_they_take_few_requests(devnet: Devnet) -> None:
    async with vault_site(devnet, "partial") as site:
        with site.sends(*["ethereum"] * 4, api=1):
            await site.data("ethereum", STEAKHOUSE, GAUNTLET, WETH_VAULT)
        await site.mine("ethereum")
        with site.sends(*["ethereum"] * 2):  # the API is left alone for a while
            await site.data("ethereum", GAUNTLET, STEAKHOUSE)


# --- which addresses are vaults ---


@pytest.mark.parametrize(
    "pool",
    [
        NOBODYS,  # the original contract, which no factory has made
        known.ALICE,
        known.SILENT_CONTRACT,
        known.GAS_BURNER,
        known.REVERT_BOMBER,
        known.RETURN_BOMBER,
        FACTORIES["ethereum"][CURRENT],
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    ],
)
async def test_an_address_that_no_factory_knows_is_no_vault_whatever_it_answers(site: VaultSite, pool: str) -> None:
    for rpc, wallet in ((LENDING, ""), (BALANCE, known.VITALIK), (PRICE, "")):
        with pytest.raises(NotFound, match="no such pool of lend-c on ethereum") as refused:
            await site.pool(rpc, "ethereum", pool, wallet)
        assert refused.value.field == "pool"


async def test_a_mistyped_vault_is_answered_with_the_nearest(site: VaultSite) -> None:
    with pytest.raises(NotFound, match=f"the nearest are {STEAKHOUSE}"):
        await site.pool(LENDING, "ethereum", "0xBeeF01735c132ada46AA9aa4C54623caA92A64cc".lower())


async def test_a_chain_without_the_protocol_has_no_pools(site: VaultSite) -> None:
    with site.sends(), pytest.raises(NotFound, match="lend-c on avalanche, where the protocol has no vaults"):
        await site.pool(LENDING, "avalanche", STEAKHOUSE)


async def test_a_market_that_joins_the_queue_is_noticed_in_the_same_read(site: VaultSite) -> None:
    """The vault is read anew at the block of the answer."""
    node, vault = site.devnet.nodes["ethereum"], VAULTS["ethereum"][1]
    await site.pool(LENDING, "ethereum", vault.address)
    time = await now(node) + 100
    async with rewound(node):
        joining = queue_of(node.chain, VAULTS["ethereum"][0])[0]
        await send(node, known.DEVELOPER, vault.address, f"submitCap({PARAMETERS},uint256)", joining, 10**12)
        await mine_at(node, time)
        await send(node, known.DEVELOPER, vault.address, f"acceptCap({PARAMETERS})", joining)
        await mine_at(node, time + 90_000)
        queue = [market_id(joining)]
        await send(node, known.DEVELOPER, vault.address, "setSupplyQueue(bytes32[])", queue)
        asset = queue_of(node.chain, vault)[0][0]
        await send(node, known.DEVELOPER, asset, "mint(address,uint256)", known.BOB, 10**9)
        await send(node, known.BOB, asset, "approve(address,uint256)", vault.address, 10**9)
        await send(node, known.BOB, vault.address, "deposit(uint256,address)", 10**9, known.BOB)
        await mine_at(node, time + 90_001)
        await site.learn("ethereum")
        with site.sends(*["ethereum"] * 4):  # the vault, twice what it is, and the vault again
            row = await site.pool(LENDING, "ethereum", vault.address)
        async with vault_site(site.devnet) as another:
            assert (await another.pool(LENDING, "ethereum", vault.address)).supply_apy == row.supply_apy


# --- what is left when a source fails ---


@pytest.mark.parametrize("mode", FAILING)
async def test_without_the_api_the_first_generation_is_whole_and_the_second_has_no_rate(
    devnet: Devnet, mode: str
) -> None:
    async with vault_site(devnet, mode) as site:
        assert (await site.pool(LENDING, "ethereum", STEAKHOUSE)).HasField("supply_apy")
        for pool in (STEAKHOUSE, SECOND_GENERATION):
            assert (await site.pool(BALANCE, "ethereum", pool, known.VITALIK)).balance.usd > 0
            assert (await site.pool(PRICE, "ethereum", pool)).price.usd > 1
        for asked in (
            site.pool(LENDING, "ethereum", SECOND_GENERATION),
            site.vaults("ethereum"),
            site.best("ethereum"),
        ):
            with pytest.raises(GatewayError) as failed:
                await asked
            assert isinstance(failed.value, UpstreamUnavailable)
            assert "morpho" in failed.value.message
        with pytest.raises(NotFound):  # which needs no API to be known
            await site.pool(LENDING, "ethereum", NOBODYS)


async def test_a_slow_api_costs_what_needs_it_alone(devnet: Devnet) -> None:
    async with vault_site(devnet, "slow") as site:
        await site.pool(LENDING, "ethereum", STEAKHOUSE)
        began = time.monotonic()
        with pytest.raises(NotFound, match="no such pool"):  # the names of the nearest are not waited for
            await site.pool(LENDING, "ethereum", NOBODYS)
        assert time.monotonic() - began < 8
        site.within = 1.0
        with pytest.raises(DeadlineExceeded, match="morpho"):
            await site.vaults("ethereum")
        assert (await site.pool(LENDING, "ethereum", STEAKHOUSE)).HasField("supply_apy")


async def test_a_server_with_the_newer_name_of_the_mark_answers_alike(devnet: Devnet) -> None:
    async with vault_site(devnet, "listed") as site, vault_site(devnet) as sound:
        assert await site.vaults("ethereum") == await sound.vaults("ethereum")


async def test_without_a_price_values_are_unknown_and_a_share_has_none(site: VaultSite) -> None:
    site.prices.missing = {"USDC"}
    lending = await site.pool(LENDING, "ethereum", STEAKHOUSE)
    assert (lending.HasField("tvl"), lending.HasField("supply_apy")) == (False, True)
    balance = await site.pool(BALANCE, "ethereum", STEAKHOUSE, known.VITALIK)
    assert balance.balance.amounts["USDC"] > 1000
    assert not balance.balance.HasField("usd")
    with pytest.raises(PriceUnavailable, match="USDC"):
        await site.pool(PRICE, "ethereum", STEAKHOUSE)


async def test_a_wallet_with_nothing_is_a_row_of_zeros(site: VaultSite) -> None:
    row = await site.pool(BALANCE, "ethereum", STEAKHOUSE, "0x00000000000000000000000000000000000bEEF1")
    assert (dict(row.balance.amounts), row.balance.usd) == ({"USDC": 0.0}, 0.0)


async def test_the_time_is_that_of_the_oldest_answer(site: VaultSite) -> None:
    node = site.devnet.nodes["ethereum"]
    row: Any = await site.pool(LENDING, "ethereum", STEAKHOUSE)
    assert row.updated_at.seconds == await now(node)
    site.prices.updated_at = site.prices.updated_at.replace(year=2020)
    for rpc in (LENDING, PRICE):
        assert (await site.pool(rpc, "ethereum", STEAKHOUSE)).updated_at.ToDatetime().year == 2020
