"""yield-a's API over recorded shapes: exact figures, or a refusal that names the member; pages; its quota."""

from __future__ import annotations

import copy
import json
import random
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from runtime.settings import Settings
from server.apis.sources import Sources
from server.contracts.address import checksum_address
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from server.yields.computing_units import KEYLESS, Quota
from server.yields.pendle import (
    MARKETS_PATH,
    NAME,
    TRANSACTIONS,
    Flow,
    ListedMarket,
    open_pendle,
    quota,
    read_markets,
    read_transactions,
    transactions_of,
)
from tests.recordings.replay import recorded
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

MARKETS: dict[str, Any] = json.loads(recorded("pendle/markets.json"))
ROWS: dict[str, Any] = json.loads(recorded("pendle/transactions.json"))
WALLET, MARKET = "0x" + "ab" * 20, "0x" + "cd" * 20
KEY = (1, WALLET, MARKET)
# What is read of a row, as paths from the document on.
READ_OF_MARKETS = (
    ("total",),
    ("results",),
    *(("results", 0, name) for name in ("chainId", "address", "name", "expiry", "underlyingAsset", "details")),
    ("results", 0, "details", "impliedApy"),
    ("results", 0, "details", "liquidity"),
    ("results", 1, "underlyingAsset", "address"),
)
READ_OF_ROWS = (
    ("total",),
    ("results",),
    *(("results", 6, name) for name in ("chainId", "market", "timestamp", "action", "txValueAsset")),
)


def markets_of(document: Any) -> list[ListedMarket]:
    return read_markets(json.dumps(document).encode(), 0)[1]


def rows_of(document: Any) -> Any:
    return read_transactions(json.dumps(document).encode(), 0, KEY)[1]


def parent_of(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        document = document[step]
    return document


def test_the_recorded_markets() -> None:
    first, second, third = markets_of(MARKETS)
    assert first == ListedMarket(
        1,
        checksum_address("0x" + "1a" * 20),
        "sUSDx",
        datetime(2031, 6, 26, tzinfo=UTC),
        7.25,
        7075869.756555831,
        (checksum_address("0x" + "1e" * 20), checksum_address("0x" + "1f" * 20)),
    )
    assert second.chain_id == 42161
    assert second.expiry == datetime.fromtimestamp(1_966_896_000, UTC)
    # Its accounting asset is one of another chain.
    assert [asset.lower() for asset in second.assets] == ["0x" + "2e" * 20]
    assert (third.implied_apy, third.liquidity) == (None, None)


def test_older_documents_call_the_rows_markets() -> None:
    older = {name: value for name, value in MARKETS.items() if name != "results"} | {"markets": MARKETS["results"]}
    assert markets_of(older) == markets_of(MARKETS)


def test_the_recorded_transactions() -> None:
    rows = {row.action: row for row in rows_of(ROWS)}
    bought = rows["buyPt"]
    assert (bought.flow, bought.amount, bought.rate) == (Flow.IN, Decimal("1250.625"), Decimal("1.25"))
    assert bought.at == datetime(2027, 1, 1, 10, tzinfo=UTC)
    assert (rows["buyPtLimitOrder"].amount, rows["buyPtLimitOrder"].rate) == (360, Decimal("1.2"))
    assert (rows["sellPt"].flow, rows["sellPt"].amount) == (Flow.OUT, 105)
    # A transfer is worth so much of the asset at the market's rate, minting and redeeming go one for one.
    assert (rows["transferPtIn"].flow, rows["transferPtIn"].amount, rows["transferPtIn"].rate) == (Flow.IN, 220, None)
    assert (rows["mintPy"].flow, rows["mintPy"].amount, rows["mintPy"].rate) == (Flow.IN, 80, None)
    assert (rows["redeemPy"].flow, rows["redeemPy"].amount) == (Flow.OUT, 50)
    assert rows["addLiquiditySingleToken"].flow is Flow.NONE


def test_an_entry_without_its_own_rate_is_weighed_by_the_markets() -> None:
    document = copy.deepcopy(ROWS)
    del document["results"][6]["effectivePtExchangeRate"]
    assert (rows_of(document)[6].amount, rows_of(document)[6].rate) == (Decimal("1100.55"), None)
    for place, value in ((6, "absent"), (6, None), (3, None)):
        document["results"][place]["ptExchangeRate"] = value
        if value == "absent":
            del document["results"][place]["ptExchangeRate"]
        with pytest.raises(UpstreamUnavailable, match=r"ptExchangeRate"):
            rows_of(document)


@pytest.mark.parametrize("wrong", ["missing", "null", "type"])
@pytest.mark.parametrize(
    ("document", "path", "read"),
    [*((MARKETS, path, markets_of) for path in READ_OF_MARKETS), *((ROWS, path, rows_of) for path in READ_OF_ROWS)],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_every_member_that_is_read(
    document: Any, path: tuple[Any, ...], read: Callable[[Any], Any], wrong: str
) -> None:
    """Missing, null or of another type: the member is named; null is unknown where the shape says so."""
    changed = copy.deepcopy(document)
    parent, name = parent_of(changed, path), path[-1]
    if wrong == "missing":
        del parent[name]
    else:
        parent[name] = None if wrong == "null" else [["another"]] if not isinstance(parent[name], list) else "another"
    if wrong == "null" and name in {"impliedApy", "liquidity"}:
        assert getattr(read(changed)[0], {"impliedApy": "implied_apy"}.get(name, name)) is None
        return
    with pytest.raises(UpstreamUnavailable) as refused:
        read(changed)
    assert name in refused.value.message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("results", 0, "details", "impliedApy"), "NaN"),
        (("results", 0, "details", "impliedApy"), -1),
        (("results", 0, "details", "impliedApy"), 1e7),
        (("results", 0, "details", "liquidity"), -0.01),
        (("results", 0, "details", "liquidity"), "Infinity"),
        (("results", 0, "address"), "0x12"),
        (("results", 0, "underlyingAsset"), "1-0x12"),
        (("results", 0, "expiry"), "2031-06-26T00:00:00"),
        (("results", 0, "expiry"), -1),
        (("results", 0, "expiry"), 10**30),
        (("results", 0, "chainId"), 0),
        (("results", 0, "name"), ""),
        (("total",), 4),
        (("total",), -1),
        (("total",), 10**6),
    ],
)
def test_markets_that_cannot_be(path: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(MARKETS)
    parent_of(changed, path)[path[-1]] = value
    with pytest.raises(UpstreamUnavailable) as refused:
        markets_of(changed)
    assert str(path[-1]) in refused.value.message
    assert str(value) not in refused.value.message or value in ("", 0, -1)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("txValueAsset", -1),
        ("txValueAsset", "NaN"),
        ("txValueAsset", 1e31),
        ("effectivePtExchangeRate", 0),
        ("effectivePtExchangeRate", "sNaN"),
        ("effectivePtExchangeRate", 1001),
        ("ptExchangeRate", -1),
        ("action", "buyPts"),
        ("timestamp", "yesterday"),
        ("timestamp", "2027-01-01T10:00:00"),
        ("timestamp", "1999-01-01T10:00:00Z"),
        ("chainId", 10),
        ("market", "0x" + "ce" * 20),
        ("user", "0x" + "ac" * 20),
    ],
)
def test_transactions_that_cannot_be(member: str, value: Any) -> None:
    changed = copy.deepcopy(ROWS)
    changed["results"][6][member] = value
    with pytest.raises(UpstreamUnavailable, match=member):
        rows_of(changed)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every member and row of a document, by path."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in items:
        yield (*path, name)
        if isinstance(value, dict | list):
            yield from places(value, (*path, name))


