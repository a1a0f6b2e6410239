"""Documents in good form that are of something else than was asked for: another endpoint is asked."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

    from devnet.cosmos.process import CosmosChains

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
SENT, FAILED = HUB.first + known.SENT_AT, HUB.first + known.FAILED_AT


class Mixed:
    """Leads the first `often` requests for `wanted` to another document, those of each part of the node."""

    def __init__(self, wanted: str, other: str, often: int = 1) -> None:
        self.wanted, self.other, self.often = wanted, other, often
        self.asked: list[str] = []

    def lead(self, part: str, text: str) -> str:
        if self.wanted not in text:
            return text
        self.asked.append(part)
        return text.replace(self.wanted, self.other) if self.asked.count(part) <= self.often else text


@asynccontextmanager
async def front(target: str, plain: aiohttp.ClientSession, mixed: Mixed) -> AsyncIterator[str]:
    async def serve(request: web.Request) -> web.Response:
        path = mixed.lead(request.path.rpartition("/")[0], request.path_qs)
        body = mixed.lead("results", await request.text())
        kind = {"content-type": "application/json"}
        async with plain.request(request.method, target + path, data=body or None, headers=kind) as got:
            return web.Response(status=got.status, body=await got.read(), content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", serve)
    async with serve_app(app) as url:
        yield url


@asynccontextmanager
async def drive(
    model: CosmosChains, plain: aiohttp.ClientSession, mixed: Mixed, machines: int
) -> AsyncIterator[Operations]:
    """The gateway's driver on so many machines, all of them behind the same mix-up."""
    async with AsyncExitStack() as stack:
        endpoints = []
        for number in range(machines):
            for one in model.endpoints["cosmoshub"]:
                url = await stack.enter_async_context(front(one.url.rstrip("/"), plain, mixed))
                endpoints.append({"label": f"{one.kind}{number}", "url": url, "kind": one.kind})
        settings = Settings.model_validate({"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}})
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(settings, http)
        stack.push_async_callback(chains.close)
        driver: Any = Operations(chains.get("cosmoshub"))
        yield driver


@pytest.mark.parametrize("what", ["read_block_by_number", "read_block_transactions", "read_block_results"])
async def test_another_block_is_not_believed(
    driver: Operations, model: CosmosChains, plain: aiohttp.ClientSession, what: str
) -> None:
    right = await getattr(driver, what)(SENT, ReadView())
    # Each of the two blocks has one transaction: nothing but its height tells them apart.
    mixed = Mixed(str(SENT), str(FAILED))
    async with drive(model, plain, mixed, 2) as two:
        assert await getattr(two, what)(SENT, ReadView()) == right
    assert {mixed.asked.count(part) for part in mixed.asked} == {2}
    async with drive(model, plain, Mixed(str(SENT), str(FAILED), 9), 1) as alone:
        with pytest.raises(UpstreamUnavailable):
            await getattr(alone, what)(SENT, ReadView())


@pytest.mark.parametrize("what", ["read_transaction", "read_receipt"])
async def test_another_transaction_is_not_believed(
    driver: Operations, model: CosmosChains, plain: aiohttp.ClientSession, what: str
) -> None:
    wanted, other = [
        (await driver.read_block_transactions(number, ReadView())).cosmos.transactions[0].txhash
        for number in (SENT, FAILED)
    ]
    mixed = Mixed(wanted, other)
    async with drive(model, plain, mixed, 2) as two:
        assert await getattr(two, what)(wanted, ReadView()) == await getattr(driver, what)(wanted, ReadView())
    assert len(mixed.asked) == 2
    async with drive(model, plain, Mixed(wanted, other, 9), 1) as alone:
        with pytest.raises(UpstreamUnavailable):
            await getattr(alone, what)(wanted, ReadView())


ALICE, BOB, VESTER = (address(HUB, name) for name in (known.ALICE, known.BOB, known.VESTER))
OTHERS: dict[str, tuple[str, str, Callable[[Operations], Awaitable[Any]]]] = {
    "balance": (
        HUB.denom,
        quote(known.IBC_DENOM),
        lambda driver: driver.read_token_balance(ALICE, HUB.denom, ReadView()),
    ),
    "supply": (HUB.denom, quote(known.IBC_DENOM), lambda driver: driver.read_supply(HUB.denom, ReadView())),
    "metadata": (
        HUB.denom,
        quote(f"factory/{ALICE}/{known.FACTORY_SUBDENOM}"),
        lambda driver: driver.read_token_metadata(HUB.denom, ReadView()),
    ),
    "account": (BOB, ALICE, lambda driver: driver.read_account(BOB, ReadView())),
    # Has no stakes: those of somebody else are not believed.
    "delegations": (VESTER, ALICE, lambda driver: driver.read_delegations(VESTER, ReadView())),
    "unbondings": (VESTER, ALICE, lambda driver: driver.read_unbondings(VESTER, ReadView())),
}


@pytest.mark.parametrize("what", OTHERS)
async def test_another_denom_or_account_is_not_believed(
    driver: Operations, model: CosmosChains, plain: aiohttp.ClientSession, what: str
) -> None:
    wanted, other, read = OTHERS[what]
    mixed = Mixed(wanted, other)
    async with drive(model, plain, mixed, 2) as two:
        assert await read(two) == await read(driver)
    assert len(mixed.asked) == 2
    async with drive(model, plain, Mixed(wanted, other, 9), 1) as alone:
        with pytest.raises(UpstreamUnavailable):
            await read(alone)
