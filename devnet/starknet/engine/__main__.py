"""Serves the chain: `python -m devnet.starknet.engine <port>` on the loopback address."""

from __future__ import annotations

import json
import sys
from typing import Any

from aiohttp import web

from devnet.starknet.engine.methods import Methods, RpcError
from devnet.starknet.engine.world import kept_world


def answer(methods: Methods, request: object) -> dict[str, Any]:
    """Return the response to one request of a body."""
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        error = {"code": -32600, "message": "Invalid Request"}
        return {"jsonrpc": "2.0", "id": None, "error": error}
    head = {"jsonrpc": "2.0", "id": request.get("id")}
    try:
        return {**head, "result": methods.answer(request["method"], request.get("params", []))}
    except RpcError as error:
        return {**head, "error": error.error}


def application(methods: Methods) -> web.Application:
    """Return the server; a body is one request or a batch, answered in order."""

    async def serve(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except ValueError:
            error = {"code": -32700, "message": "Parse error"}
            return web.json_response({"jsonrpc": "2.0", "id": None, "error": error})
        if isinstance(body, list):
            return web.json_response([answer(methods, one) for one in body])
        return web.json_response(answer(methods, body))

    app = web.Application(client_max_size=4 * 1024 * 1024)
    app.router.add_post("/{path:.*}", serve)
    return app


def main() -> None:
    """Serve the world, which is built first when it is not kept yet."""
    methods = Methods(kept_world())
    web.run_app(application(methods), host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)


if __name__ == "__main__":
    main()