def mutate(document: Any, chance: random.Random) -> bytes:
    """Return a document with one member more, one number out of its range or no number, or without its end."""
    kind = chance.choice(["extra", "range", "text", "cut"])
    found = [path for path in places(document) if path[-1] != "effectivePtExchangeRate"]
    if kind == "extra":
        holder = parent_of(document, chance.choice(found))
        if isinstance(holder, dict):
            holder["unheardOf"] = {"impliedApy": 5, "txValueAsset": "1"}
    elif kind != "cut":
        path = chance.choice([path for path in found if type(parent_of(document, path)[path[-1]]) in (int, float)])
        values: list[Any] = [-1, 1e40, -1e-9] if kind == "range" else ["NaN", "-Infinity", "many", "1e999999"]
        parent_of(document, path)[path[-1]] = chance.choice(values)
    body = json.dumps(document).encode()
    return body[: chance.randrange(len(body))] if kind == "cut" else body


@pytest.mark.parametrize("name", ["markets", "transactions"])
def test_a_hundred_random_mutations_are_refused_or_change_nothing(name: str) -> None:
    chance = random.Random(13)
    document, read = (MARKETS, read_markets) if name == "markets" else (ROWS, read_rows)
    right = read(json.dumps(document).encode(), 0)
    refused = []
    for _ in range(100):
        body = mutate(copy.deepcopy(document), chance)
        try:
            answer = read(body, 0)
        except UpstreamUnavailable as error:
            refused.append(error.message)
        else:
            assert answer == right, body
    assert len(refused) > 25
    # Cut documents are no JSON; every other refusal names a member.
    assert all("`$" in message or "no JSON" in message for message in refused), refused


def read_rows(body: bytes, skip: int) -> Any:
    return read_transactions(body, skip, KEY)


