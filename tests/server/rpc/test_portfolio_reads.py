"""What a portfolio costs in requests, and what dead, silent and lying chains do to it."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs
from waypost.v1 import portfolio_pb2

from devnet import known, known_bitcoin, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS as COSMOS
from devnet.cosmos.world import address as cosmos_address
from devnet.evm.world import load_world
from runtime.settings import Settings
from server.catalog.tokens import TokenCatalogue, load_tokens
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.capabilities.blocks import ReadsHealth
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import DeadlineExceeded, InvalidArgument, UpstreamUnavailable
from server.portfolio import ChainAssets, ChainFailure, Portfolio, Wallet
from server.prices import Prices
from server.upstream import open_session
from server.upstream.transport import PrometheusObserver
from tests.e2e.gateway import run_gateway
from tests.faults import simulator as faults
from tests.server.rpc.conftest import OPERATIONS, unchanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

WORLD = load_world()
CATALOGUE = load_tokens()
ATOM_ALICE = cosmos_address(COSMOS["cosmoshub"], known_cosmos.ALICE)


class Tally(PrometheusObserver):
    """Lists the requests that callers cause: chain and number of calls."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, int]] = []

    def sent(self, chain: str, endpoint: str, purpose: str, calls: int) -> None:
        if purpose in ("call", "heavy"):
            self.requests.append((chain, calls))


@asynccontextmanager
async def opened(settings: dict[str, Any], tally: Tally | None = None) -> AsyncIterator[Chains]:
    """The gateway's chains without a cache; every endpoint has proved which chain it is of."""
    tally = tally or Tally()
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(settings), http, observer=tally)
        await asyncio.gather(*(chain.capability(ReadsHealth).read_health() for chain in chains if chain.endpoints))
        tally.requests.clear()
        yield chains
        await chains.close()


def unpriced(chains: Chains) -> Portfolio:
    """A portfolio whose prices have no source at all."""
    return Portfolio(chains, CATALOGUE, Prices([]))


def only(devnet: Devnet, *slugs: str) -> dict[str, Any]:
    """The settings of some of the local chains."""
    settings = devnet.settings_overrides()
    return settings | {"chains": {slug: settings["chains"][slug] for slug in slugs}}


def soon() -> float:
    return time.monotonic() + 10


def on_chain(wallet: Wallet, slug: str) -> ChainAssets:
    row = next(row for row in wallet.rows if row.chain == slug)
    assert isinstance(row, ChainAssets), row
    return row


async def test_every_evm_chain_is_read_in_one_request(full_devnet: Devnet):
    tally = Tally()
    async with opened(full_devnet.settings_overrides(), tally) as chains:
        portfolio = unpriced(chains)
        wallet = await portfolio.read(known.VITALIK, [], soon())
        assert sorted(tally.requests) == sorted((slug, 1) for slug in WORLD)
        tally.requests.clear()
        again = await portfolio.read(known.VITALIK, [], soon())
        assert sorted(tally.requests) == sorted((slug, 1) for slug in WORLD)
    assert [row.chain for row in wallet.rows] == list(WORLD)
    assert again.rows == wallet.rows
    for slug, chain in WORLD.items():
        row = on_chain(wallet, slug)
        held = {asset.address: (asset.raw, asset.decimals, asset.symbol) for asset in row.assets}
        expected = {
            token.address: (known.vitalik_at_head(token), token.decimals, token.symbol) for token in chain.tokens
        }
        assert (expected | {"native": (known.NATIVE_AT_HEAD, 18, chain.native)}).items() <= held.items(), slug
        assert row.block == int(await full_devnet.nodes[slug].call("eth_blockNumber"), 16)
        assert (row.unpriced, row.total) == (len(held), 0)


async def test_wallets_that_are_read_at_once_share_their_requests(full_devnet: Devnet):
    tally = Tally()
    async with opened(only(full_devnet, "ethereum", "base"), tally) as chains:
        portfolio = unpriced(chains)
        wallets = [known.VITALIK, known.ALICE, known.BOB, known.UNTOUCHED]
        # The first tells the decimals, which every later one would ask for again.
        await portfolio.read(known.VITALIK, ["ethereum", "base"], soon())
        tally.requests.clear()
        read = await asyncio.gather(*(portfolio.read(one, ["ethereum", "base"], soon()) for one in wallets))
    # What goes beyond 200 calls is a second execution in the same request.
    assert sorted(chain for chain, _ in tally.requests) == ["base", "ethereum"]
    assert [wallet.address for wallet in read] == wallets
    usdc = WORLD["ethereum"].token("USDC").address
    amounts = [{asset.address: asset.raw for asset in on_chain(wallet, "ethereum").assets} for wallet in read]
    assert amounts[0][usdc] == known.vitalik_at_head(WORLD["ethereum"].token("USDC"))
    assert len({held[usdc] for held in amounts[:3]}) == 3
    assert amounts[3] == {}


