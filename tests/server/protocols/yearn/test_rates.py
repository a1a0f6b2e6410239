"""Yields of vault-b over the local chains: each way to find a rate, the proof of addresses, balances by withdrawals."""

from __future__ import annotations

import math
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from waypost.v1 import yield_protocol_pb2

from devnet import known
from devnet.known_vaults import IMPOSTOR, YEARN, YEARN_APR_ORACLE, YEARN_V3_REGISTRY
from devnet.offchain import kong as stand_in
from server.errors import NotFound, UpstreamUnavailable
from server.protocols.yearn import rates
from server.yields import kong
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send
from tests.server.protocols.vault_site import PRICED_AT, PRICES, VAULT_B, address_of, open_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.known_vaults import YearnVault
    from devnet.launcher import Devnet
    from tests.server.protocols.vault_site import Site

pytestmark = pytest.mark.devnet

YEAR = 31_536_000
SPOT, AVERAGE, GROWTH = (
    yield_protocol_pb2.YIELD_BASIS_SPOT,
    yield_protocol_pb2.YIELD_BASIS_AVERAGE,
    yield_protocol_pb2.YIELD_BASIS_GROWTH,
)
BY_SYMBOL = {vault.symbol: vault for vault in YEARN}
LISTED = kong.vaults_of("ethereum")
# Of the seeded blocks, so many before the last.
BLOCKS_BACK = 12


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet) -> AsyncIterator[Site]:
    async with open_site(devnet, "ethereum", "arbitrum") as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def archive(site: Site, monkeypatch: pytest.MonkeyPatch) -> int:
    """Take some blocks for 7 days of blocks: the local chains began later than that. Returns how many.

    They reach from the head, which other tests move, back into the seeded ones, at 12 s each.
    """
    node = site.node()
    seeded = node.chain.height + known.SEEDED_BLOCKS + 1
    blocks = int(await node.call("eth_blockNumber"), 16) - seeded + BLOCKS_BACK
    monkeypatch.setattr(rates, "WEEK_SECONDS", blocks * 12.0)
    return blocks


async def test_kongs_rate_comes_first(site: Site) -> None:
    """The oracle has another rate of this vault, the stand-in's formula is that of its contract's growth."""
    vault = BY_SYMBOL["yvUSDC-1"]
    row = await site.vault(VAULT_B, vault.address)
    [listed] = [one for one in stand_in.listed("ethereum") if one["address"] == vault.address]
    assert (row.apy, row.basis) == (pytest.approx(listed["performance"]["historical"]["net"] * 100, rel=1e-9), AVERAGE)
    assert row.apy != pytest.approx(vault.expected, rel=0.01)
    assert row.block_height == int(await site.node().call("eth_blockNumber"), 16)


@pytest.mark.parametrize(
    ("symbol", "apr"), [("yvDAI-1", BY_SYMBOL["yvDAI-1"].expected), ("yvWETH-1", BY_SYMBOL["yvWETH-1"].unlocking)]
)
async def test_then_the_oracle_of_rates(site: Site, symbol: str, apr: float) -> None:
    """As a strategy, which reverts without an oracle of its own, then by which profits unlock; compounded."""
    row = await site.vault(VAULT_B, BY_SYMBOL[symbol].address)
    assert row.basis == SPOT
    assert row.apy == pytest.approx(((1 + apr / 100 / YEAR) ** YEAR - 1) * 100, rel=1e-6)


@pytest.mark.parametrize("symbol", ["yvUSDT-1", "yvDAI"])
async def test_then_the_growth_of_a_share_between_two_real_blocks(site: Site, archive: int, symbol: str) -> None:
    """Both versions; by the node's own words on the two blocks, which lie three weeks apart."""
    vault, node = BY_SYMBOL[symbol], site.node()
    row = await site.vault(VAULT_B, vault.address)
    figures = []
    for number in (row.block_height - archive, row.block_height):
        header = await node.call("eth_getBlockByNumber", hex(number), False)
        total, supply = [
            int(await node.call("eth_call", {"to": vault.address, "data": data}, hex(number)), 16)
            for data in ("0x01e1d114", "0x18160ddd")  # totalAssets, totalSupply
        ]
        figures.append((int(header["timestamp"], 16), total / supply))
    (then, before), (later, after) = figures
    assert later - then > 7 * 86_400
    assert row.basis == GROWTH
    assert row.apy == pytest.approx(((after / before) ** (YEAR / (later - then)) - 1) * 100, rel=1e-6)
    # Its growth is simple: by what it earns within a year, a little less.
    assert row.apy == pytest.approx(vault.percent, rel=0.05)


