"""A transcoder in another process learns what is published over the private listener, and nobody else does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest

from runtime.config_errors import ConfigError
from runtime.settings import Settings
from server.app import Gateway
from tests.server.marketplace.conftest import METHODS
from tests.serving import serve_face

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PATH = "/waypost_internal.v1.PublicationService/ListPublications"
CREDENTIAL = "0123456789abcdef0123456789abcdef"


TYPED = "/waypost_apps.erc20.v1.Erc20Service/Erc20apiCallName"


async def status_of(target: str, metadata: Any = None, path: str = PATH) -> grpc.StatusCode:
    async with grpc.aio.insecure_channel(target) as channel:
        return await channel.unary_unary(path)(b"", metadata=metadata, timeout=10).code()


async def test_over_the_private_listener_alone(tmp_path: Path) -> None:
    private = f"unix:{tmp_path}/private.sock"
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "storage": {"url": f"sqlite:///{tmp_path}/keys.db"},
            "grpc": {"port": 0, "private_listen": private, "credential": CREDENTIAL},
        }
    )
    gateway = await Gateway.create(settings)
    try:
        port = await gateway.start()
        assert await status_of(f"127.0.0.1:{port}", (("x-api-key", "local"),)) is grpc.StatusCode.UNIMPLEMENTED
        # Typed services are served to everybody: this one misses its chain.
        typed = await status_of(f"127.0.0.1:{port}", (("x-api-key", "local"),), TYPED)
        assert typed is grpc.StatusCode.INVALID_ARGUMENT
        assert await status_of(private) is grpc.StatusCode.UNAUTHENTICATED
        assert await status_of(private, (("x-waypost-credential", CREDENTIAL),)) is grpc.StatusCode.OK
        async with (
            grpc.aio.insecure_channel(private) as channel,
            serve_face(channel, settings.http, credential=CREDENTIAL) as base,
            aiohttp.ClientSession() as session,
        ):
            async with session.get(f"{base}/openrpc.json?apps=all") as response:
                assert {method["name"] for method in (await response.json())["methods"]} == set(METHODS)
            async with session.get(f"{base}/openrpc.json") as response:
                operations = await response.json()
            assert not {method["name"] for method in operations["methods"]} & set(METHODS)
            request = {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}
            async with session.post(f"{base}/local/v1", json=request) as response:
                assert (await response.json())["result"] == operations
    finally:
        await gateway.drain(0)


async def test_a_wrong_directory_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "storage": {"url": f"sqlite:///{tmp_path}/keys.db"},
            "marketplace": {"apps": str(tmp_path)},
        }
    )
    with pytest.raises(ConfigError, match=r"mine/app\.toml: it cannot be read"):
        await Gateway.create(settings)
