"""Each operation's bound of a request: what its fields can need fits, more is refused on both faces alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import block_pb2, raw_pb2, transaction_pb2
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.operations import load_operations
from runtime.settings import HttpSettings
from server.chains.shared.passthrough import MAX_PARAMS_BYTES
from server.inprocess.channel import MAX_REQUEST_BYTES
from server.marketplace.values import MAX_BYTES
from server.rpc.pipeline.sizes import LEAST_BOUND, request_bound
from tests.each import each
from tests.server.accounts import Accounts, stub_of
from tests.serving import serve_face

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from server.app import Gateway

OPERATIONS = {operation.name: operation for operation in load_operations()}
HASH = "0x" + "ab" * 32


def holds_documents(message: Descriptor) -> bool:
    inner = [field.message_type for field in message.fields if field.message_type is not None]
    return message.name == "NativeJson" or any(map(holds_documents, inner))


@each(list(OPERATIONS.values()), name=lambda operation: operation.name)
def test_every_bound_lies_below_that_of_the_transport(operation: Operation) -> None:
    assert LEAST_BOUND <= request_bound(operation) < MAX_REQUEST_BYTES
    # What has no limit of its own is bounded by the option.
    assert bool(operation.options.max_request_bytes) == holds_documents(operation.method.input_type)


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("chainRpc", raw_pb2.ChainRpcRequest(chain="c" * 24, method="m" * 100)),
        (
            "getTransactionByHash",
            transaction_pb2.GetTransactionByHashRequest(items=[{"chain": "arbitrum-nova", "hash": HASH}] * 50),
        ),
        ("getBlockByHash", block_pb2.GetBlockByHashRequest(items=[{"chain": "arbitrum-nova", "hash": HASH}] * 50)),
    ],
)
def test_the_longest_valid_requests_fit(name: str, longest: Message) -> None:
    beside = MAX_PARAMS_BYTES if name == "chainRpc" else 0
    assert longest.ByteSize() + beside < request_bound(OPERATIONS[name])
    assert request_bound(OPERATIONS["svc_*"]) > MAX_BYTES


async def test_both_faces_refuse_a_longer_request_by_the_same_words(gateway: Gateway) -> None:
    request = GetBalanceRequest(chain="ethereum", address="a" * LEAST_BOUND)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub_of(AccountServiceStub, gateway.channel()).GetBalance(request, metadata=(("x-api-key", "local"),))
    trailing = dict(caught.value.trailing_metadata() or ())
    info = error_details_pb2.ErrorInfo()
    assert status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details[0].Unpack(info)
    assert (caught.value.code(), info.reason) == (StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE")
    text = caught.value.details()
    assert str(text).endswith(
        f"has {request.ByteSize()} bytes as a message, at most {LEAST_BOUND} fit; ask for less at once"
    )
    # It was admitted and is charged as what any check refuses.
    assert trailing["x-waypost-cost"] == "1"
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "getBalance"}
    body["params"] = {"chain": request.chain, "address": request.address}
    async with (
        serve_face(gateway.channel(), HttpSettings()) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/local/v1", json=body) as response,
    ):
        error = (await response.json())["error"]
    assert (error["code"], error["data"]["reason"], error["message"]) == (400, "BODY_TOO_LARGE", text)
    assert Accounts.principals == []


async def test_one_byte_less_is_refused_by_its_field(gateway: Gateway) -> None:
    request = GetBalanceRequest(chain="ethereum", address="a" * (LEAST_BOUND - 13))
    assert request.ByteSize() == LEAST_BOUND
    with pytest.raises(grpc.aio.AioRpcError, match="characters; write at most 4096"):
        await stub_of(AccountServiceStub, gateway.channel()).GetBalance(request, metadata=(("x-api-key", "local"),))
