"""A chain's own JSON-RPC at `/<key>/rpc/<chain>`, for clients that were written for nodes (docs/decisions/0072).

Every item is one call of `RawService.ChainRpc`: admitted, charged and bounded as that. What differs is how requests and
answers are written: results and errors are the node's, and the gateway's own errors have the numbers that clients of
nodes know.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from grpc.aio import AioRpcError, UsageError
from waypost.v1.common_pb2 import NativeJson
from waypost.v1.raw_pb2 import ChainRpcRequest, ChainRpcResponse

from runtime.operations import load_operations
from transcoder.calls import begin, failure_of, finish, given_up
from transcoder.dispatch import SLACK, Answer, Batch, Started, defect, refused
from transcoder.errors import DOMAIN, JSONRPC_CODES, Failure, clipped, printable
from transcoder.requests import NULL, InvalidItem, identity_of, read_item

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec
    from waypost.v1.raw_pb2 import NodeFailure

    from transcoder.exchange import Exchange

CHAIN_PATH = re.compile(r"/(?P<key>[^/]*)/rpc/(?P<chain>[^/]+)(?P<rest>/.+)?")
"""The path of a chain's own JSON-RPC: key, chain; `rest` is that of its REST gateway below."""
OPERATION = "chainRpc"
MOST_ITEMS = 100

# Codes of errors that are the gateway's: as JSON-RPC 2.0 and EIP-1474 have them.
_NOT_PASSED_ON = -32601
_CODES = {401: -32001, 429: -32005, 500: -32603, 503: -32603}
_OTHERWISE = -32000
# Where a node gives no integer.
_NO_CODE = -32000
# Numbers of `google.rpc.Code` by the contract's.
_STATUS_CODES = {400: 3, 401: 16, 404: 5, 429: 8, 500: 13, 503: 14}
_NOT_THERE = frozenset({"NOT_SUPPORTED", "NOT_AVAILABLE"})
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_UNKNOWN_CHAIN = "CHAIN_UNKNOWN"
# Notifications are answered as well, and without an id, where their caller may not call.
_REFUSED = frozenset({401, 429})


class ChainRpc:
    """The calls of all chains over a channel."""

    def __init__(self, channel: Any) -> None:
        operation = next(one for one in load_operations() if one.name == OPERATION)
        self._timeout = operation.deadline + SLACK
        self._call = channel.unary_unary(
            operation.path,
            request_serializer=ChainRpcRequest.SerializeToString,
            response_deserializer=ChainRpcResponse.FromString,
        )

    def of(self, chain: str, exchange: Exchange) -> ChainCalls:
        """Return what makes the calls of a request to the chain; failures of the request are printed as they are."""
        exchange.print_failure = print_failure
        return ChainCalls(self._call, self._timeout, chain)

    def below(self, chain: str, path: str, exchange: Exchange) -> RestCall:
        """Return what makes the one call of a GET, of path and query; failures of the request are printed as its."""
        exchange.print_failure = print_rest_failure
        return RestCall(self._call, self._timeout, chain, path)

    async def ask(self, chain: str, method: str, params: bytes, exchange: Exchange) -> bytes:
        """Return the JSON of a node's result to a call on behalf of the exchange's caller.

        Raises Failure; what the node itself refuses is one of the method (field `method`) or a 503.
        """
        request = ChainRpcRequest(chain=chain, method=method, params=NativeJson(json=params.decode()), node_errors=True)
        response = await finish(begin(self._call, request, self._timeout, exchange))
        if response.HasField("failure"):
            raise Failure(503, "UPSTREAM_UNAVAILABLE", f"the nodes of {chain} refused {method}")
        text: str = response.result.json
        return text.encode()


@dataclass(slots=True)
class _NativeCall(Started):
    name: str = ""
    is_old: bool = False


class ChainCalls(Batch):
    """Executes the items of one HTTP request to a chain; see `Batch`."""

    most_items = MOST_ITEMS

    def __init__(self, call: Any, timeout: float, chain: str) -> None:
        self._call = call
        self._timeout = timeout
        self._chain = chain

    def begin(self, raw: bytes | msgspec.Raw, exchange: Exchange, base: Callable[[], str]) -> Started | Answer:
        """Begin an item; return its answer where it cannot be executed."""
        try:
            item = read_item(raw, is_native=True)
        except InvalidItem as invalid:
            return refused(invalid.failure, invalid.identity, exchange)
        request = ChainRpcRequest(chain=self._chain, method=item.method, node_errors=True)
        params = bytes(item.params)
        if params and params != NULL:
            request.params.json = params.decode()
        try:
            call = self._call(request, timeout=self._timeout, metadata=exchange.metadata)
        except UsageError:
            return refused(given_up(), item.identity, exchange)
        return _NativeCall(None, call, item.identity, name=item.method, is_old=item.is_old)

    def identity_of(self, raw: bytes | msgspec.Raw) -> bytes:
        """Return the id that an error for this item is answered under, null where it has no usable one."""
        return identity_of(raw, is_native=True)

    async def _finish(self, started: Started, exchange: Exchange) -> Answer:
        assert isinstance(started, _NativeCall)
        identity, is_old = started.identity, started.is_old
        try:
            response: ChainRpcResponse = await started.call
        except (AioRpcError, asyncio.CancelledError) as error:
            failure = failure_of(error)
            if _code_of(failure) == _NOT_PASSED_ON:
                # Clients tell by these words that a node lacks a method, and do without it.
                why = failure.message.removeprefix("method: ")
                failure.message = f"the method {clipped(started.name)} does not exist here: {why}"
            return _failed(failure, identity, exchange, is_old=is_old)
        except Exception:
            return defect(started.name, identity, exchange)
        if identity is None:
            return Answer(None, 204)
        if response.HasField("failure"):
            return Answer(_error(_printed(response.failure), identity, is_old=is_old))
        result = response.result.json.encode()
        if is_old:
            return Answer(b"".join((b'{"result":', result, b',"error":null,"id":', identity, b"}")))
        return Answer(b"".join((b'{"jsonrpc":"2.0","id":', identity, b',"result":', result, b"}")))