async def test_solana_is_found_by_the_form_of_the_address_and_read_in_one_request(full_devnet: Devnet):
    tally, alice = Tally(), str(known_solana.ALICE)
    async with opened(only(full_devnet, "solana"), tally) as chains:
        wallet = await unpriced(chains).read(alice, [], soon())
    assert tally.requests == [("solana", 4)]
    assert ([row.chain for row in wallet.rows], wallet.address) == (["solana"], alice)
    assert {asset.address: asset.raw for asset in on_chain(wallet, "solana").assets} == {
        "native": known_solana.ALICE_LAMPORTS,
        str(known_solana.USDC): sum(known_solana.ALICE_USDC),
        str(known_solana.WRAPPED_SOL): known_solana.ALICE_WRAPPED,
    }


@pytest.mark.parametrize("address", [known_bitcoin.P2SH, known_bitcoin.P2PKH, known_bitcoin.P2WSH, known_bitcoin.P2TR])
async def test_bitcoin_costs_what_a_balance_costs(full_devnet: Devnet, address: str):
    tally = Tally()
    async with opened(only(full_devnet, "bitcoin"), tally) as chains:
        reader = chains.capability("bitcoin", ReadsBalances)
        # The first read learns what every later one knows: whether the indexer follows the nodes' chain.
        await reader.read_balance(address, ReadView())
        tally.requests.clear()
        await reader.read_balance(address, ReadView())
        asked, tally.requests = tally.requests, []
        wallet = await unpriced(chains).read(address, [], soon())
    assert tally.requests == asked
    assert asked
    assert ([row.chain for row in wallet.rows], wallet.address) == (["bitcoin"], address)
    held = {asset.address: asset.raw for asset in on_chain(wallet, "bitcoin").assets}
    raw = known_bitcoin.CONFIRMED[address]
    assert held == ({"native": raw} if raw else {})


async def test_cosmos_denoms_come_in_one_request_and_unknown_ones_are_passed_over(full_devnet: Devnet):
    tally = Tally()
    async with opened(only(full_devnet, "cosmoshub", "osmosis"), tally) as chains:
        wallet = await unpriced(chains).read(ATOM_ALICE, [], soon())
        assert tally.requests == [("cosmoshub", 1)]
        osmo = await unpriced(chains).read(cosmos_address(COSMOS["osmosis"], known_cosmos.ALICE), [], soon())
    [atom] = on_chain(wallet, "cosmoshub").assets
    assert (atom.symbol, atom.address, atom.decimals) == ("ATOM", "uatom", 6)
    # The same hash is a form of ATOM on osmosis, and nothing that the gateway knows on the hub.
    bridged = {asset.address: (asset.symbol, asset.raw) for asset in on_chain(osmo, "osmosis").assets}
    assert bridged[known_cosmos.IBC_DENOM] == ("ATOM", known_cosmos.IBC_HELD)
    assert set(bridged) == {"uosmo", known_cosmos.IBC_DENOM}


async def test_decimals_are_the_contracts_own_and_the_lists_only_where_it_has_none(full_devnet: Devnet):
    """A list that says other decimals than the contracts changes nothing but for the contract that says none."""
    usdc = CATALOGUE.by_symbol["USDC"]
    odd = [
        replace(row, decimals=2, address=known.WHOLE_TOKEN if row.form else row.address)
        for row in usdc.deployments
        if row.chain == "gnosis"
    ]
    others = [token for token in CATALOGUE if token is not usdc]
    catalogue = TokenCatalogue([*others, replace(usdc, deployments=tuple(odd))])
    async with opened(only(full_devnet, "gnosis")) as chains:
        wallet = await Portfolio(chains, catalogue, Prices([])).read(known.VITALIK, ["gnosis"], soon())
    rows = {asset.address: asset for asset in on_chain(wallet, "gnosis").assets}
    bridged = WORLD["gnosis"].token("USDC.e")
    assert (rows[bridged.address].decimals, rows[bridged.address].raw) == (6, known.vitalik_at_head(bridged))
    assert (rows[known.WHOLE_TOKEN].decimals, rows[known.WHOLE_TOKEN].raw) == (2, known.ODD_BALANCE)