async def test_without_the_older_state_there_is_no_rate(site: Site) -> None:
    row = await site.vault(VAULT_B, BY_SYMBOL["yvUSDT-1"].address)
    assert (row.HasField("apy"), row.HasField("basis"), row.HasField("tvl")) == (False, False, True)


async def test_a_warm_answer_is_one_request_to_the_chain(site: Site, archive: int) -> None:
    """Whatever it takes: the vault, its proof, the oracle, the older block."""
    for chain, vault in (
        ("ethereum", "yvUSDC-1"),
        ("ethereum", "yvUSDT-1"),
        ("ethereum", "yvUSDT"),
        ("arbitrum", "yvUSDC-2"),
    ):
        address = BY_SYMBOL[vault].address
        await site.vault(VAULT_B, address, chain)
        site.sent()
        await site.vault(VAULT_B, address, chain)
        assert site.sent() == [chain], vault
        await site.balance(VAULT_B, address, known.ALICE, chain)
        assert site.sent() == [chain], vault


async def test_a_cold_answer_is_three_requests_and_one_to_the_api(site: Site) -> None:
    """What the vault is, what its asset is, and the figures."""
    await site.vault(VAULT_B, BY_SYMBOL["yvUSDC-1"].address)
    assert site.sent() == ["ethereum"] * 3 + ["kong"]


@pytest.mark.parametrize(
    ("chain", "address"),
    [
        ("ethereum", IMPOSTOR),
        ("ethereum", known.ALICE),
        ("ethereum", YEARN_V3_REGISTRY),
        ("ethereum", address_of("ethereum", "USDC")),
        ("ethereum", known.RETURN_BOMBER),
        ("arbitrum", BY_SYMBOL["yvUSDC-1"].address),
    ],
    ids=["impostor", "account", "registry", "token", "bomber", "other chain"],
)
async def test_what_is_no_vault_of_theirs_is_not_found(site: Site, chain: str, address: str) -> None:
    for asked in (site.vault(VAULT_B, address, chain), site.balance(VAULT_B, address, known.ALICE, chain)):
        with pytest.raises(NotFound, match=f"{address} is no vault of vault-b on {chain}") as refused:
            await asked
        assert refused.value.field == "pool"


@pytest.mark.parametrize("symbol", ["yvUSDT", "yvUSDC-2"])
async def test_a_registry_is_proof_enough(site: Site, symbol: str) -> None:
    """One of each version that Kong does not list."""
    vault = BY_SYMBOL[symbol]
    row = await site.vault(VAULT_B, vault.address, vault.chain)
    assert row.tvl > 0
    assert row.HasField("apy") is (symbol == "yvUSDC-2")


async def test_without_kong_a_registered_vault_is_answered_and_any_other_may_be_one(site: Site) -> None:
    site.documents.failing = {LISTED}
    row = await site.vault(VAULT_B, BY_SYMBOL["yvUSDC-1"].address)
    assert row.basis == SPOT
    balance = await site.balance(VAULT_B, BY_SYMBOL["yvUSDC-1"].address, known.ALICE)
    assert balance.balance.amounts["USDC"] > 0
    for address in (BY_SYMBOL["yvUSDT-1"].address, IMPOSTOR):
        for asked in (site.vault(VAULT_B, address), site.balance(VAULT_B, address, known.ALICE)):
            with pytest.raises(UpstreamUnavailable, match="kong is away"):
                await asked
    with pytest.raises(UpstreamUnavailable, match="kong is away"):
        await site.best(VAULT_B)


