"""An off-chain gateway that is away, seen from both faces."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from devnet.evm.names import set_gateway_port
from tests.e2e.questions.question import OPERATIONS
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

PORT = 9  # discard: nobody listens, and the configuration does not allow it either


async def test_it_is_an_outage_on_both_faces_and_nothing_tells_where_it_is(
    gateway: RunningGateway, devnet: Devnet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with unchanged(devnet, "ethereum") as node:
        await set_gateway_port(node, PORT)
        await node.call("evm_mine")
        request = {"jsonrpc": "2.0", "id": 1, "method": "resolveENS", "params": {"name": "away.offchain.eth"}}
        response = await gateway.post(request)
        answer = await response.json()
        operation = OPERATIONS["resolveENS"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(operation, ParseDict({"name": "away.offchain.eth"}, operation.request()))
    assert response.status == 503
    assert answer["error"]["code"] == 503
    assert answer["error"]["data"]["reason"] == "UPSTREAM_UNAVAILABLE"
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert caught.value.details() == answer["error"]["message"]
    assert "/names" not in f"{answer} {caplog.text} {caught.value}"
