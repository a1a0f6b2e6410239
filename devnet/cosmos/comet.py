"""The CometBFT RPC of one chain: JSON-RPC by POST, heights as text, hashes in upper-case hex."""

import base64
import binascii
import json
from typing import Any

from aiohttp import web
from google.protobuf.json_format import MessageToDict

from devnet.cosmos.ledger import Block, Ledger, Result, block_id, consensus_address, consensus_key, encoded

Json = dict[str, Any]
_HASHES = (
    "last_commit_hash",
    "data_hash",
    "validators_hash",
    "next_validators_hash",
    "consensus_hash",
    "app_hash",
    "last_results_hash",
    "evidence_hash",
    "proposer_address",
)
_NO_ID: Json = {"hash": "", "parts": {"total": 0, "hash": ""}}


class RpcError(Exception):
    """An error object: code, message, data."""

    def __init__(self, code: int, message: str, data: str) -> None:
        super().__init__(data)
        self.body = {"code": code, "message": message, "data": data}


def build_app(ledger: Ledger) -> web.Application:
    """Return the application that serves these methods."""

    async def handle(request: web.Request) -> web.Response:
        ledger.move_on()
        try:
            body = json.loads(await request.read())
        except ValueError:
            error = {"code": -32700, "message": "Parse error", "data": "error unmarshaling request"}
            return web.json_response({"jsonrpc": "2.0", "id": None, "error": error})
        if isinstance(body, list):
            return web.json_response([_answer(ledger, item) for item in body])
        return web.json_response(_answer(ledger, body))

    async def handle_get(request: web.Request) -> web.Response:
        """Answer a method without parameters as a URI of its own; anything else is 404 in the words of Go's servers."""
        method = _METHODS.get(request.path.removeprefix("/"))
        if method is None or method[1]:
            return web.Response(status=404, text="404 page not found\n")
        ledger.move_on()
        return web.json_response({"jsonrpc": "2.0", "id": -1, "result": method[0](ledger, {})})

    app = web.Application()
    app.router.add_post("/", handle)
    app.router.add_get("/{path:.+}", handle_get)
    return app


def _answer(ledger: Ledger, request: Json) -> Json:
    head = {"jsonrpc": "2.0", "id": request.get("id")}
    method = _METHODS.get(str(request.get("method")))
    try:
        if method is None:
            raise RpcError(-32601, "Method not found", "")
        params = request.get("params") or {}
        named = dict(zip(method[1], params, strict=False)) if isinstance(params, list) else params
        return head | {"result": method[0](ledger, named)}
    except RpcError as error:
        return head | {"error": error.body}


def status(ledger: Ledger, params: Json) -> Json:
    """Answer how far the node is."""
    first, head = ledger.blocks[0], ledger.head
    return {
        "node_info": {
            "protocol_version": {"p2p": "8", "block": "11", "app": "0"},
            "id": _hex(consensus_address(1)).lower(),
            "listen_addr": "tcp://127.0.0.1:26656",
            "network": ledger.chain.chain_id,
            "version": "0.38.25",
            "channels": "",
            "moniker": "waypost-devnet",
            "other": {"tx_index": "on", "rpc_address": ""},
        },
        "sync_info": {
            "latest_block_hash": _hex(head.hash),
            "latest_app_hash": _hex(head.header.app_hash),
            "latest_block_height": str(head.height),
            "latest_block_time": _time(head),
            "earliest_block_hash": _hex(first.hash),
            "earliest_block_height": str(first.height),
            "earliest_block_time": _time(first),
            "catching_up": False,
        },
        "validator_info": {
            "address": _hex(consensus_address(1)),
            "pub_key": {"type": "tendermint/PubKeyEd25519", "value": encoded(consensus_key(1))},
            "voting_power": "0",
        },
    }


def block(ledger: Ledger, params: Json) -> Json:
    """Answer a block by height."""
    return _block_json(_at(ledger, params))


def block_by_hash(ledger: Ledger, params: Json) -> Json:
    """Answer a block by hash (base64 in a POST); an unknown one is no error."""
    try:
        wanted = base64.b64decode(params.get("hash", ""), validate=True)
    except (binascii.Error, ValueError):
        raise RpcError(-32602, "Invalid params", "error converting json params to arguments") from None
    found = ledger.by_hash(wanted)
    return {"block_id": _NO_ID, "block": None} if found is None else _block_json(found)