async def test_assets_are_the_chains_at_the_gateways_price_else_kongs(site: Site) -> None:
    vault = BY_SYMBOL["yvUSDC-1"]
    row = await site.vault(VAULT_B, vault.address)
    total = await ask(site.node(), vault.address, "totalAssets()")
    assert row.tvl == pytest.approx(total / 10**6 * float(PRICES["USDC"]), rel=1e-12)
    assert row.updated_at.ToDatetime().replace(tzinfo=UTC) == PRICED_AT
    site.prices.by_symbol.clear()
    row = await site.vault(VAULT_B, vault.address)
    [listed] = [one for one in stand_in.listed("ethereum") if one["address"] == vault.address]
    assert row.tvl == pytest.approx(listed["tvl"], rel=1e-5)
    assert row.updated_at.ToDatetime().year == 2026
    row = await site.vault(VAULT_B, BY_SYMBOL["yvUSDT"].address)
    assert not row.HasField("tvl")
    balance = await site.balance(VAULT_B, vault.address, known.ALICE)
    assert (balance.balance.amounts["USDC"] > 0, balance.balance.HasField("usd")) == (True, False)


@pytest.mark.parametrize("symbol", ["yvUSDC-1", "yvDAI-1", "yvWETH-1", "yvUSDC", "yvDAI"])
async def test_a_balance_is_what_a_withdrawal_pays_out(site: Site, symbol: str) -> None:
    vault, node = BY_SYMBOL[symbol], site.node()
    row = await site.balance(VAULT_B, vault.address, known.ALICE)
    amount, unit = await paid_out(node, vault, known.ALICE)
    # V2 states a share's price with as many places as its asset has.
    places = 1e-7 if vault.is_v3 else 2 / unit
    assert dict(row.balance.amounts) == {vault.asset: pytest.approx(amount / unit, rel=max(places, 1e-8))}
    assert row.balance.usd == pytest.approx(row.balance.amounts[vault.asset] * float(PRICES[vault.asset]), rel=1e-12)


async def test_a_wallet_with_nothing_is_a_row_of_zeros(site: Site) -> None:
    for symbol in ("yvUSDC-1", "yvDAI"):
        row = await site.balance(VAULT_B, BY_SYMBOL[symbol].address, "0x00000000000000000000000000000000000bEEF1")
        assert (list(row.balance.amounts.values()), row.balance.HasField("usd"), row.balance.usd) == ([0.0], True, 0.0)


async def test_the_comparison_has_the_rows_that_the_operation_gives(site: Site, archive: int) -> None:
    rows = await site.best(VAULT_B)
    site.sent()
    assert set(rows) == {vault.address for vault in YEARN if vault.chain == "ethereum" and vault.is_listed}
    await site.best(VAULT_B)
    assert site.sent() == ["ethereum"]
    for pool, (row, symbols) in rows.items():
        single = await site.vault(VAULT_B, pool)
        assert row.apy == pytest.approx(single.apy, rel=1e-9)
        assert row.symbol == symbols[0]
        assert row.HasField("block_height") is (single.basis != AVERAGE)


async def test_the_comparison_without_older_state_leaves_rates_out(site: Site) -> None:
    rows = await site.best(VAULT_B)
    unrated = {BY_SYMBOL[symbol].address for symbol in ("yvUSDT-1", "yvDAI")}
    assert {pool for pool, found in rows.items() if math.isnan(found.row.apy)} == unrated


async def test_an_oracle_that_reports_nothing_says_no_rate(site: Site) -> None:
    vault, node = BY_SYMBOL["yvDAI-1"], site.node()
    async with rewound(node):
        await send(node, known.DEVELOPER, YEARN_APR_ORACLE, "set(address,uint256,uint256)", vault.address, 0, 0)
        await mine_at(node, await now(node) + 1)
        row: Any = await site.vault(VAULT_B, vault.address)
        assert not row.HasField("apy")


async def paid_out(node: Node, vault: YearnVault, holder: str) -> tuple[int, int]:
    """Return what a holder gets for all its shares, and the whole unit."""
    asset = address_of(vault.chain, vault.asset)
    async with rewound(node):
        before, shares = [await ask(node, one, "balanceOf(address)", holder) for one in (asset, vault.address)]
        if vault.is_v3:
            await send(node, holder, vault.address, "redeem(uint256,address,address)", shares, holder, holder)
        else:
            await send(node, holder, vault.address, "withdraw(uint256,address)", shares, holder)
        await mine_at(node, await now(node) + 1)
        after = await ask(node, asset, "balanceOf(address)", holder)
        return after - before, 10 ** await ask(node, asset, "decimals()", types="uint8")
