"""The REST routes of one chain, in the shapes of the SDK's gateway (0.50), errors included."""

import binascii
import json
import re
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any

from aiohttp import web
from cosmpy.protos.cosmos.tx.v1beta1.service_pb2 import BroadcastTxRequest, SimulateRequest
from cosmpy.protos.cosmos.tx.v1beta1.tx_pb2 import TxRaw
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from devnet import known_cosmos as known
from devnet.cosmos import staking_rest
from devnet.cosmos.answers import Json, Query, Refused, addressed, bech32, paged, printed
from devnet.cosmos.ledger import Block, Ledger, block_id, encoded
from devnet.cosmos.state import Account
from devnet.cosmos.transactions import decode, hash_of, tx_json

_SECP256K1 = "/cosmos.crypto.secp256k1.PubKey"
_HASH = re.compile(r"[0-9a-fA-F]{64}")
Answer = Callable[[Query], Json]


def build_app(ledger: Ledger) -> web.Application:
    """Return the application that serves these routes."""
    app = web.Application()
    get: dict[str, Answer] = {
        "/cosmos/base/tendermint/v1beta1/node_info": node_info,
        "/cosmos/base/tendermint/v1beta1/syncing": lambda _query: {"syncing": False},
        "/cosmos/base/tendermint/v1beta1/blocks/{height}": block,
        "/cosmos/base/node/v1beta1/status": node_status,
        "/cosmos/consensus/v1/params": consensus_params,
        "/cosmos/auth/v1beta1/accounts/{address}": account,
        "/cosmos/bank/v1beta1/balances/{address}": balances,
        "/cosmos/bank/v1beta1/balances/{address}/by_denom": balance,
        "/cosmos/bank/v1beta1/supply/by_denom": supply,
        "/cosmos/bank/v1beta1/denoms_metadata_by_query_string": lambda query: metadata(query, query.values["denom"]),
        "/cosmos/bank/v1beta1/denoms_metadata/{denom:.+}": lambda query: metadata(query, query.path["denom"]),
        "/cosmos/tx/v1beta1/txs/block/{height}": block_transactions,
        "/cosmos/tx/v1beta1/txs/{hash}": transaction,
        "/cosmos/tx/v1beta1/txs": search,
        **staking_rest.ROUTES,
    }
    if not ledger.chain.distributes:
        get = {route: answer for route, answer in get.items() if not route.startswith("/cosmos/distribution")}
    for route, answer in get.items():
        app.router.add_get(route, _handler(ledger, answer))
    app.router.add_post("/cosmos/tx/v1beta1/txs", _poster(ledger, broadcast))
    app.router.add_post("/cosmos/tx/v1beta1/simulate", _poster(ledger, simulate))
    app.router.add_route("*", "/{rest:.*}", _unknown)
    return app


def node_info(query: Query) -> Json:
    """Answer which chain and which versions this is."""
    chain = query.ledger.chain
    node = {"network": chain.chain_id, "version": "0.38.25", "moniker": "waypost-devnet", "channels": ""}
    version = {"name": chain.slug, "app_name": chain.slug, "version": "devnet", "cosmos_sdk_version": chain.sdk}
    return {"default_node_info": node, "application_version": version}


def node_status(query: Query) -> Json:
    """Answer which heights are kept."""
    ledger = query.ledger
    return {
        "earliest_store_height": str(ledger.chain.first),
        "height": str(ledger.head.height),
        "timestamp": _time(ledger.head),
        "app_hash": encoded(ledger.head.header.app_hash),
        "validator_hash": encoded(ledger.head.header.validators_hash),
    }


def consensus_params(query: Query) -> Json:
    """Answer the bounds of a block."""
    return {"params": {"block": {"max_bytes": "22020096", "max_gas": "75000000"}}}


def block(query: Query) -> Json:
    """Answer a block by height, or the latest."""
    found = _block(query.ledger, query.path["height"])
    return _block_json(found)


def account(query: Query) -> Json:
    """Answer an account in the shape of its kind."""
    address = addressed(query, "address")
    found = query.state.accounts.get(address)
    if found is None:
        raise Refused(404, 5, f"account {address} not found")
    return {"account": _account(address, found)}


def balances(query: Query) -> Json:
    """Answer everything that an account holds."""
    held = query.state.balances.get(addressed(query, "address"), {})
    rows = [{"denom": denom, "amount": str(amount)} for denom, amount in sorted(held.items())]
    return paged(query, "balances", rows)


