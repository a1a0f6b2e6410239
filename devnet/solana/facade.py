"""The JSON-RPC interface over HTTP: single requests and batches, on a loopback port."""

import json
from typing import Any

from aiohttp import web

from devnet.solana.errors import RpcError, not_reached
from devnet.solana.ledger import Ledger
from devnet.solana.methods import METHODS

_MOST_BYTES = 1 << 20


def application(ledger: Ledger) -> web.Application:
    """Return the application that answers for a ledger."""
    app = web.Application(client_max_size=_MOST_BYTES)

    async def answer(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except ValueError:
            return _response(_failure(None, RpcError(-32700, "Parse error")))
        if isinstance(body, list):
            return _response([answer_one(ledger, item) for item in body] or _failure(None, _NO_REQUEST))
        return _response(answer_one(ledger, body))

    app.router.add_post("/", answer)
    return app


_NO_REQUEST = RpcError(-32600, "Invalid request")


def answer_one(ledger: Ledger, request: Any) -> dict[str, Any]:
    """Return the response to one request object."""
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return _failure(None, _NO_REQUEST)
    number, method = request.get("id"), METHODS.get(request["method"])
    params = request.get("params") or []
    try:
        if method is None:
            raise RpcError(-32601, "Method not found")
        if not isinstance(params, list):
            raise RpcError(-32602, "`params` should be an array")
        _check_slot(ledger, params)
        return {"jsonrpc": "2.0", "result": method(ledger, params), "id": number}
    except RpcError as error:
        return _failure(number, error)


def _check_slot(ledger: Ledger, params: list[Any]) -> None:
    for options in params:
        oldest = options.get("minContextSlot") if isinstance(options, dict) else None
        if isinstance(oldest, int) and oldest > ledger.slot:
            raise not_reached(ledger.slot)


def _failure(number: Any, error: RpcError) -> dict[str, Any]:
    document: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        document["data"] = error.data
    return {"jsonrpc": "2.0", "error": document, "id": number}


def _response(answer: Any) -> web.Response:
    return web.Response(text=json.dumps(answer, separators=(",", ":")), content_type="application/json")