def block_results(ledger: Ledger, params: Json) -> Json:
    """Answer what executing a block did."""
    found = _at(ledger, params)
    results = [_result(result) for result in found.results]
    return {
        "height": str(found.height),
        "txs_results": results or None,
        "finalize_block_events": [
            {"type": "commission", "attributes": [{"key": "amount", "value": "", "index": True}]},
        ],
        "validator_updates": None,
        "consensus_param_updates": None,
        "app_hash": encoded(found.header.app_hash),
    }


def header(ledger: Ledger, params: Json) -> Json:
    """Answer the header of a block by height."""
    return {"header": _header_json(_at(ledger, params))}


def tx(ledger: Ledger, params: Json) -> Json:
    """Answer a transaction by hash (base64 in a POST): its bytes, its place and how it ended."""
    try:
        wanted = base64.b64decode(params.get("hash", ""), validate=True).hex().upper()
    except (binascii.Error, ValueError):
        raise RpcError(-32602, "Invalid params", "error converting json params to arguments") from None
    place = ledger.places.get(wanted)
    if place is None:
        raise RpcError(-32603, "Internal error", f"tx ({wanted}) not found")
    height, index = place
    found = ledger.block(height)
    assert found is not None
    return {
        "hash": wanted,
        "height": str(height),
        "index": index,
        "tx_result": _result(found.results[index]),
        "tx": encoded(found.transactions[index]),
    }


def abci_info(ledger: Ledger, params: Json) -> Json:
    """Answer what the application reports about itself."""
    chain = ledger.chain
    answer = {"data": chain.slug, "version": "devnet", "last_block_height": str(ledger.head.height)}
    return {"response": answer | {"last_block_app_hash": encoded(ledger.head.header.app_hash)}}


def health(ledger: Ledger, params: Json) -> Json:
    """Answer that the node lives."""
    return {}


def _at(ledger: Ledger, params: Json) -> Block:
    text = params.get("height")
    if text is None:
        return ledger.head
    try:
        height = int(text)
    except ValueError:
        raise RpcError(-32602, "Invalid params", f"error converting json params to arguments: {text!r}") from None
    if height <= 0:
        raise RpcError(-32603, "Internal error", f"height must be greater than 0, but got {height}")
    head = ledger.head.height
    if height > head:
        words = f"height {height} must be less than or equal to the current blockchain height {head}"
        raise RpcError(-32603, "Internal error", words)
    found = ledger.block(height)
    if found is None:
        words = f"height {height} is not available, lowest height is {ledger.chain.first}"
        raise RpcError(-32603, "Internal error", words)
    return found


def _header_json(found: Block) -> Json:
    head: Json = MessageToDict(
        found.header, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    head |= {name: _hex(getattr(found.header, name)) for name in _HASHES}
    return head | {"time": _time(found), "last_block_id": _id_json(found.header.last_block_id)}


def _block_json(found: Block) -> Json:
    last = found.header.last_block_id
    return {
        "block_id": _id_json(block_id(found.hash)),
        "block": {
            "header": _header_json(found),
            "data": {"txs": [encoded(data) for data in found.transactions]},
            "evidence": {"evidence": []},
            "last_commit": {
                "height": str(found.height - 1),
                "round": 0,
                "block_id": _id_json(last),
                "signatures": [],
            },
        },
    }


def _id_json(found: Any) -> Json:
    parts = found.part_set_header
    return {"hash": _hex(found.hash), "parts": {"total": parts.total, "hash": _hex(parts.hash)}}


def _result(result: Result) -> Json:
    return {
        "code": result.code,
        "data": None,
        "log": result.log,
        "info": "",
        "gas_wanted": str(result.gas_wanted),
        "gas_used": str(result.gas_used),
        "events": list(result.events),
        "codespace": result.codespace,
    }


def _hex(data: bytes) -> str:
    return data.hex().upper()


def _time(found: Block) -> str:
    return found.time.isoformat().replace("+00:00", "Z")


_METHODS = {
    "status": (status, ()),
    "health": (health, ()),
    "abci_info": (abci_info, ()),
    "block": (block, ("height",)),
    "block_by_hash": (block_by_hash, ("hash",)),
    "block_results": (block_results, ("height",)),
    "header": (header, ("height",)),
    "tx": (tx, ("hash", "prove")),
}
