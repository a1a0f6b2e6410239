"""The four families besides EVM under test: what is read, what is true, and how an endpoint of theirs lags or lies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devnet import known_bitcoin, known_cosmos, known_solana, known_starknet
from devnet.cosmos.world import CHAINS, address
from server.chains.capabilities.accounts import KnownAsset
from server.chains.view import ReadView
from tests.faults.families.relay import Answer, Ask, each_call, refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.faults.families.relay import Fault, Json

FAR = 10**6
"""By how much endpoints that lie are ahead."""


@dataclass(frozen=True)
class Subject:
    """One family: `read` asks the driver for everything and raises AssertionError for what is not true.

    `lags`, `lies` and `strays` (serves another chain) are faults that suit every kind of endpoint; `proofs` are the
    questions by which an endpoint proves its chain, the only ones that one of another chain may ever be asked.
    """

    slug: str
    read: Callable[[Any, int], Awaitable[None]]
    lags: Fault
    lies: Fault
    strays: Fault
    proofs: frozenset[str]


# --- Solana -----------------------------------------------------------------------------------------------------------

_SOL_LAG = 900
_ALICE, _USDC = str(known_solana.ALICE), str(known_solana.USDC)


async def _read_solana(driver: Any, head: int) -> None:
    assert await driver.read_height(ReadView()) == head
    balance = await driver.read_balance(_ALICE, ReadView())
    assert (balance.raw, balance.block) == (known_solana.ALICE_LAMPORTS, head)
    usdc = await driver.read_token_balance(_ALICE, _USDC, ReadView())
    assert (usdc.raw, usdc.block) == (sum(known_solana.ALICE_USDC), head)
    view = ReadView()
    held = await driver.read_holdings(_ALICE, [KnownAsset(_USDC, 6)], view)
    assert [row.raw for row in held.rows] == [known_solana.ALICE_LAMPORTS, sum(known_solana.ALICE_USDC)]
    assert view.block == head
    metadata = (await driver.read_token_metadata(_USDC, ReadView())).solana
    assert (metadata.symbol, metadata.block_height) == ("USDC", head)
    pointing = (await driver.read_token_metadata(str(known_solana.POINTING), ReadView())).solana
    assert pointing.name == known_solana.POINTING_METADATA[0]
    assert (await driver.read_block_by_number(known_solana.VERSIONED_SLOT, ReadView())).solana.hash
    found = (await driver.read_transaction(known_solana.VERSIONED, ReadView())).solana
    assert found.block_number == known_solana.VERSIONED_SLOT


def _shift_solana(by: int, call: Json, response: Json) -> None:
    result = response.get("result")
    if call["method"] == "getSlot":
        response["result"] = result + by
    elif isinstance(result, dict) and "context" in result:
        result["context"]["slot"] += by
        if isinstance(result["value"], int):
            result["value"] += 1
        elif call["method"] == "getTokenAccountsByOwner":
            result["value"] = []


def _lag_solana(call: Json, response: Json) -> None:
    _shift_solana(-_SOL_LAG, call, response)
    if call["method"] == "getHealth":
        refuse(response, -32005, "Node is behind by 900 slots", {"numSlotsBehind": 900})
    elif call["method"] == "getBlock":
        refuse(response, -32004, "Block not available for slot")
    elif call["method"] == "getTransaction":
        response["result"] = None


def _stray_solana(call: Json, response: Json) -> None:
    if call["method"] == "getGenesisHash":
        response["result"] = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"
    else:
        _shift_solana(FAR, call, response)


# --- Starknet ---------------------------------------------------------------------------------------------------------

_STARK_LAG = 6


async def _read_starknet(driver: Any, head: int) -> None:
    assert await driver.read_height(ReadView()) == head
    held = await driver.read_balance(known_starknet.BOB, ReadView())
    sent = known_starknet.STRK_SENT + known_starknet.STRK_SENT_LATER
    assert (held.raw, held.block) == (sent, head)
    usdc = await driver.read_token_balance(known_starknet.BOB, known_starknet.USDC, ReadView())
    assert (usdc.raw, usdc.block, usdc.decimals) == (known_starknet.USDC_SENT, head, 6)
    then = await driver.read_balance(known_starknet.BOB, ReadView(known_starknet.STRK_BLOCK))
    assert then.raw == known_starknet.STRK_SENT
    block = (await driver.read_block_transactions(known_starknet.CROWDED_BLOCK, ReadView())).starknet
    assert block.transaction_count == 2
    receipt = (await driver.read_receipt(block.transactions[0].hash, ReadView())).starknet
    assert receipt.block_number == known_starknet.CROWDED_BLOCK
    assert (await driver.read_block_transactions(head, ReadView())).starknet.block_number == head


def _shift_starknet(by: int, call: Json, response: Json) -> None:
    result = response.get("result")
    if call["method"] == "starknet_blockNumber":
        response["result"] = result + by
    elif call["method"] == "starknet_getBlockWithTxHashes" and call["params"] == ["latest"]:
        result["block_number"] += by
    elif call["method"] == "starknet_call" and call["params"][1] == "latest" and len(result or ()) == 2:
        response["result"] = [hex(int(result[0], 16) + 1), result[1]]


def _lag_starknet(call: Json, response: Json) -> None:
    _shift_starknet(-_STARK_LAG, call, response)
    method, params = call["method"], call.get("params", [])
    newest = known_starknet.HEIGHT - _STARK_LAG
    block_id = next((one for one in params if isinstance(one, dict) and "block_number" in one), {"block_number": 0})
    if block_id["block_number"] > newest:
        refuse(response, 24, "Block not found")
    elif method.startswith("starknet_getTransaction"):
        refuse(response, 29, "Transaction hash not found")


def _stray_starknet(call: Json, response: Json) -> None:
    if call["method"] == "starknet_chainId":
        response["result"] = "0x534e5f5345504f4c4941"
    else:
        _shift_starknet(FAR, call, response)


# --- Bitcoin ----------------------------------------------------------------------------------------------------------

_BTC_LAG = 5
_NOWHERE = "ab" * 32


async def _read_bitcoin(driver: Any, head: int) -> None:
    assert await driver.read_height(ReadView()) == head
    balance = await driver.read_balance(known_bitcoin.P2SH, ReadView())
    assert (balance.raw, balance.block) == (known_bitcoin.CONFIRMED[known_bitcoin.P2SH], head)
    for read in (
        driver.read_block_by_number(known_bitcoin.PAYMENTS, ReadView()),
        driver.read_block_by_hash(known_bitcoin.PAYMENTS_HASH, ReadView()),
    ):
        block = (await read).bitcoin
        assert (block.number, block.hash) == (known_bitcoin.PAYMENTS, known_bitcoin.PAYMENTS_HASH)
        assert json.loads(block.native.json)["confirmations"] == head - known_bitcoin.PAYMENTS + 1
    newest = (await driver.read_block_by_number(head, ReadView())).bitcoin
    assert json.loads(newest.native.json)["confirmations"] == 1


def _shift_core(by: int, call: Json, response: Json) -> None:
    method, result = call["method"], response.get("result")
    if method == "getblockcount":
        response["result"] = result + by
    elif method == "getblockchaininfo":
        result["blocks"] += by
    elif method in ("getblock", "getblockheader") and isinstance(result, dict):
        result["confirmations"] += by
        if result["confirmations"] < 1:
            refuse(response, -5, "Block not found")
    elif method == "getblockhash" and by < 0 and call["params"][0] > known_bitcoin.HEIGHT + by:
        refuse(response, -8, "Block height out of range")


def _shift_bitcoin(by: int) -> Fault:
    core = each_call(lambda call, response: _shift_core(by, call, response))

    async def fault(ask: Ask) -> Answer:
        if ask.verb == "POST":
            return await core(ask)  # type: ignore[return-value]
        reply = await ask.answer()
        if ask.path == "/api/blocks/tip/height":
            return Answer(200, str(int(reply.body) + by).encode())
        if ask.path == "/api/blocks/tip/hash":
            if by > 0:
                return Answer(200, _NOWHERE.encode())
            return await ask.get(f"/api/block-height/{known_bitcoin.HEIGHT + by}").answer()
        if ask.path == f"/api/block/{_NOWHERE}":
            return Answer.of({"id": _NOWHERE, "height": known_bitcoin.HEIGHT + by})
        if ask.path.startswith("/api/address/"):
            found = reply.json
            found["chain_stats"]["funded_txo_sum"] += 1
            return Answer.of(found)
        return reply

    return fault


async def _stray_bitcoin(ask: Ask) -> Answer:
    genesis = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"
    if ask.verb == "GET":
        return Answer.of([{"id": genesis, "height": 0, "timestamp": 1296688602}])
    return await each_call(lambda call, response: response.update(result=genesis))(ask)  # type: ignore[return-value]


# --- Cosmos -----------------------------------------------------------------------------------------------------------

_HUB = CHAINS["cosmoshub"]
_BOB, _STAKER = address(_HUB, known_cosmos.BOB), address(_HUB, known_cosmos.ALICE)
_STAKED = _HUB.first + known_cosmos.STAKED_AT
# At the first block Bob has nothing yet, and nothing is staked.
_HUB_LAG = known_cosmos.SEEDED_BLOCKS
_HUB_HEAD = _HUB.first + known_cosmos.SEEDED_BLOCKS
_LATEST = "/cosmos/base/tendermint/v1beta1/blocks/latest"
_HEIGHT = "Grpc-Metadata-X-Cosmos-Block-Height"


async def _read_cosmos(driver: Any, head: int) -> None:
    assert await driver.read_height(ReadView()) == head
    view = ReadView()
    assert (await driver.read_token_balance(_BOB, _HUB.denom, view)).raw == known_cosmos.SENT
    assert view.block == head
    then = ReadView(_HUB.first)
    assert (await driver.read_token_balance(_BOB, _HUB.denom, then)).raw == 0
    assert (await driver.read_supply(known_cosmos.IBC_DENOM, ReadView())).amount == str(known_cosmos.IBC_HELD)
    assert (await driver.read_account(_BOB, ReadView())).address == _BOB
    assert len(await driver.read_delegations(_STAKER, ReadView())) == 2
    assert len(await driver.read_unbondings(_STAKER, ReadView())) == 1
    assert len(await driver.read_validators("BOND_STATUS_BONDED", ReadView())) == 3
    block = (await driver.read_block_by_number(_STAKED, ReadView())).cosmos
    assert (await driver.read_block_by_hash(block.hash, ReadView())).cosmos.number == _STAKED
    listed = (await driver.read_block_transactions(_STAKED, ReadView())).cosmos
    assert [row.code for row in listed.transactions] == [0, known_cosmos.UNDECODABLE, 0]
    assert len((await driver.read_block_results(_STAKED, ReadView())).txs_results) == 3
    receipt = (await driver.read_receipt(listed.transactions[0].txhash, ReadView())).cosmos
    assert receipt.tx_response.height == _STAKED


def _shift_comet(by: int, call: Json, response: Json) -> None:
    method, params = call["method"], call.get("params") or {}
    if method == "status":
        info = response["result"]["sync_info"]
        info["latest_block_height"] = str(int(info["latest_block_height"]) + by)
    elif by < 0 and isinstance(params, dict) and int(params.get("height", 0)) > _HUB_HEAD + by:
        words = f"height {params['height']} must be less than or equal to the current blockchain height"
        refuse(response, -32603, "Internal error", words)
    elif by < 0 and method == "block_by_hash":
        response["result"] = {"block_id": {"hash": ""}, "block": None}


async def _lag_cosmos(ask: Ask) -> Answer:
    """A node that stopped at the first block: what it answers is true of then."""
    if ask.verb == "POST":
        return await each_call(lambda call, response: _shift_comet(-_HUB_LAG, call, response))(ask)  # type: ignore[return-value]
    if ask.path == _LATEST:
        return await ask.get(_LATEST.replace("latest", str(_HUB.first))).answer()
    if "/blocks/" in ask.path and int(ask.path.rsplit("/", 1)[1]) > _HUB.first:
        return Answer.of({"code": 3, "message": "requested block height is bigger then the chain length"}, 400)
    if "/tx/v1beta1/txs/" in ask.path:
        return Answer.of({"code": 5, "message": "tx not found", "details": []}, 404)
    if "node_info" in ask.path:
        return await ask.answer()
    if int(ask.headers.get("x-cosmos-block-height", "0")) > _HUB.first:
        return Answer.of({"code": 3, "message": "cannot query with height in the future"}, 400)
    return await ask.get(ask.path, ask.query, {"x-cosmos-block-height": str(_HUB.first)}).answer()


async def _lie_cosmos(ask: Ask) -> Answer:
    if ask.verb == "POST":
        return await each_call(lambda call, response: _shift_comet(FAR, call, response))(ask)  # type: ignore[return-value]
    reply = await ask.answer()
    if ask.path == _LATEST:
        found = reply.json
        found["block"]["header"]["height"] = str(_HUB_HEAD + FAR)
        return Answer.of(found)
    if "x-cosmos-block-height" in ask.headers or "node_info" in ask.path or "/blocks/" in ask.path:
        return reply
    # Made-up heights, and figures to go with them.
    body = reply.body.replace(b'"%d"' % known_cosmos.SENT, b'"7"').replace(
        b"BOND_STATUS_BONDED", b"BOND_STATUS_UNBONDED"
    )
    return Answer(reply.status, body, reply.headers | {_HEIGHT: str(_HUB_HEAD + FAR)})


async def _stray_cosmos(ask: Ask) -> Answer:
    reply = await ask.answer()
    return Answer(reply.status, reply.body.replace(b"cosmoshub-4", b"osmosis-1"), reply.headers)


SUBJECTS = [
    Subject(
        "solana",
        _read_solana,
        each_call(_lag_solana),
        each_call(lambda call, response: _shift_solana(FAR, call, response)),
        each_call(_stray_solana),
        frozenset({"getGenesisHash"}),
    ),
    Subject(
        "starknet",
        _read_starknet,
        each_call(_lag_starknet),
        each_call(lambda call, response: _shift_starknet(FAR, call, response)),
        each_call(_stray_starknet),
        frozenset({"starknet_chainId"}),
    ),
    Subject(
        "bitcoin",
        _read_bitcoin,
        _shift_bitcoin(-_BTC_LAG),
        _shift_bitcoin(FAR),
        _stray_bitcoin,
        frozenset({"getblockhash", "/api/blocks/0"}),
    ),
    Subject(
        "cosmoshub",
        _read_cosmos,
        _lag_cosmos,
        _lie_cosmos,
        _stray_cosmos,
        frozenset({"/cosmos/base/tendermint/v1beta1/node_info", "status"}),
    ),
]
