"""Nodes of older versions of the SDK: reported by what they say of themselves, asked in the ways that they have."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address
from runtime.settings import Settings
from server.chains.capabilities.accounts import ReadsHoldings
from server.chains.cosmos.answers import SdkVersion
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import NotFound, NotSupported
from server.upstream import open_session
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from devnet.cosmos.process import CosmosChains

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE = address(HUB, known.ALICE)
BANK = "/cosmos/bank/v1beta1"
NODE_INFO = "/cosmos/base/tendermint/v1beta1/node_info"
LACKING = {"code": 12, "message": "Not Implemented", "details": []}


@asynccontextmanager
async def old_node(
    model: CosmosChains, http: aiohttp.ClientSession, version: str
) -> AsyncIterator[tuple[Any, list[str]]]:
    """Yield a driver on a relay that speaks as older nodes do, and the paths that it was asked for."""
    target, asked = model.endpoints["cosmoshub"][0].url, []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        path, minor = request.path, int(version.split(".")[1])
        if path.endswith("node_info"):
            told = {"default_node_info": {"network": HUB.chain_id}}
            return web.json_response(told | {"application_version": {"cosmos_sdk_version": version}})
        if path == f"{BANK}/denoms_metadata_by_query_string" and minor < 50:
            return web.json_response(LACKING, status=501)
        if path == f"{BANK}/supply/by_denom" and minor < 46:
            return web.json_response(LACKING, status=501)
        if path.startswith(f"{BANK}/denoms_metadata/") and "/" in path.removeprefix(f"{BANK}/denoms_metadata/"):
            return web.json_response(LACKING, status=501)
        url = target + path + ("?" + request.query_string if request.query_string else "")
        if path.startswith(f"{BANK}/supply/") and not path.endswith("by_denom"):
            url = f"{target}{BANK}/supply/by_denom?denom={path.rsplit('/', 1)[1]}"
        async with http.get(url) as response:
            body, status = await response.read(), response.status
        if "/delegations/" in path and b'"delegation_responses": []' in body:
            words = f"unable to find delegations for address {path.rsplit('/', 1)[1]}"
            return web.json_response({"code": 5, "message": words, "details": []}, status=404)
        return web.Response(status=status, body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with serve_app(app) as url, open_session() as session:
        endpoints = [{"label": "old", "url": url, "kind": "rest"}]
        settings = {"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}}
        chains = Chains.load(Settings.model_validate(settings), session)
        yield Operations(chains.get("cosmoshub")), asked
        await chains.close()


@pytest.mark.parametrize(
    ("version", "metadata", "supply"),
    [
        ("v0.45.16", [f"{BANK}/denoms_metadata/uatom"], [f"{BANK}/supply/uatom"]),
        ("v0.47.5", [f"{BANK}/denoms_metadata/uatom"], [f"{BANK}/supply/by_denom"]),
        ("v0.50.14-noble", [f"{BANK}/denoms_metadata_by_query_string"], [f"{BANK}/supply/by_denom"]),
    ],
)
async def test_the_way_that_a_version_has_is_asked_first(
    model: CosmosChains, plain: aiohttp.ClientSession, version: str, metadata: list[str], supply: list[str]
) -> None:
    async with old_node(model, plain, version) as (driver, asked):
        await driver.read_height(ReadView())
        asked.clear()
        found = await driver.read_token_metadata(HUB.denom, ReadView())
        assert (found.cosmos.metadata.symbol, asked) == ("ATOM", metadata)
        asked.clear()
        assert (await driver.read_supply(HUB.denom, ReadView())).denom == HUB.denom
        assert asked == supply


async def test_no_version_reported_means_the_newest_and_the_other_way_is_tried(
    model: CosmosChains, plain: aiohttp.ClientSession
) -> None:
    async with old_node(model, plain, "(devel).47") as (driver, asked):
        assert (await driver.read_token_metadata(HUB.denom, ReadView())).cosmos.metadata.symbol == "ATOM"
        assert driver.of(ReadsHoldings)._nodes.version.reported is None
        assert asked[-2:] == [f"{BANK}/denoms_metadata_by_query_string", f"{BANK}/denoms_metadata/uatom"]
        # Neither way takes a denom with slashes there.
        with pytest.raises(NotSupported):
            await driver.read_token_metadata(known.IBC_DENOM, ReadView())
        held = await driver.read_token_balance(ALICE, known.IBC_DENOM, ReadView())
        assert (held.raw, held.decimals) == (known.IBC_HELD, None)


@pytest.mark.parametrize("denom", ["a/../../../auth/v1beta1/accounts", "aa/./b", "xx/.."])
async def test_no_denom_leads_to_another_route(model: CosmosChains, plain: aiohttp.ClientSession, denom: str) -> None:
    async with old_node(model, plain, "v0.45.16") as (driver, asked):
        for read in (driver.read_token_metadata(denom, ReadView()), driver.read_supply(denom, ReadView())):
            with pytest.raises(NotSupported):
                await read
        assert set(asked) <= {NODE_INFO, f"{BANK}/denoms_metadata_by_query_string", f"{BANK}/supply/by_denom"}


async def test_not_found_means_no_delegations(model: CosmosChains, plain: aiohttp.ClientSession) -> None:
    async with old_node(model, plain, "v0.42.4") as (driver, _):
        assert await driver.read_delegations(address(HUB, known.UNTOUCHED), ReadView()) == []
        assert len(await driver.read_delegations(ALICE, ReadView())) == 2
        with pytest.raises(NotFound):
            await driver.read_account(address(HUB, known.UNTOUCHED), ReadView())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"application_version":{"cosmos_sdk_version":"v0.53.8"}}', (0, 53)),
        ('{"application_version":{"cosmos_sdk_version":"0.47.17-ics-lsm"}}', (0, 47)),
        ('{"application_version":{"cosmos_sdk_version":"v1.0"}}', (1, 0)),
        ('{"application_version":{"cosmos_sdk_version":""}}', None),
        ('{"application_version":{"cosmos_sdk_version":5}}', None),
        ('{"application_version":null}', None),
        ("{}", None),
        ("nothing", None),
    ],
)
def test_what_nodes_say_of_their_version(text: str, told: tuple[int, int] | None) -> None:
    version = SdkVersion()
    version.learn(text.encode())
    assert version.reported == told
    version.learn(b'{"application_version":{"cosmos_sdk_version":"v0.50.1"}}')
    version.learn(text.encode())
    assert version.reported == (told or (0, 50))
    assert version.is_before(99, 0)
    assert not SdkVersion().is_before(99, 0)
