"""`[outbound]` on a whole gateway: its nodes are asked through the proxy, and nothing of the proxy shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.settings import GrpcSettings, Settings
from server.app import Gateway
from tests.server.upstream.http.routes import proxying

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


async def test_a_refusal_of_the_proxy_is_the_error_of_the_call(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with proxying(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as proxy:
        settings = Settings.model_validate(
            {
                "profile": "devnet",
                "storage": {"url": f"sqlite:///{tmp_path}/waypost.db"},
                "outbound": {"proxy": proxy.url},
                "chains": {"ethereum": {"endpoints": [{"label": "alpha", "url": "http://node.test/key-of-node"}]}},
            }
        ).model_copy(update={"grpc": GrpcSettings(port=0)})
        gateway = await Gateway.create(settings)
        try:
            port = await gateway.start()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                request = GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await AccountServiceStub(channel).GetBalance(request, metadata=(("x-api-key", "local"),))
        finally:
            await gateway.drain(0)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "alpha: the proxy wants another name and password (HTTP 407)" in str(caught.value.details())
    assert proxy.heads
    assert all(head.startswith(b"CONNECT node.test:80 HTTP/1.1\r\n") for head in proxy.heads)
    printed = "".join(capfd.readouterr()) + str(caught.value.details())
    for secret in ("pass!", "pass%21", "dXNlcjpwYXNzIQ", "node.test", "key-of-node"):
        assert secret not in printed
