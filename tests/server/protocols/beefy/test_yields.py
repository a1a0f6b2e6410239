"""Yields of vault-a over the local chains: rates of its documents, balances against what a withdrawal pays out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from waypost.v1 import yield_protocol_pb2

from devnet import known
from devnet.known_vaults import BEEFY
from devnet.offchain import beefy as stand_in
from devnet.offchain.vault_figures import price_of
from server.errors import NotFound, UpstreamUnavailable
from server.yields import beefy
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send
from tests.server.protocols.vault_site import PRICED_AT, PRICES, VAULT_A, address_of, open_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.known_vaults import BeefyVault
    from devnet.launcher import Devnet
    from tests.server.protocols.vault_site import Site

pytestmark = pytest.mark.devnet

SPOT = yield_protocol_pb2.YIELD_BASIS_SPOT
NOBODY = "0x00000000000000000000000000000000000bEEF1"
ETHEREUM = [vault for vault in BEEFY if vault.chain == "ethereum"]
BY_KIND = {kind: next(vault for vault in ETHEREUM if vault.kind == kind) for kind in beefy.KINDS}
HOLDERS = {
    vault.id: next(one for one in vault.supplied if one in (known.ALICE, known.BOB)) for vault in BY_KIND.values()
}
READ = [vault for vault in BEEFY if vault.chain in ("ethereum", "polygon", "arbitrum")]
WITHDRAWALS = {
    "standard": ("withdraw(uint256)", lambda shares, _: (shares,)),
    "gov": ("withdraw(uint256)", lambda shares, _: (shares,)),
    "cowcentrated": ("withdraw(uint256,uint256,uint256)", lambda shares, _: (shares, 0, 0)),
    "erc4626": ("redeem(uint256,address,address)", lambda shares, holder: (shares, holder, holder)),
}


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet) -> AsyncIterator[Site]:
    async with open_site(devnet, "ethereum", "polygon", "arbitrum") as opened:
        yield opened


@pytest.mark.parametrize("vault", READ, ids=lambda one: one.id)
async def test_a_vaults_rate_and_value_are_those_of_the_documents(site: Site, vault: BeefyVault) -> None:
    row = await site.vault(VAULT_A, vault.id, vault.chain)
    rate = stand_in.rates().get(vault.id)
    if rate is None:
        assert (row.HasField("apy"), row.HasField("basis")) == (False, False)
    else:
        assert (row.apy, row.basis) == (pytest.approx(rate * 100, rel=1e-14), SPOT)
    assert row.tvl == pytest.approx(stand_in.value(vault, stand_in.moment()), rel=1e-5)
    assert not row.HasField("block_height")


async def test_rates_ask_no_chain_and_warm_ones_nothing(site: Site) -> None:
    await site.vault(VAULT_A, ETHEREUM[0].id)
    assert site.sent() == ["beefy"] * 3
    await site.vault(VAULT_A, ETHEREUM[1].id)
    await site.vault(VAULT_A, "uniswap-cow-poly-wbtc-usdc", "polygon")
    await site.best(VAULT_A)
    assert site.sent() == []


async def test_an_unknown_vault_names_the_nearest_and_another_chains_its_chain(site: Site) -> None:
    for pool, chain, words in (
        ("morpho-v2-ethereum-steakhouse-prime-usd", "ethereum", "nearest are morpho-v2-ethereum-steakhouse-prime-usd"),
        ("morpho-arb-steakhouse-usdc", "ethereum", "is on arbitrum, not on ethereum"),
        (stand_in.ELSEWHERE, "ethereum", "is on fantom, not on ethereum"),
        ("x" * 100, "polygon", "no such pool of vault-a on polygon$"),
    ):
        for asked in (site.vault(VAULT_A, pool, chain), site.balance(VAULT_A, pool, known.ALICE, chain)):
            with pytest.raises(NotFound, match=words) as refused:
                await asked
            assert refused.value.field == "pool"


@pytest.mark.parametrize("kind", beefy.KINDS)
async def test_a_balance_is_what_a_withdrawal_pays_out(site: Site, kind: str) -> None:
    """Withdraw on a snapshot, a second after the block that was read: so long does it grow in between."""
    vault, node = BY_KIND[kind], site.node()
    holder = HOLDERS[vault.id]
    row = await site.balance(VAULT_A, vault.id, holder)
    assert row.block_height == int(await node.call("eth_blockNumber"), 16)
    paid = await paid_out(node, vault, holder)
    amounts = dict(row.balance.amounts)
    assert set(amounts) == set(paid)
    for symbol, (amount, unit) in paid.items():
        assert amounts[symbol] * unit == pytest.approx(amount, rel=1e-7, abs=1)
        assert amounts[symbol] > 0
    if kind == "cowcentrated":
        # At the gateway's own prices, whose time is the oldest.
        usd = sum(amounts[symbol] * float(PRICES[symbol]) for symbol in amounts)
        assert row.updated_at.ToDatetime().replace(tzinfo=PRICED_AT.tzinfo) == PRICED_AT
    else:
        [amount] = amounts.values()
        usd = amount * (stand_in.token_prices() | stand_in.pool_prices())[vault.wants[0]]
        assert row.updated_at.ToDatetime().year == 2026
    assert row.balance.usd == pytest.approx(usd, rel=1e-12)


@pytest.mark.parametrize("kind", beefy.KINDS)
async def test_a_wallet_with_nothing_is_a_row_of_zeros(site: Site, kind: str) -> None:
    vault = BY_KIND[kind]
    row = await site.balance(VAULT_A, vault.id, NOBODY)
    assert len(row.balance.amounts) == len(vault.wants)
    assert set(row.balance.amounts.values()) == {0.0}
    assert (row.balance.HasField("usd"), row.balance.usd) == (True, 0.0)


async def test_a_warm_balance_is_one_request(site: Site) -> None:
    await site.balance(VAULT_A, ETHEREUM[0].id, known.ALICE)
    assert site.sent() == ["beefy"] * 3 + ["ethereum"]
    for vault in ETHEREUM:
        await site.balance(VAULT_A, vault.id, known.VITALIK)
        assert site.sent() == ["ethereum"]


async def test_without_its_own_prices_a_balance_has_the_gateways_or_none(site: Site) -> None:
    site.documents.failing = {beefy.TOKEN_PRICES}
    vault = BY_KIND["standard"]
    row = await site.balance(VAULT_A, vault.id, known.ALICE)
    assert row.balance.usd == pytest.approx(row.balance.amounts["USDC"] * float(PRICES["USDC"]), rel=1e-12)
    site.prices.by_symbol.clear()
    row = await site.balance(VAULT_A, vault.id, known.ALICE)
    assert (row.balance.amounts["USDC"] > 0, row.balance.HasField("usd")) == (True, False)
    row = await site.balance(VAULT_A, BY_KIND["cowcentrated"].id, known.ALICE)
    assert (len(row.balance.amounts), row.balance.HasField("usd")) == (2, False)


@pytest.mark.parametrize("rpc", ["vault", "balance", "best"])
async def test_which_document_each_answer_needs(site: Site, rpc: str) -> None:
    """Without the document of values the rate is answered; without the list or the rates there is no answer."""
    vault = ETHEREUM[0]

    async def answer() -> object:
        if rpc == "balance":
            return await site.balance(VAULT_A, vault.id, known.ALICE)
        return await (site.vault(VAULT_A, vault.id) if rpc == "vault" else site.best(VAULT_A))

    needed = {beefy.VAULTS} if rpc == "balance" else {beefy.VAULTS, beefy.RATES}
    for request in (beefy.VAULTS, beefy.RATES, beefy.VALUES, beefy.POOL_PRICES):
        site.documents.failing = {request}
        if request in needed:
            with pytest.raises(UpstreamUnavailable, match="beefy is away"):
                await answer()
        else:
            await answer()
    if rpc == "vault":
        site.documents.failing = {beefy.VALUES}
        row = await site.vault(VAULT_A, vault.id)
        assert (row.HasField("tvl"), row.HasField("apy")) == (False, True)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("limited", "no endpoint of beefy answered: stand-in: throttled"),
        ("half", "beefy"),
        ("renamed", "earnContractAddress"),
    ],
)
async def test_a_source_that_misbehaves_is_no_answer(devnet: Devnet, mode: str, words: str) -> None:
    async with open_site(devnet, "ethereum", mode=mode) as site:
        for asked in (site.vault(VAULT_A, ETHEREUM[0].id), site.balance(VAULT_A, ETHEREUM[0].id, known.ALICE)):
            with pytest.raises(UpstreamUnavailable, match=words):
                await asked


async def test_the_comparison_has_the_rows_that_the_operation_gives(site: Site) -> None:
    rows = await site.best(VAULT_A)
    assert set(rows) == {vault.id for vault in ETHEREUM if vault.status == "active"}
    for pool, (row, symbols) in rows.items():
        single = await site.vault(VAULT_A, pool)
        assert (row.apy, row.tvl) == (single.apy, single.tvl) or (math.isnan(row.apy) and not single.HasField("apy"))
        assert row.symbol == "-".join(symbols)
    assert rows[BY_KIND["gov"].id].symbols == ("WBTC", "WETH")
    assert math.isnan(rows["morpho-v2-ethereum-steakhouse-prime-usdt"].row.apy)


async def test_a_document_that_has_not_changed_is_not_sent_again(site: Site) -> None:
    """By its ETag; what is kept is the same object, so what was made of it stays."""
    source = site.documents.store._sources[beefy.NAME]
    for request in (beefy.VAULTS, beefy.RATES, beefy.TOKEN_PRICES):
        first = await source.fetch(request.key, None)
        assert first.validators is not None
        again = await source.fetch(request.key, first)
        assert (again.value is first.value, again.validators) == (True, first.validators)
    assert site.sent() == ["beefy"] * 6


async def paid_out(node: Node, vault: BeefyVault, holder: str) -> dict[str, tuple[int, int]]:
    """Return what a holder gets for all its shares, by symbol with the whole unit."""
    signature, arguments = WITHDRAWALS[vault.kind]
    other = next((one for one in BEEFY if one.id == vault.wants[0]), None)
    wants = {other.address: f"cow-{other.id}"} if other else {address_of("ethereum", one): one for one in vault.wants}
    async with rewound(node):
        before = {token: await balance(node, token, holder) for token in wants}
        shares = await balance(node, vault.address, holder)
        await send(node, holder, vault.address, signature, *arguments(shares, holder))
        await mine_at(node, await now(node) + 1)
        after = {token: await balance(node, token, holder) for token in wants}
        units = {token: 10 ** await ask(node, token, "decimals()", types="uint8") for token in wants}
    return {symbol: (after[token] - before[token], units[token]) for token, symbol in wants.items()}


async def balance(node: Node, token: str, holder: str) -> int:
    return int(await ask(node, token, "balanceOf(address)", holder))


def test_prices_of_the_test_are_not_those_of_the_stand_in() -> None:
    assert all(float(price) != price_of(symbol) for symbol, price in PRICES.items())
