"""Denoms that their makers describe in ways that nobody can show amounts by."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import NotSupported
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
GOLD = f"factory/{ALICE}/{known.FACTORY_SUBDENOM}"


@asynccontextmanager
async def described(model: CosmosChains, http: aiohttp.ClientSession, exponent: int) -> AsyncIterator[Any]:
    """Yield a driver on a node whose metadata shows amounts of that exponent."""
    target = model.endpoints["cosmoshub"][0].url.rstrip("/")

    async def answer(request: web.Request) -> web.Response:
        if "denoms_metadata" in request.path:
            units = [
                {"denom": GOLD, "exponent": 0, "aliases": []},
                {"denom": "gold", "exponent": exponent, "aliases": []},
            ]
            reported = {"base": GOLD, "denom_units": units, "display": "gold", "name": "Gold", "symbol": "GOLD"}
            return web.json_response({"metadata": reported})
        async with http.get(target + request.path_qs) as response:
            kept = {name: value for name, value in response.headers.items() if name.lower().startswith("grpc-metadata")}
            return web.Response(status=response.status, body=await response.read(), headers=kept)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with serve_app(app) as url, open_session() as session:
        chain = {"endpoints": [{"label": "one", "url": url, "kind": "rest"}]}
        chains = Chains.load(Settings.model_validate({"profile": "devnet", "chains": {"cosmoshub": chain}}), session)
        yield Operations(chains.get("cosmoshub"))
        await chains.close()


@pytest.mark.parametrize(("exponent", "decimals"), [(0, 0), (6, 6), (255, 255), (256, None), (2**32 - 1, None)])
async def test_exponents_of_no_token_show_no_amount(
    model: CosmosChains, plain: aiohttp.ClientSession, exponent: int, decimals: int | None
) -> None:
    async with described(model, plain, exponent) as driver:
        balance = await driver.read_token_balance(ALICE, GOLD, ReadView())
    assert (balance.raw, balance.decimals) == (known.FACTORY_HELD, decimals)


async def test_what_is_described_is_answered_as_far_as_it_can_be(
    model: CosmosChains, plain: aiohttp.ClientSession
) -> None:
    async with described(model, plain, 2**31 - 1) as driver:
        reported = (await driver.read_token_metadata(GOLD, ReadView())).cosmos.metadata
    assert [unit.exponent for unit in reported.denom_units] == [0, 2**31 - 1]
    async with described(model, plain, 2**31) as driver:
        with pytest.raises(NotSupported) as refused:
            await driver.read_token_metadata(GOLD, ReadView())
    assert refused.value.field == "address"
