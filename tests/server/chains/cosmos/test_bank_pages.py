"""Endpoints that do not look at `pagination.key`: the list is asked of another one, and never answered in part."""

from __future__ import annotations

import json
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address
from runtime.settings import Settings
from server.chains.capabilities.accounts import KnownAsset
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import aiohttp

    from devnet.cosmos.process import CosmosChains

    Lie = Callable[[dict[str, str], int], dict[str, str]]
    Twist = Callable[[dict[str, Any], int], None]

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE = address(HUB, known.ALICE)


class Front:
    """Stands before a node; `asked` are the queries for pages. `lie` changes one of them, `twist` its answer."""

    def __init__(self, target: str, plain: aiohttp.ClientSession) -> None:
        self.lie: Lie = lambda query, number: query
        self.twist: Twist = lambda answer, number: None
        self.asked: list[dict[str, str]] = []
        self.began = float("inf")
        self._target = target.rstrip("/")
        self._plain = plain

    async def serve(self, request: web.Request) -> web.Response:
        query, is_page = dict(request.query), "pagination.limit" in request.query
        if is_page:
            self.asked.append(query)
            self.began = min(self.began, time.monotonic())
            query = self.lie(query, len(self.asked))
        headers = {name: value for name, value in request.headers.items() if name.lower().startswith("x-cosmos")}
        async with self._plain.get(self._target + request.path, params=query, headers=headers) as got:
            answer = await got.json()
            reported = {name: value for name, value in got.headers.items() if "x-cosmos" in name.lower()}
        if is_page and got.status == 200:
            self.twist(answer, len(self.asked))
        return web.json_response(answer, status=got.status, headers=reported, dumps=json.dumps)


def ignore_key(query: dict[str, str], number: int) -> dict[str, str]:
    return {name: value for name, value in query.items() if name != "pagination.key"}


def end(answer: dict[str, Any], number: int) -> None:
    if number % 2 == 0:
        answer["pagination"]["next_key"] = None


def invent(answer: dict[str, Any], number: int) -> None:
    """A key that no other node knows."""
    answer["pagination"]["next_key"] = f"a2V5{number:03}="


def empty(answer: dict[str, Any], number: int) -> None:
    """No rows on the second page, and always one more page."""
    if number % 2 == 0:
        rows = next(name for name in answer if name != "pagination")
        answer[rows] = []
    invent(answer, number)


def follow(query: dict[str, str], number: int) -> dict[str, str]:
    return query


def first(fronts: list[Front]) -> Front:
    """The one that was asked for a page before the others."""
    return min(fronts, key=lambda front: front.began)


LIES: dict[str, tuple[Lie, Twist]] = {
    "the first page for ever": (ignore_key, lambda answer, number: None),
    "the first page for ever under new keys": (ignore_key, invent),
    "the first page twice": (ignore_key, end),
    "pages without rows": (ignore_key, empty),
    "a key that it does not take itself": (follow, invent),
}


@asynccontextmanager
async def fronts(model: CosmosChains, plain: aiohttp.ClientSession, count: int) -> AsyncIterator[Any]:
    """The driver over so many stand-ins, and these."""
    async with AsyncExitStack() as stack:
        rest = next(one.url for one in model.endpoints["cosmoshub"] if one.kind == "rest")
        found, endpoints = [], []
        for number in range(count):
            front = Front(rest, plain)
            app = web.Application()
            app.router.add_get("/{path:.*}", front.serve)
            url = await stack.enter_async_context(serve_app(app))
            found.append(front)
            endpoints.append({"label": f"rest{number}", "url": url, "kind": "rest"})
        endpoints += [
            {"label": one.label, "url": one.url, "kind": one.kind}
            for one in model.endpoints["cosmoshub"]
            if one.kind == "comet"
        ]
        settings = Settings.model_validate({"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}})
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(settings, http)
        stack.push_async_callback(chains.close)
        driver: Any = Operations(chains.get("cosmoshub"))
        yield driver, found


ATOM_IBC = KnownAsset(known.IBC_DENOM, 6)
READS: dict[str, Callable[[Operations], Any]] = {
    "validators": lambda driver: driver.read_validators("BOND_STATUS_BONDED", ReadView()),
    "delegations": lambda driver: driver.read_delegations(ALICE, ReadView()),
    "holdings": lambda driver: driver.read_holdings(ALICE, [ATOM_IBC], ReadView()),
}


@pytest.fixture(autouse=True)
def pages_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.chains.cosmos.nodes._PAGE_ROWS", "1")


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("lie", LIES)
async def test_a_list_is_asked_elsewhere_where_the_key_is_not_heeded(
    model: CosmosChains, plain: aiohttp.ClientSession, lie: str, what: str
) -> None:
    async with fronts(model, plain, 1) as (driver, [only]):
        truth = await READS[what](driver)
        pages = len(only.asked)
    assert pages >= 2
    async with fronts(model, plain, 2) as (driver, both):
        # Whoever is asked first is the one that lies.
        query, twist = LIES[lie]
        for front in both:
            front.lie = lambda one, number, front=front: query(one, number) if front is first(both) else one
            front.twist = lambda one, number, front=front: twist(one, number) if front is first(both) else None
        assert await READS[what](driver) == truth
        liar, good = sorted(both, key=lambda front: front is not first(both))
        assert len(liar.asked) == 2
        assert len(good.asked) == pages


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("lie", LIES)
async def test_alone_such_an_endpoint_is_not_believed(
    model: CosmosChains, plain: aiohttp.ClientSession, lie: str, what: str
) -> None:
    async with fronts(model, plain, 1) as (driver, [only]):
        only.lie, only.twist = LIES[lie]
        with pytest.raises(UpstreamUnavailable, match="with what cannot be its answer"):
            await READS[what](driver)
        assert len(only.asked) == 4