class RestCall(Batch):
    """Executes a GET of a chain's REST gateway; what the request's body holds is no part of it."""

    def __init__(self, call: Any, timeout: float, chain: str, path: str) -> None:
        self._call = call
        self._timeout = timeout
        self._request = ChainRpcRequest(chain=chain, method="GET", rest_path=path)

    def begin(self, raw: bytes | msgspec.Raw, exchange: Exchange, base: Callable[[], str]) -> Started | Answer:
        """Begin the call; return its answer where the channel is closed."""
        try:
            call = self._call(self._request, timeout=self._timeout, metadata=exchange.metadata)
        except UsageError:
            return refused(given_up(), NULL, exchange)
        return Started(None, call, NULL)

    async def _finish(self, started: Started, exchange: Exchange) -> Answer:
        try:
            response: ChainRpcResponse = await started.call
        except (AioRpcError, asyncio.CancelledError) as error:
            failure = failure_of(error)
        except Exception:
            return defect(OPERATION, NULL, exchange)
        else:
            if response.HasField("failure"):
                return _rest_failure(response.failure)
            return Answer(response.result.json.encode())
        answer = refused(failure, NULL, exchange)
        answer.status = _rest_status(failure)
        return answer


def _rest_failure(failure: NodeFailure) -> Answer:
    """Return what a node's REST gateway refused, as it wrote that."""
    if failure.HasField("data"):
        return Answer(failure.data.json.encode(), failure.http_status)
    body = {"code": failure.code, "message": printable(failure.message), "details": []}
    return Answer(orjson.dumps(body), failure.http_status)


def _rest_status(failure: Failure) -> int:
    return 501 if failure.reason in _NOT_THERE else failure.code


def print_rest_failure(failure: Failure, _: bytes, request_id: str) -> bytes:
    """Return a failure of the gateway's own as the SDK's REST gateway prints one: `google.rpc.Status` as JSON."""
    code = 12 if failure.reason in _NOT_THERE else _STATUS_CODES.get(failure.code, 2)
    detail = {"@type": _ERROR_INFO, "reason": failure.reason, "domain": DOMAIN, "metadata": failure.data(request_id)}
    return orjson.dumps({"code": code, "message": printable(failure.message), "details": [detail]})


def print_failure(failure: Failure, identity: bytes, request_id: str, *, is_old: bool = False) -> bytes:
    """Return the response object of a failure of the gateway's own."""
    error = {"code": _code_of(failure), "message": printable(failure.message), "data": failure.data(request_id)}
    return _error(orjson.dumps(error), identity, is_old=is_old)


def _code_of(failure: Failure) -> int:
    if failure.reason == "INVALID_ARGUMENT" and failure.field == "method":
        return _NOT_PASSED_ON
    number = _CODES.get(failure.code)
    return JSONRPC_CODES.get(failure.reason, _OTHERWISE) if number is None else number


def _failed(failure: Failure, identity: bytes | None, exchange: Exchange, *, is_old: bool) -> Answer:
    if identity is None and failure.code not in _REFUSED:
        return Answer(None, 204, reason=failure.reason)
    answer = refused(failure, identity or NULL, exchange)
    if is_old:
        answer.body = print_failure(failure, identity or NULL, exchange.request_id, is_old=True)
    if failure.reason == _UNKNOWN_CHAIN:
        answer.status = failure.code
    return answer


def _printed(failure: NodeFailure) -> bytes:
    """Return a node's error object."""
    code = failure.code if failure.HasField("code") else _NO_CODE
    error: dict[str, Any] = {"code": code, "message": printable(failure.message)}
    if failure.HasField("data"):
        error["data"] = orjson.Fragment(failure.data.json)
    return orjson.dumps(error)


def _error(error: bytes, identity: bytes, *, is_old: bool) -> bytes:
    if is_old:
        return b"".join((b'{"result":null,"error":', error, b',"id":', identity, b"}"))
    return b"".join((b'{"jsonrpc":"2.0","id":', identity, b',"error":', error, b"}"))
