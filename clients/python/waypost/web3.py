"""Providers for web3.py over a chain's own node interface: `Web3(WaypostProvider(client, "ethereum"))`.

Filters live on one node, so the gateway refuses them (`eth_newFilter`): web3's LocalFilterMiddleware keeps them in the
program. Transactions are not sent (`eth_sendRawTransaction` is refused). Needs `waypost[web3]`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

try:
    from web3.providers.async_base import AsyncJSONBaseProvider
    from web3.providers.base import JSONBaseProvider
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("the providers need web3: pip install 'waypost[web3]'") from missing

from waypost.errors import WaypostError
from waypost.methods import native_of, value_of
from waypost.v1.raw_pb2 import ChainRpcRequest, ChainRpcResponse

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from waypost.aio import AsyncWaypost
    from waypost.client import Waypost
    from web3.types import RPCEndpoint, RPCResponse

# Codes of Ethereum's nodes: a revert, and a request that was refused.
REVERTED, REFUSED = 3, -32000
FILTERS = {
    "eth_newFilter",
    "eth_newBlockFilter",
    "eth_newPendingTransactionFilter",
    "eth_getFilterChanges",
    "eth_getFilterLogs",
    "eth_uninstallFilter",
}
FILTER_HINT = "add web3's filter middleware: w3.middleware_onion.add(web3.middleware.LocalFilterMiddleware)"


class WaypostProvider(JSONBaseProvider):
    """A chain of the gateway for `Web3`. What the gateway itself refuses is raised as WaypostError."""

    def __init__(self, client: Waypost, chain: str, **options: Any) -> None:
        """Take a client and the slug of an EVM chain; `options` are those of web3's own providers."""
        super().__init__(**options)
        self._client, self._chain = client, chain

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Return the node's answer, or what it refused the call with."""
        request = _request(self, self._chain, method, params)
        try:
            answer: Message | WaypostError = self._client.raw.chain_rpc(
                chain=request.chain, method=request.method, params=request.params
            )
        except WaypostError as error:
            answer = error
        return _response(method, answer)

    def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Return the answers to all requests, which the gateway takes as one."""
        answers = self._client.execute([_request(self, self._chain, *one) for one in requests])
        return [_response(method, answer) for (method, _), answer in zip(requests, answers, strict=True)]

    def is_connected(self, show_traceback: bool = False) -> bool:
        """Return whether the chain answers; raises WaypostError with `show_traceback` where it does not."""
        try:
            self._client.raw.chain_rpc(chain=self._chain, method="eth_chainId")
        except WaypostError:
            if show_traceback:
                raise
            return False
        return True


class AsyncWaypostProvider(AsyncJSONBaseProvider):
    """A chain of the gateway for `AsyncWeb3`. What the gateway itself refuses is raised as WaypostError."""

    def __init__(self, client: AsyncWaypost, chain: str, **options: Any) -> None:
        """Take a client and the slug of an EVM chain; `options` are those of web3's own providers."""
        super().__init__(**options)
        self._client, self._chain = client, chain

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Return the node's answer, or what it refused the call with."""
        request = _request(self, self._chain, method, params)
        try:
            answer: Message | WaypostError = await self._client.raw.chain_rpc(
                chain=request.chain, method=request.method, params=request.params
            )
        except WaypostError as error:
            answer = error
        return _response(method, answer)

    async def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Return the answers to all requests, which the gateway takes as one."""
        answers = await self._client.execute([_request(self, self._chain, *one) for one in requests])
        return [_response(method, answer) for (method, _), answer in zip(requests, answers, strict=True)]

    async def is_connected(self, show_traceback: bool = False) -> bool:
        """Return whether the chain answers; raises WaypostError with `show_traceback` where it does not."""
        try:
            await self._client.raw.chain_rpc(chain=self._chain, method="eth_chainId")
        except WaypostError:
            if show_traceback:
                raise
            return False
        return True


def _request(
    provider: JSONBaseProvider | AsyncJSONBaseProvider, chain: str, method: RPCEndpoint, params: Any
) -> ChainRpcRequest:
    # web3's own encoder writes bytes and attribute dictionaries as nodes read them.
    written = json.loads(provider.encode_rpc_request(method, params))["params"]
    return ChainRpcRequest(chain=chain, method=method, params=native_of(json.dumps(written)))


def _response(method: str, answer: Message | WaypostError) -> RPCResponse:
    if isinstance(answer, ChainRpcResponse):
        return {"jsonrpc": "2.0", "id": 0, "result": value_of(answer.result)}
    assert isinstance(answer, WaypostError)
    if answer.node is not None:
        code = answer.node.code if answer.node.HasField("code") else REFUSED
        data = value_of(answer.node.data)
        return {"jsonrpc": "2.0", "id": 0, "error": {"code": code, "message": answer.node.message, "data": data}}
    if answer.reason == "REVERTED":
        data = answer.facts.get("data", "0x")
        return {"jsonrpc": "2.0", "id": 0, "error": {"code": REVERTED, "message": answer.message, "data": data}}
    hint = f"; {FILTER_HINT}" if method in FILTERS else ""
    raise type(answer)(
        f"{method}: {answer.message}{hint}",
        field=answer.field,
        retry_after=answer.retry_after,
        request_id=answer.request_id,
        facts=answer.facts,
    )
