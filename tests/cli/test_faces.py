"""The JSON-RPC face as its settings say it is."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest

from cli.faces import Ending, open_http
from cli.process import Stop
from runtime.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def face(**overrides: Any) -> AsyncIterator[str]:
    """Serve the face in front of no server; yields its URL."""
    settings = load_settings(environ={}, overrides={"http": {"port": 0, "host": "127.0.0.1"}, **overrides})
    async with AsyncExitStack() as stack:
        channel = await stack.enter_async_context(grpc.aio.insecure_channel("unix:/nowhere"))
        runner = await open_http(stack, settings, channel, Ending(0.1, Stop()))
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"


async def get(url: str) -> tuple[int, str, str]:
    headers = {"Accept": "text/html,*/*;q=0.8"}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, response.content_type, await response.text()


@pytest.mark.parametrize("profile", ["mainnet", "devnet"])
async def test_browsers_get_the_console_of_the_profile(profile: str) -> None:
    async with face(profile=profile) as url:
        status, kind, page = await get(url)
    assert (status, kind) == (200, "text/html")
    assert f'<meta name="waypost-profile" content="{profile}">' in page


async def test_a_console_that_is_not_enabled_is_not_there() -> None:
    async with face(console={"enabled": False}) as url:
        status, kind, text = await get(url)
        assert (status, kind) == (200, "text/plain")
        assert text.startswith("Waypost: ")
        assert (await get(f"{url}/-/"))[:2] == (404, "application/json")