@pytest.mark.parametrize(
    ("change", "is_there"),
    [
        ({}, True),
        ({"unverified": "decimals"}, True),
        ({"unverified": "address"}, False),
        ({"mirrors_native": True}, False),
    ],
)
async def test_doubtful_addresses_and_mirrors_of_the_coin_are_not_looked_for(
    full_devnet: Devnet, change: dict[str, Any], is_there: bool
):
    link = CATALOGUE.by_symbol["LINK"]
    rows = tuple(replace(row, **change) if row.chain == "gnosis" else row for row in link.deployments)
    others = [token for token in CATALOGUE if token is not link]
    catalogue = TokenCatalogue([*others, replace(link, deployments=rows)])
    async with opened(only(full_devnet, "gnosis")) as chains:
        wallet = await Portfolio(chains, catalogue, Prices([])).read(known.VITALIK, ["gnosis"], soon())
    held = {asset.symbol for asset in on_chain(wallet, "gnosis").assets}
    assert ("LINK" in held, "USDT" in held) == (is_there, True)


@pytest.mark.parametrize(
    ("code", "is_unread"),
    [("5f5ffd", True), ("60015f5260105ff3", True), ("5b5f56", True), ("60015f52", False), ("", False)],
    ids=["reverts", "returns half a word", "burns its gas", "returns nothing", "no code"],
)
async def test_a_token_that_tells_no_balance_is_named_and_not_taken_for_nothing(
    full_devnet: Devnet, code: str, is_unread: bool
):
    usdt = WORLD["gnosis"].token("USDT").address
    async with unchanged(full_devnet, "gnosis") as node, opened(only(full_devnet, "gnosis")) as chains:
        await node.call("anvil_setCode", usdt, "0x" + code)
        row = on_chain(await unpriced(chains).read(known.VITALIK, ["gnosis"], soon()), "gnosis")
    assert row.unread == ((usdt,) if is_unread else ())
    held = {asset.address for asset in row.assets}
    assert (usdt in held, WORLD["gnosis"].token("USDC.e").address in held, "native" in held) == (False, True, True)


async def test_a_dead_chain_hides_no_other_and_is_no_empty_success(full_devnet: Devnet):
    async with opened(only(full_devnet, "ethereum", "base")) as chains:
        with capture_logs() as logs:
            wallet = await unpriced(chains).read(known.VITALIK, ["ethereum", "scroll", "base"], soon())
    first, dead, last = wallet.rows
    assert isinstance(first, ChainAssets)
    assert isinstance(last, ChainAssets)
    assert isinstance(dead, ChainFailure)
    assert (dead.chain, type(dead.error)) == ("scroll", UpstreamUnavailable)
    assert [line["chain"] for line in logs if line["event"] == "chain missing in a portfolio"] == ["scroll"]


async def test_when_no_chain_answers_the_call_fails(full_devnet: Devnet):
    async with opened(only(full_devnet)) as chains:
        with pytest.raises(UpstreamUnavailable):
            await unpriced(chains).read(known.VITALIK, [], soon())


async def test_a_silent_chain_costs_its_own_row_and_not_the_deadline(full_devnet: Devnet):
    settings = only(full_devnet, "ethereum", "polygon")
    silent = faults.FaultyNode(settings["chains"]["polygon"]["endpoints"][0]["url"])
    await silent.start()
    settings["chains"]["polygon"]["endpoints"][0]["url"] = silent.url
    async with opened(settings) as chains:
        silent.fault = faults.silence
        started = time.monotonic()
        wallet = await unpriced(chains).read(known.VITALIK, ["polygon", "ethereum"], started + 4)
        assert time.monotonic() - started < 4
    await silent.close()
    failed, read = wallet.rows
    assert isinstance(failed, ChainFailure)
    assert isinstance(failed.error, DeadlineExceeded | UpstreamUnavailable)
    assert isinstance(read, ChainAssets)


