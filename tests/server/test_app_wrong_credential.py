"""A transcoder whose credential is not its server's: the operator's mistake is not reported to callers as theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest

from runtime.settings import Settings
from server.app import Gateway
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "getHealth"}


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a transcoder that proves itself with another secret than its server wants."""
    private = f"unix:{tmp_path}/private.sock"
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "storage": {"url": f"sqlite:///{tmp_path}/keys.db"},
            "grpc": {"port": 0, "private_listen": private, "credential": "s" * 20},
        }
    )
    gateway = await Gateway.create(settings)
    await gateway.start()
    async with (
        grpc.aio.insecure_channel(private) as channel,
        serve_face(channel, settings.http, credential="t" * 20) as url,
    ):
        yield url
    await gateway.drain(0)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/demo/v1", HEALTH),
        ("/local/v1", [HEALTH]),
        ("/local/v1", {**HEALTH, "method": "nothing"}),
        ("/local/v1", {**HEALTH, "method": "rpc.discover"}),
    ],
)
async def test_no_key_is_blamed(base: str, path: str, body: Any) -> None:
    async with aiohttp.ClientSession() as session, session.post(base + path, json=body) as response:
        answer = await response.json()
        assert (response.status, answer["error"]["code"]) == (503, 503)
        assert answer["error"]["data"]["reason"] == "UPSTREAM_UNAVAILABLE"
        assert "credential" in answer["error"]["message"]


async def test_it_is_not_ready_and_has_no_document(base: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(base + "/readyz") as response:
            assert response.status == 503
            assert "credential" in (await response.json())["message"]
        async with session.get(base + "/openrpc.json?apps=all") as response:
            assert (response.status, (await response.json())["error"]["code"]) == (503, 503)
