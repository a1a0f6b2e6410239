"""The small parts: nesting, names, clients, quota headers, statuses, the index."""

from __future__ import annotations

import time
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from hypothesis import given, settings
from hypothesis import strategies as st
from waypost_internal.v1 import access_pb2

from runtime.bounds import DEEPEST, nests_too_deeply
from runtime.operations import load_operations
from server import errors as server_errors
from tests.examples import examples
from transcoder.calls import quota_headers
from transcoder.dispatch import DuplicateName, Index
from transcoder.errors import Failure, from_status
from transcoder.exchange import Clients


def depth_of(text: bytes) -> int:
    """Return the nesting by the book, one character at a time."""
    deepest = depth = 0
    quoted = escaped = False
    for byte in text:
        if quoted:
            quoted = escaped or byte != ord('"')
            escaped = byte == ord("\\") and not escaped
        elif byte == ord('"'):
            quoted = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


JSON = st.recursive(
    st.sampled_from([b"1", b'"["', b'"\\"["', b'"]}"', b"null", b'"\\\\"']),
    lambda inner: (
        st.lists(inner, max_size=40).map(lambda items: b"[" + b",".join(items) + b"]")
        | st.lists(inner, max_size=40).map(lambda items: b"{" + b",".join(b'"{":' + item for item in items) + b"}")
    ),
    max_leaves=60,
)


@settings(deadline=None, max_examples=examples(40), derandomize=True)
@given(core=JSON, around=st.lists(st.sampled_from([b"[]", b"{}"]), max_size=80))
def test_depth_is_measured_exactly(core: bytes, around: list[bytes]) -> None:
    text = core
    for pair in around:
        text = pair[:1] + (b'"k":' if pair == b"{}" else b"") + text + pair[1:]
    assert nests_too_deeply(text) == (depth_of(text) > DEEPEST)


@pytest.mark.parametrize("text", [b"[" * 10**6, b"[" * 10**6 + b"]" * 10**6, b"[]," * 350_000, b'"[",' * 250_000])
def test_depth_is_measured_quickly(text: bytes) -> None:
    began = time.process_time()
    nests_too_deeply(text)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.1", "198.51.100.7", "203.0.113.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.7, 10.9.9.9", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.5, 10.0.0.6", "10.0.0.5"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, garbage", "10.0.0.1"),
        ("10.0.0.1", "[2001:db8::7]:80", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("fd00::1", "198.51.100.7", "198.51.100.7"),
    ],
)
def test_client_addresses(peer: str, forwarded: str, address: str) -> None:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = make_mocked_request("POST", "/", headers=headers).clone(remote=peer)
    assert Clients(["10.0.0.0/8", "fd00::/8"]).address_of(request) == address
    assert Clients([]).address_of(request) == peer


def test_quota_headers_are_structured_fields() -> None:
    answer = access_pb2.AdmitResponse(policy='de"fault', limit=100, remaining=7, window_seconds=60, reset_seconds=3)
    assert quota_headers(answer) == {"RateLimit": '"default";r=7;t=3', "RateLimit-Policy": '"default";q=100;w=60'}


def status_error(code: StatusCode, trailing: Metadata | None = None, details: str = "text") -> AioRpcError:
    return AioRpcError(code, Metadata(), trailing or Metadata(), details)


def gateway_errors() -> list[type[server_errors.GatewayError]]:
    found: list[type[server_errors.GatewayError]] = []
    waiting: list[type[server_errors.GatewayError]] = [server_errors.GatewayError]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found += below
    return found


@pytest.mark.parametrize("error", gateway_errors(), ids=lambda error: error.__name__)
def test_every_failure_of_the_server_has_the_code_of_its_reason(error: type[server_errors.GatewayError]) -> None:
    from transcoder.openrpc import openrpc

    documented = openrpc((), "", profile="mainnet")["components"]["errors"][error.reason]["code"]
    from google.rpc.error_details_pb2 import ErrorInfo

    rich = Status()
    rich.details.add().Pack(ErrorInfo(reason=error.reason, domain="waypost"))
    trailing = Metadata(("grpc-status-details-bin", rich.SerializeToString()))
    failure = from_status(status_error(error.status, trailing))
    assert (failure.code, failure.reason) == (documented, error.reason)


@pytest.mark.parametrize("packed", [b"", b"\xff\xff", b"\x1a\x04\x0a\x02xx", "text"])
def test_unreadable_details_leave_the_code(packed: Any) -> None:
    failure = from_status(status_error(StatusCode.NOT_FOUND, Metadata(("grpc-status-details-bin", packed))))
    assert (failure.code, failure.reason) == (404, "NOT_FOUND")
    assert failure.message != "text"


def test_a_foreign_error_info_is_not_ours() -> None:
    from google.rpc.error_details_pb2 import ErrorInfo

    rich = Status()
    rich.details.add().Pack(ErrorInfo(reason="OTHER", domain="googleapis.com"))
    rich.details.add().Pack(RetryInfo())
    trailing = Metadata(("grpc-status-details-bin", rich.SerializeToString()))
    assert from_status(status_error(StatusCode.UNAVAILABLE, trailing)).reason == "UPSTREAM_UNAVAILABLE"


class Channel:
    """Hands out nothing that can be called; the index only asks for it."""

    def unary_unary(self, path: str, **_: Any) -> str:
        return path


def test_two_operations_cannot_share_a_name() -> None:
    operation = load_operations()[0]
    with pytest.raises(DuplicateName, match=operation.name):
        Index([operation, operation], Channel())


def test_every_name_and_alias_is_found() -> None:
    index = Index(load_operations(), Channel())
    for operation in load_operations():
        for name in (operation.name, *operation.aliases):
            assert index.find(name).operation is operation
    with pytest.raises(Failure, match='did you mean "getBalance"'):
        index.find("getBalanse")