@pytest.mark.parametrize("answer", ["0x", "not hex", "0x" + "ff" * 320, 7, None, {"data": "0x"}])
async def test_a_node_that_answers_nonsense_is_a_failure_and_no_empty_wallet(full_devnet: Devnet, answer: Any):
    settings = only(full_devnet, "ethereum", "monad")
    node = faults.FaultyNode(settings["chains"]["monad"]["endpoints"][0]["url"])
    await node.start()

    async def lie(request: faults.Request) -> None:
        calls = json.loads(request.body)
        rows = [
            {"jsonrpc": "2.0", "id": one["id"], "result": answer}
            for one in (calls if request.asked.is_batch else [calls])
        ]
        faults.write_answer(request, json.dumps(rows if request.asked.is_batch else rows[0]).encode())

    settings["chains"]["monad"]["endpoints"][0]["url"] = node.url
    async with opened(settings) as chains:
        node.fault = lie
        node.asked.clear()
        wallet = await unpriced(chains).read(known.VITALIK, ["ethereum", "monad"], soon())
    await node.close()
    assert node.asked
    assert isinstance(wallet.rows[0], ChainAssets)
    assert isinstance(wallet.rows[1], ChainFailure), wallet.rows[1]
    assert node.url not in wallet.rows[1].error.message


@pytest.mark.parametrize(
    ("address", "chains_named", "field", "words"),
    [
        ("0x1234", [], "address", "no chain has addresses of that form"),
        (known.VITALIK[:-1] + "6", [], "address", "no chain has addresses of that form"),
        (known.VITALIK, ["base", "solana"], "address", "asked of solana"),
        (str(known_solana.ALICE), ["ethereum"], "address", "asked of ethereum"),
        (ATOM_ALICE, ["osmosis"], "address", "begins with `osmo1`"),
        (known.VITALIK, ["base", "scroll", "base"], "chains[2]", "base is named twice"),
    ],
)
async def test_mistakes_of_the_caller_refuse_the_whole_call(
    full_devnet: Devnet, address: str, chains_named: list[str], field: str, words: str
):
    tally = Tally()
    async with opened(only(full_devnet), tally) as chains:
        with pytest.raises(InvalidArgument) as caught:
            await unpriced(chains).read(address, chains_named, soon())
    assert caught.value.field == field
    assert words in caught.value.message
    assert tally.requests == []


def without_coin(slug: str) -> TokenCatalogue:
    """The catalogue as it is for a chain whose coin nobody has listed."""
    return TokenCatalogue(
        replace(token, deployments=tuple(row for row in token.deployments if (row.chain, row.kind) != (slug, "coin")))
        for token in CATALOGUE
    )


async def test_a_coin_that_no_catalogue_lists_is_a_row_without_a_price(
    full_devnet: Devnet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Over both faces; the chain's other rows, and the other chain, are what they are otherwise."""
    monkeypatch.setattr("server.rpc.portfolio.load_tokens", lambda: without_coin("moonbeam"))
    settings = Settings.model_validate(
        only(full_devnet, "moonbeam", "ethereum")
        | {"storage": {"url": f"sqlite:///{tmp_path}/keys.db"}, "grpc": {"port": 0}}
    )
    asked = {"address": known.VITALIK, "chains": ["moonbeam", "ethereum"]}
    async with run_gateway(settings) as running:
        moonbeam, ethereum = (await running.ask("getPortfolio", asked))["result"]["data"]["chains"]
        request = portfolio_pb2.GetPortfolioRequest(**asked)
        typed = await running.ask_grpc(OPERATIONS["getPortfolio"], request)
    assert (moonbeam["status"], ethereum["status"]) == ("ok", "ok")
    [coin] = [asset for asset in moonbeam["assets"] if asset["address"] == "native"]
    assert (coin["symbol"], coin["name"], coin["balanceRaw"]) == ("GLMR", "GLMR", str(known.NATIVE_AT_HEAD))
    assert (coin["priceUsd"], coin["valueUsd"], coin["decimals"]) == (None, None, 18)
    assert any(asset["priceUsd"] for asset in moonbeam["assets"])
    assert moonbeam["unpriced"] >= 1
    [same] = [asset for asset in typed.chains[0].value.assets if asset.address == "native"]
    assert (same.symbol, same.balance_raw, same.HasField("price_usd")) == ("GLMR", coin["balanceRaw"], False)
    assert any(asset["address"] == "native" and asset["priceUsd"] for asset in ethereum["assets"])
