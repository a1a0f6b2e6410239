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
from waypost.v1.raw_pb2 import ChainRpcRequest, ChainRpcResponse

from runtime.operations import load_operations
from transcoder.calls import failure_of, given_up
from transcoder.dispatch import SLACK, Answer, Batch, Started, defect, refused
from transcoder.errors import JSONRPC_CODES, Failure, printable
from transcoder.requests import NULL, InvalidItem, identity_of, read_item

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec
    from waypost.v1.raw_pb2 import NodeFailure

    from transcoder.exchange import Exchange

CHAIN_PATH = re.compile(r"/([^/]*)/rpc/([^/]+)")
"""The path of a chain's own JSON-RPC: key, chain."""
OPERATION = "chainRpc"
MOST_ITEMS = 100

# Codes of errors that are the gateway's: as JSON-RPC 2.0 and EIP-1474 have them.
_NOT_PASSED_ON = -32601
_CODES = {401: -32001, 429: -32005, 500: -32603, 503: -32603}
_OTHERWISE = -32000
# Where a node gives no integer.
_NO_CODE = -32000
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
            return _failed(failure_of(error), identity, exchange, is_old=is_old)
        except Failure as failure:
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
