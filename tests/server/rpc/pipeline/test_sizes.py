"""Each operation's bound of a request: what its fields can need fits, more is refused on both faces alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import block_pb2, raw_pb2, transaction_pb2
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.account_pb2_grpc import AccountServiceStub
from waypost.v1.common_pb2 import NativeJson

from runtime.operations import load_operations
from runtime.settings import HttpSettings
from server.app import Gateway
from server.chains.shared.passthrough import MAX_PARAMS_BYTES
from server.inprocess.channel import MAX_REQUEST_BYTES
from server.marketplace.values import MAX_BYTES
from server.rpc.pipeline.sizes import LEAST_BOUND, request_bound
from tests.each import each
from tests.server.accounts import Accounts, stub_of, with_unknown
from tests.serving import serve_face

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from runtime.settings import Settings

OPERATIONS = {operation.name: operation for operation in load_operations()}
HASH = "0x" + "ab" * 32
WALLET = "0x" + "ab" * 20
KEY = (("x-api-key", "local"),)


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


async def ended(call: Any) -> tuple[StatusCode, str, str, str]:
    """Return status, reason, text and units charged of a call that fails."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailing = dict(caught.value.trailing_metadata() or ())
    info = error_details_pb2.ErrorInfo()
    assert status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details[0].Unpack(info)
    return caught.value.code(), info.reason, caught.value.details() or "", trailing["x-waypost-cost"]


async def refused_in_json(gateway: Gateway, method: str, params: dict[str, Any]) -> tuple[int, str, str, str]:
    """Return code, reason, text and units charged of a request that JSON-RPC refuses."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with (
        serve_face(gateway.channel(), HttpSettings()) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/local/v1", json=body) as response,
    ):
        error = (await response.json())["error"]
        return error["code"], error["data"]["reason"], error["message"], response.headers["X-Waypost-Cost"]


def too_many(got: int, most: int) -> str:
    return f"has {got} bytes as a message, at most {most} fit; ask for less at once"


@pytest.mark.parametrize("length", [LEAST_BOUND - 13, LEAST_BOUND - 12, 20 * LEAST_BOUND])
async def test_both_faces_name_a_field_that_is_too_long_however_long_the_request_is(
    gateway: Gateway, length: int
) -> None:
    request = GetBalanceRequest(chain="ethereum", address="a" * length)
    refusal = await ended(stub_of(AccountServiceStub, gateway.channel()).GetBalance(request, metadata=KEY))
    text = f"address has {length} characters; write at most 4096"
    # It was admitted and is charged as what any check refuses.
    assert refusal == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", text, "1")
    params = {"chain": request.chain, "address": request.address}
    assert await refused_in_json(gateway, "getBalance", params) == (400, "INVALID_ARGUMENT", text, "1")
    assert Accounts.principals == []


async def test_what_no_field_explains_is_refused_by_the_bound(gateway: Gateway) -> None:
    stub = stub_of(AccountServiceStub, gateway.channel())
    longest, longer = (
        with_unknown(GetBalanceRequest(chain="ethereum", address=WALLET), size)
        for size in (LEAST_BOUND, LEAST_BOUND + 1)
    )
    assert (await stub.GetBalance(longest, metadata=KEY)).address == WALLET
    code, reason, text, cost = await ended(stub.GetBalance(longer, metadata=KEY))
    assert (code, reason, cost) == (StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE", "1")
    assert text.endswith(too_many(LEAST_BOUND + 1, LEAST_BOUND))
    assert len(Accounts.principals) == 1


@pytest.mark.parametrize(
    ("name", "method", "document", "members"),
    [
        ("chainRpc", "chainRpc", "params", {"chain": "ethereum", "method": "eth_chainId"}),
        (
            "svc_*",
            "svc_erc20_erc20api_call_balanceOf",
            "args",
            {"chain": "ethereum", "address": WALLET, "method": "svc_erc20_erc20api_call_balanceOf"},
        ),
    ],
)
async def test_a_document_is_refused_by_the_bound_of_its_option(
    settings: Settings, name: str, method: str, document: str, members: dict[str, str]
) -> None:
    operation, most = OPERATIONS[name], OPERATIONS[name].options.max_request_bytes
    gateway = await Gateway.create(settings)
    call = gateway.channel().unary_unary(
        operation.path,
        request_serializer=operation.request.SerializeToString,
        response_deserializer=operation.response.FromString,
    )

    def request_of(size: int) -> Any:
        request: Any = operation.request(**members, **{document: NativeJson(json='[""]')})
        # Two lengths around the document take two bytes more each than around an empty one.
        filling = "d" * (size - request.ByteSize() - 4)
        getattr(request, document).json = f'["{filling}"]'
        assert request.ByteSize() == size
        return request

    try:
        for size, reason in ((most, "INVALID_ARGUMENT"), (most + 1, "BODY_TOO_LARGE")):
            request = request_of(size)
            code, *refusal = await ended(call(request, metadata=KEY))
            assert (code, refusal[0]) == (StatusCode.INVALID_ARGUMENT, reason)
            params: dict[str, Any] = {**members, document: json.loads(getattr(request, document).json)}
            if name == "svc_*":
                del params["method"]
            assert await refused_in_json(gateway, method, params) == (400, *refusal)
        assert refusal[1].endswith(too_many(most + 1, most))
    finally:
        await gateway.drain(0)