def balance(query: Query) -> Json:
    """Answer how much of a denom an account holds."""
    denom = query.values.get("denom", "")
    held = query.state.balances.get(addressed(query, "address"), {})
    if not denom:
        raise Refused(400, 3, "invalid denom: ")
    return {"balance": {"denom": denom, "amount": str(held.get(denom, 0))}}


def supply(query: Query) -> Json:
    """Answer how much of a denom exists."""
    denom = query.values.get("denom", "")
    if not denom:
        raise Refused(400, 3, "invalid denom: ")
    return {"amount": {"denom": denom, "amount": str(query.state.supply.get(denom, 0))}}


def metadata(query: Query, denom: str) -> Json:
    """Answer what is known of a denom."""
    chain = query.ledger.chain
    units: list[Json]
    if denom == chain.denom:
        units = [
            {"denom": chain.denom, "exponent": 0, "aliases": ["micro" + chain.display]},
            {"denom": chain.display, "exponent": chain.exponent, "aliases": []},
        ]
        words = {"description": f"The native token of {chain.slug}", "name": chain.name, "symbol": chain.symbol}
        named = {"base": chain.denom, "display": chain.display, "uri": "", "uri_hash": ""}
    elif denom in query.state.supply and denom.startswith("factory/"):
        units = [{"denom": denom, "exponent": 0, "aliases": []}]
        words = {"description": "", "name": "", "symbol": ""}
        named = {"base": denom, "display": "", "uri": "", "uri_hash": ""}
    else:
        raise Refused(404, 5, f"client metadata for denom {denom}")
    return {"metadata": {**words, "denom_units": units, **named}}


def transaction(query: Query) -> Json:
    """Answer a transaction by hash."""
    text = query.path["hash"]
    try:
        binascii.unhexlify(text)
    except (binascii.Error, ValueError):
        raise Refused(500, 2, f"encoding/hex: invalid byte: {text[:40]}") from None
    place = query.ledger.places.get(text.upper())
    if not _HASH.fullmatch(text) or place is None:
        raise Refused(404, 5, f"tx not found: {text.upper()}")
    tx, response = _outcome(query.ledger, *place)
    if tx is None:
        raise Refused(500, 2, "tx parse error")
    return {"tx": tx, "tx_response": response}


def search(query: Query) -> Json:
    """Answer the transactions of a height."""
    wanted = re.fullmatch(r"tx\.height='?(\d+)'?", query.values.get("query", ""))
    if wanted is None:
        raise Refused(400, 3, "query cannot be empty")
    found = query.ledger.block(int(wanted[1]))
    count = len(found.transactions) if found else 0
    outcomes = [_outcome(query.ledger, int(wanted[1]), index) for index in range(count)]
    readable = [(tx, response) for tx, response in outcomes if tx is not None]
    return {
        "txs": [tx for tx, _ in readable],
        "tx_responses": [response for _, response in readable],
        "pagination": None,
        "total": str(len(readable)),
    }


def block_transactions(query: Query) -> Json:
    """Answer the transactions of a block that can be decoded."""
    height = int(query.path["height"])
    found = query.ledger.block(height)
    if found is None:
        head = query.ledger.head.height
        raise Refused(500, 2, f"requested height {height} but the latest is {head}: invalid height")
    decoded = [tx for data in found.transactions if (tx := decode(data)) is not None]
    rows = [tx_json(tx.tx) for tx in decoded]
    whole = _block_json(found)
    total = {"next_key": None, "total": str(len(found.transactions))}
    return {"txs": rows, "block_id": whole["block_id"], "block": whole["block"], "pagination": total}


def broadcast(ledger: Ledger, body: Json) -> Json:
    """Take a transaction; one that passes the checks is in a block at once."""
    data = ParseDict(body, BroadcastTxRequest(), ignore_unknown_fields=True).tx_bytes
    checked = ledger.check(data)
    if checked.gas_used or not checked.code:
        ledger.make_block([data])
    rejected = checked if not checked.gas_used else None
    return {
        "tx_response": {
            "height": "0",
            "txhash": hash_of(data),
            "codespace": rejected.codespace if rejected else "",
            "code": rejected.code if rejected else 0,
            "data": "",
            "raw_log": rejected.log if rejected else "",
            "logs": [],
            "info": "",
            "gas_wanted": "0",
            "gas_used": "0",
            "tx": None,
            "timestamp": "",
            "events": [],
        }
    }


