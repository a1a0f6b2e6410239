"""Sources whose endpoints change under a gateway: the new ones are asked, within their quotas, the old ones not."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from cli.reloader import Reloader
from devnet.known_solana import USDC, WRAPPED_SOL
from devnet.offchain import hyperliquid, swaps
from runtime.settings import load_settings
from server.aggregators.jupiter import Swap, open_jupiter
from server.apis.sources import Sources
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from tests.e2e.gateway import run_gateway
from tests.serving import serve_app

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.settings import Settings

RATES = "getVenueAFunding"
SOL, DOLLAR = str(WRAPPED_SOL), str(USDC)


class Venue:
    """A stand-in whose coins have names of their own; both of them call different documents by the same ETag."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.conditions: list[str | None] = []

    def application(self) -> web.Application:
        @web.middleware
        async def rename(request: web.Request, handler: Any) -> web.StreamResponse:
            self.conditions.append(request.headers.get("If-None-Match"))
            if self.conditions[-1] is not None:
                return web.Response(status=304)
            answer = await handler(request)
            text = answer.text.replace('"BTC"', f'"{self.prefix}BTC"')
            return web.Response(text=text, content_type="application/json", headers={"ETag": '"1"'})

        app = web.Application(middlewares=[rename])
        hyperliquid.add_routes(app)
        return app


async def test_a_source_swapped_for_another_of_its_label_is_asked_no_more(tmp_path: Path) -> None:
    old, new = Venue("old"), Venue("new")
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(serve_app(venue.application())) for venue in (old, new)]

        def sources(place: int, **more: Any) -> dict[str, Any]:
            found = hyperliquid.settings(urls[place].removeprefix("http://"))
            found["hyperliquid"]["endpoints"][0] |= more
            return found

        wanted = sources(0)

        def read(_: bytes | None) -> Settings:
            overrides = {
                "profile": "devnet",
                "sources": wanted,
                "storage": {"url": f"sqlite+aiosqlite:///{tmp_path / 'waypost.db'}"},
                "grpc": {"host": "127.0.0.1", "port": 0},
                "http": {"host": "127.0.0.1"},
                # Every answer is a document that was asked for.
                "cache": {"max_bytes": 0},
            }
            return load_settings(environ={}, overrides=overrides)

        settings = read(None)
        gateway = await stack.enter_async_context(run_gateway(settings))
        assert gateway.server is not None
        reloader = Reloader(settings, read, gateway.server)

        async def coins() -> str:
            return json.dumps((await gateway.ask(RATES, {}))["result"]["data"])

        assert "oldBTC" in await coins()
        assert await coins() == await coins()
        # The first request has no condition, the others ask for what has changed.
        assert old.conditions == [None, '"1"', '"1"']

        wanted = sources(1)
        outcome = await reloader.reload()
        assert (outcome["ok"], outcome.get("changed")) == (True, ["sources.hyperliquid.endpoints"]), outcome
        assert "newBTC" in await coins()
        assert new.conditions == [None]
        wanted = sources(1, weight=3, rate=50)
        assert (await reloader.reload())["changed"] == ["sources.hyperliquid.endpoints"]
        assert "newBTC" in await coins()
        # It kept what is known of it.
        assert new.conditions == [None, '"1"']
        assert len(old.conditions) == 3

        # Without one, or with one of a source that is off, readers would have to be built anew; ids of coins too.
        row = {"label": "a", "url": "http://127.0.0.1:9/secret-in-path"}
        wanted = {"hyperliquid": {"endpoints": []}, "kong": {"endpoints": [row]}}
        outcome = await reloader.reload()
        keys = {one["key"]: one["fix"] for one in outcome["mistakes"]}
        assert set(keys) == {"sources.hyperliquid.endpoints", "sources.kong.endpoints"}
        wanted = sources(0) | {"coingecko": {"endpoints": [row], "coins": {"SSS": "some-coin"}}}
        outcome = await reloader.reload()
        keys |= {one["key"]: one["fix"] for one in outcome["mistakes"]}
        assert "sources.coingecko.coins" in keys
        assert all("restart" in fix for fix in keys.values())
        assert "secret-in-path" not in str(outcome)
        assert reloader.generation == 3
        assert "newBTC" in await coins()
        assert len(old.conditions) == 3


async def test_a_quota_follows_the_rates_of_the_endpoints() -> None:
    async with AsyncExitStack() as stack:
        app = web.Application()
        swaps.add_routes(app)
        url = await stack.enter_async_context(serve_app(app))
        http = await stack.enter_async_context(open_session())

        def settings(rate: float) -> Settings:
            found = swaps.settings(url.removeprefix("http://"))
            found["jupiter"]["endpoints"][0] |= {"rate": rate}
            return load_settings(environ={}, overrides={"profile": "devnet", "sources": found})

        sources = Sources(settings(0.1), http, stack)
        jupiter = open_jupiter(sources, is_kept=False)

        async def quote(amount: int) -> int:
            return (await jupiter.quote(Swap(SOL, DOLLAR, amount), deadline=None, use=None)).amount_out

        assert await quote(10**9)
        with pytest.raises(UpstreamUnavailable, match="quota"):
            await quote(10**9)
        sources.change(settings(0.1), settings(1000)).apply()
        assert all(await asyncio.gather(*(quote(10**9 + number) for number in range(20))))
        sources.change(settings(1000), settings(0.1)).apply()
        assert await quote(10**9)
        with pytest.raises(UpstreamUnavailable, match="quota"):
            await quote(10**9)
