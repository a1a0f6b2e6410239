"""The stand-ins of the venues: their shapes, and the ways in which they misbehave."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from devnet.offchain import dydx, hyperliquid, modes
from devnet.offchain.server import OffchainServer
from tests.recordings.replay import recorded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Ask = Callable[..., Awaitable[tuple[int, str, dict[str, str]]]]

ASKED = {
    "hyperliquid": ("POST", "/info", b'{"type":"metaAndAssetCtxs"}'),
    "dydx": ("GET", "/v4/perpetualMarkets", None),
}
STAND_INS: dict[str, Any] = {"hyperliquid": hyperliquid, "dydx": dydx}
every_venue = pytest.mark.parametrize("venue", STAND_INS)


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    async with (
        OffchainServer(tuple(one.add_routes for one in STAND_INS.values())) as server,
        aiohttp.ClientSession() as http,
    ):

        async def send(venue: str, mode: str | None = None, **options: Any) -> tuple[int, str, dict[str, str]]:
            [endpoint] = STAND_INS[venue].settings(server.authority, mode)[venue]["endpoints"]
            method, route, body = ASKED[venue]
            asked = {"data": body} | options
            async with http.request(method, endpoint["url"] + route, **asked) as response:
                return response.status, await response.text(), dict(response.headers)

        yield send


def shape(value: Any) -> Any:
    """Return which members a document has, of lists those of all elements."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value][:1]
    return None if value is None else type(value).__name__


@every_venue
async def test_the_shape_is_the_recorded_one(ask: Ask, venue: str) -> None:
    status, text, _ = await ask(venue)
    assert status == 200
    found, known = json.loads(text), json.loads(recorded(f"venues/{venue}.json"))
    if venue == "dydx":
        assert shape(found["markets"]["BTC-USD"]) == shape(known["markets"]["BTC-USD"]) | {
            "defaultFundingRate1H": "str"
        }
        assert all(key == market["ticker"] for key, market in found["markets"].items())
    else:
        assert shape(found[1]) == shape(known[1])
        assert shape(found[0]["universe"]) == shape(known[0]["universe"])
        assert len(found[0]["universe"]) == len(found[1])


@every_venue
async def test_it_misbehaves_on_request(ask: Ask, venue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plain, _ = await ask(venue)
    status, _, headers = await ask(venue, "limited")
    assert (status, headers["Retry-After"]) == (429, "60")
    assert (await ask(venue, "half"))[1] == plain[: len(plain) // 2]
    renamed = {"hyperliquid": "funding", "dydx": "nextFundingRate"}[venue]
    assert (await ask(venue, "renamed"))[1].replace(f'"{renamed}2"', f'"{renamed}"') == plain
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ask(venue, "slow"), 0.2)
    monkeypatch.setattr(modes, "SLOW_SECONDS", 0.05)
    assert (await ask(venue, "slow"))[1] == plain


@pytest.mark.parametrize("body", [b"", b"{}", b'{"type":"meta"}', b"[", b"5"])
async def test_venue_a_refuses_what_it_is_not_asked_for(ask: Ask, body: bytes) -> None:
    assert (await ask("hyperliquid", data=body))[0] == 422


def test_an_unknown_mode_is_a_mistake_of_the_test() -> None:
    with pytest.raises(ValueError, match="no mode"):
        dydx.settings("127.0.0.1:1", "odd")


def test_what_is_special_is_there() -> None:
    assert hyperliquid.document()[0]["universe"][-1] == {
        **hyperliquid.document()[0]["universe"][0],
        "name": hyperliquid.DELISTED,
        "isDelisted": True,
        "szDecimals": 1,
    }
    assert dydx.document()["markets"][dydx.TINY]["nextFundingRate"] == "3e-7"
    assert {market["status"] for market in dydx.document()["markets"].values()} == {"ACTIVE", *dydx.PAUSED.values()}