def simulate(ledger: Ledger, body: Json) -> Json:
    """Answer what a transaction would use."""
    request = ParseDict(body, SimulateRequest(), ignore_unknown_fields=True)
    data = request.tx_bytes
    if request.HasField("tx"):
        tx = request.tx
        data = TxRaw(
            body_bytes=tx.body.SerializeToString(),
            auth_info_bytes=tx.auth_info.SerializeToString(),
            signatures=tx.signatures,
        ).SerializeToString()
    result = ledger.check(data)
    # A simulation does not look at signatures, which a real node leaves out as well.
    used = result.gas_used or 71_234
    return {"gas_info": {"gas_wanted": "0", "gas_used": str(used)}, "result": {"data": "", "log": "", "events": []}}


def _block(ledger: Ledger, text: str) -> Block:
    if text == "latest":
        return ledger.head
    if not re.fullmatch(r"-?\d{1,19}", text):
        raise Refused(400, 3, f"type mismatch, parameter: height, error: strconv.ParseInt: parsing {text[:40]!r}")
    height = int(text)
    if height > ledger.head.height:
        raise Refused(400, 3, "requested block height is bigger then the chain length")
    found = ledger.block(height)
    if found is None:
        raise Refused(500, 2, f"height {height} is not available, lowest height is {ledger.chain.first}")
    return found


def _block_json(found: Block) -> Json:
    header = MessageToDict(found.header, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    header["last_block_id"] = _id_json(found.header.last_block_id)
    header["time"] = _time(found)
    commit = {"height": str(found.height - 1), "round": 0, "block_id": header["last_block_id"], "signatures": []}
    body = {
        "header": header,
        "data": {"txs": [encoded(data) for data in found.transactions]},
        "evidence": {"evidence": []},
        "last_commit": commit,
    }
    sdk = body | {"header": header | {"proposer_address": bech32("", found.header.proposer_address)}}
    return {"block_id": _id_json(block_id(found.hash)), "block": body, "sdk_block": sdk}


def _id_json(found: Any) -> Json:
    parts = found.part_set_header
    return {"hash": encoded(found.hash), "part_set_header": {"total": parts.total, "hash": encoded(parts.hash)}}


def _account(address: str, found: Account) -> Json:
    key = None if found.public_key is None else {"@type": _SECP256K1, "key": encoded(found.public_key)}
    base = {
        "address": address,
        "pub_key": key,
        "account_number": str(found.number),
        "sequence": str(found.sequence),
    }
    if found.kind == "module":
        kind = "/cosmos.auth.v1beta1.ModuleAccount"
        return {"@type": kind, "base_account": base, "name": found.name, "permissions": ["burner", "staking"]}
    if found.kind == "vesting":
        vesting = {
            "base_account": base,
            "original_vesting": [{"denom": "stake", "amount": str(known.ENDOWMENT)}],
            "delegated_free": [],
            "delegated_vesting": [],
            "end_time": "1893456000",
        }
        kind = "/cosmos.vesting.v1beta1.ContinuousVestingAccount"
        return {"@type": kind, "base_vesting_account": vesting, "start_time": "1735689600"}
    return {"@type": "/cosmos.auth.v1beta1.BaseAccount", **base}


def _outcome(ledger: Ledger, height: int, index: int) -> tuple[Json | None, Json]:
    found = ledger.block(height)
    assert found is not None
    data, result = found.transactions[index], found.results[index]
    decoded = decode(data)
    tx = None if decoded is None else tx_json(decoded.tx)
    response = {
        "height": str(height),
        "txhash": hash_of(data),
        "codespace": result.codespace,
        "code": result.code,
        "data": "",
        "raw_log": result.log,
        "logs": [],
        "info": "",
        "gas_wanted": str(result.gas_wanted),
        "gas_used": str(result.gas_used),
        "tx": None if tx is None else {"@type": "/cosmos.tx.v1beta1.Tx", **tx},
        # In whole seconds, unlike that of a block.
        "timestamp": found.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "events": list(result.events),
    }
    return tx, response


def _time(found: Block) -> str:
    return found.time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _handler(ledger: Ledger, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        ledger.move_on()
        try:
            query = Query.of(ledger, request)
            body = answer(query)
        except Refused as refused:
            return refused.response()
        return printed(body, query.height)

    return handle


def _poster(ledger: Ledger, answer: Callable[[Ledger, Json], Json]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            return printed(answer(ledger, json.loads(await request.read())), ledger.head.height)
        except (ValueError, ParseError) as error:
            return Refused(400, 3, str(error)).response()

    return handle


async def _unknown(request: web.Request) -> web.Response:
    return Refused(501, 12, "Not Implemented").response()