class Api:
    """Serves pages of generated rows and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.count = 0
        self.units: str | None = "3"
        self.status = 200
        self.cut = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.query))
        skip, limit = int(request.query["skip"]), int(request.query["limit"])
        make = self.market if request.path.endswith(MARKETS_PATH) else self.row
        rows = [make(number) for number in range(skip, min(skip + limit, self.count))]
        headers = {} if self.units is None else {"X-Computing-Unit": self.units}
        document = {"total": self.count, "results": rows[: len(rows) - self.cut]}
        return web.json_response(document, status=self.status, headers=headers)

    def market(self, number: int) -> Any:
        row = copy.deepcopy(MARKETS["results"][0])
        return row | {"address": f"0x{number + 1:040x}", "chainId": 1 + number % 2}

    def row(self, number: int) -> Any:
        return copy.deepcopy(ROWS["results"][6])


@asynccontextmanager
async def opened(api: Api, **endpoint: Any) -> AsyncIterator[dict[str, Any]]:
    app = web.Application()
    app.router.add_get("/{path:.*}", api.answer)
    async with serve_app(app) as url, open_session() as http, AsyncExitStack() as lifetime:
        rows = [{"label": "one", "url": url, **endpoint}]
        settings = Settings.model_validate({"profile": "devnet", "sources": {NAME: {"endpoints": rows}}})
        yield open_pendle(Sources(settings, http, lifetime))


@pytest.mark.parametrize(("count", "pages"), [(0, 1), (1, 1), (100, 1), (101, 2), (768, 8)])
async def test_all_pages_of_markets_are_read(count: int, pages: int) -> None:
    api = Api()
    api.count = count
    async with opened(api) as sources:
        fetched = await sources[NAME].fetch((), None)
    assert len(fetched.value) == count
    assert [one["skip"] for one in api.asked] == [str(100 * page) for page in range(pages)]
    assert {one["limit"] for one in api.asked} == {"100"}
    assert {one["isActive"] for one in api.asked} == {"true"}


@pytest.mark.parametrize(("count", "pages"), [(0, 1), (1000, 1), (1001, 2), (2000, 2)])
async def test_all_pages_of_transactions_are_read(count: int, pages: int) -> None:
    api = Api()
    api.count = count
    async with opened(api) as sources:
        request = transactions_of(1, checksum_address(WALLET), checksum_address(MARKET))
        fetched = await sources[TRANSACTIONS].fetch(request.key, None)
    assert len(fetched.value) == count
    assert [one["skip"] for one in api.asked] == [str(1000 * page) for page in range(pages)]
    assert {(one["user"], one["market"], one["chainId"]) for one in api.asked} == {(WALLET, MARKET, "1")}


async def test_more_transactions_than_can_be_had_are_refused() -> None:
    api = Api()
    api.count = 2001
    async with opened(api) as sources:
        with pytest.raises(UpstreamUnavailable, match="more than 2,000"):
            await sources[TRANSACTIONS].fetch(KEY, None)
    assert len(api.asked) == 1


async def test_a_page_with_fewer_rows_than_it_says_is_refused() -> None:
    api = Api()
    api.count, api.cut = 150, 1
    async with opened(api) as sources:
        for name, key in ((NAME, ()), (TRANSACTIONS, KEY)):
            with pytest.raises(UpstreamUnavailable, match=r"results. has not as many rows as .\$.total"):
                await sources[name].fetch(key, None)


async def spend_all(source: Any) -> UpstreamUnavailable:
    """Ask for transactions until the quota is used up, and return the refusal."""
    try:
        while True:
            await source.fetch(KEY, None)
    except UpstreamUnavailable as error:
        return error


async def test_what_a_request_costs_counts() -> None:
    """Until it is known the dearest is expected; 100 a minute are never exceeded, by both documents together."""
    api = Api()
    api.count = 1
    async with opened(api) as sources:
        refused = await spend_all(sources[TRANSACTIONS])
        assert "quota of computing units" in refused.message
        assert 0 < (refused.retry_after_ms or 0) <= 61_000
        with pytest.raises(UpstreamUnavailable, match="quota of computing units"):
            await sources[NAME].fetch((), None)
    assert len(api.asked) == 33


@pytest.mark.parametrize("units", [None, "", "-1", "many", "nan"])
async def test_a_cost_that_is_not_stated_is_the_dearest(units: str | None) -> None:
    api = Api()
    api.count, api.units = 1, units
    async with opened(api) as sources:
        await spend_all(sources[TRANSACTIONS])
    assert len(api.asked) == 20


async def test_a_rate_of_the_configuration_replaces_the_documented_quota() -> None:
    api = Api()
    api.count = 1
    async with opened(api, rate=1000) as sources:
        for _ in range(40):
            await sources[TRANSACTIONS].fetch(KEY, None)
    assert len(api.asked) == 40


async def test_requests_that_are_sent_again_count_as_well() -> None:
    api = Api()
    api.status = 500
    async with opened(api) as sources:
        await spend_all(sources[TRANSACTIONS])
        while "quota" not in (await spend_all(sources[TRANSACTIONS])).message:
            assert len(api.asked) <= 20
    assert len(api.asked) == 20


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_failing_source_is_unavailable(status: int) -> None:
    api = Api()
    api.status = status
    async with opened(api) as sources:
        for name, key in ((NAME, ()), (TRANSACTIONS, KEY)):
            with pytest.raises(UpstreamUnavailable):
                await sources[name].fetch(key, None)


async def test_without_endpoints_there_is_no_source() -> None:
    async with open_session() as http, AsyncExitStack() as lifetime:
        assert open_pendle(Sources(Settings.model_validate({"profile": "devnet"}), http, lifetime)) == {}


def test_workers_share_the_quota() -> None:
    assert quota((), 4) == Quota(25, 50_000)
    assert quota((), 1) == KEYLESS
