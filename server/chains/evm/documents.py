"""EVM blocks and transactions: the node's JSON as typed messages, with the rest of it untouched."""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, evm_pb2, transaction_pb2

from server.contracts.address import checksum_address
from server.contracts.words import json_quantity, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Members = dict[str, msgspec.Raw]
    Convert = Callable[[msgspec.Raw], Any]
    MemberTable = Mapping[str, tuple[str, Convert]]
    Forms = Mapping[str, Callable[[bytes], bytes]]


# A member is typed where its meaning is the same on every chain; all others go to `extra`, so that fields of layer-2
# chains, blobs or forks to come are never lost. Those of them that are quantities are written as decimals
# (quantities.toml), the rest stays untouched.

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL = b"null"
_QUANTITIES = Path(__file__).with_name("quantities.toml")
# The longest quantity, 32 bytes, in quotes; longer text is data.
_LONGEST = len('"0x"') + 64
# Integers that every JSON reader reads alike.
_MOST_INTEGER = (1 << 53) - 1

text = msgspec.json.Decoder(str).decode
texts = msgspec.json.Decoder(list[str]).decode
items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def number(raw: msgspec.Raw) -> int:
    """Return the number of a hex quantity."""
    return quantity(text(raw))


def decimal(raw: msgspec.Raw) -> str:
    """Return a hex quantity as decimal text."""
    return str(number(raw))


def address(raw: msgspec.Raw) -> str:
    """Return an address with its checksum."""
    return checksum_address(text(raw))


def read_members(result: bytes) -> Members:
    """Return the members of a JSON object.

    Raises:
        ValueError: the JSON is no object.
    """
    try:
        return _OBJECT.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a JSON object") from error


def is_null(raw: msgspec.Raw | None) -> bool:
    """Return whether a member is absent or null."""
    return raw is None or bytes(raw) == _NULL


@cache
def load_forms(document: str) -> Forms:
    """Return how the untyped quantities of a document (a table of quantities.toml) are written."""
    return _forms_of(tomllib.loads(_QUANTITIES.read_text(encoding="utf-8"))[document])


def convert_members(members: Members, table: MemberTable, forms: Forms) -> tuple[dict[str, Any], bytes]:
    """Return typed members by field name, and a JSON object of the others; typed ones that are null count as absent.

    Of the others those that have a form are written in it.

    Raises:
        ValueError: a typed member is not of its type.
    """
    fields: dict[str, Any] = {}
    rest: list[bytes] = []
    try:
        for name, raw in members.items():
            entry = table.get(name)
            if entry is None:
                form = forms.get(name)
                value = bytes(raw) if form is None else form(bytes(raw))
                rest.append(msgspec.json.encode(name) + b":" + value)
            elif bytes(raw) != _NULL:
                fields[entry[0]] = entry[1](raw)
    except msgspec.MsgspecError as error:
        raise ValueError("a member is not of its type") from error
    return fields, b"{" + b",".join(rest) + b"}" if rest else b""


def _forms_of(table: dict[str, Any]) -> Forms:
    forms: dict[str, Callable[[bytes], bytes]] = dict.fromkeys(table.get("text", ()), _as_text)
    forms |= dict.fromkeys(table.get("integer", ()), _as_integer)
    for name, inner in table.get("items", {}).items():
        forms[name] = partial(_each, _forms_of(inner))
    return forms


def _as_text(raw: bytes) -> bytes:
    number = _read_quantity(raw)
    return raw if number is None else b'"%d"' % number


def _as_integer(raw: bytes) -> bytes:
    number = _read_quantity(raw)
    return raw if number is None or number > _MOST_INTEGER else b"%d" % number


def _read_quantity(raw: bytes) -> int | None:
    """Return the number of a JSON hex quantity, None for anything else."""
    if len(raw) > _LONGEST:
        return None
    try:
        return json_quantity(raw)
    except ValueError:
        return None


def _each(forms: Forms, raw: bytes) -> bytes:
    """Return a list of objects with their members in their forms; what is no such list as it is."""
    try:
        rows = _OBJECTS.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return raw
    return b"[" + b",".join(convert_members(row, {}, forms)[1] or b"{}" for row in rows) + b"]"


# A member is typed where its meaning is the same on every chain; all others go to `extra` in the node's own bytes, so
# that fields of layer-2 chains, blobs or forks to come are never lost (facts: members differ by client, chain and age
# of the block). Quantities among them are written as decimals (quantities.toml).

# Types whose price the base fee and the tip make: dynamic fee, blob, set code (EIP-1559, EIP-4844, EIP-7702).
_DYNAMIC_FEE_TYPES = frozenset((2, 3, 4))


def _time(raw: msgspec.Raw) -> Timestamp:
    return Timestamp(seconds=number(raw))


_BLOCK: MemberTable = {
    "number": ("number", number),
    "hash": ("hash", text),
    "parentHash": ("parent_hash", text),
    "timestamp": ("timestamp", _time),
    "miner": ("miner", address),
    "gasLimit": ("gas_limit", decimal),
    "gasUsed": ("gas_used", decimal),
    "baseFeePerGas": ("base_fee_per_gas", decimal),
    "size": ("size", number),
    "difficulty": ("difficulty", decimal),
    "nonce": ("nonce", text),
    "mixHash": ("mix_hash", text),
    "extraData": ("extra_data", text),
    "stateRoot": ("state_root", text),
    "transactionsRoot": ("transactions_root", text),
    "receiptsRoot": ("receipts_root", text),
    "sha3Uncles": ("sha3_uncles", text),
    "logsBloom": ("logs_bloom", text),
    "uncles": ("uncles", texts),
    "withdrawalsRoot": ("withdrawals_root", text),
    "blobGasUsed": ("blob_gas_used", decimal),
    "excessBlobGas": ("excess_blob_gas", decimal),
    "parentBeaconBlockRoot": ("parent_beacon_block_root", text),
    "requestsHash": ("requests_hash", text),
    "transactions": ("transactions", texts),
}

_PLACE: MemberTable = {"blockNumber": ("block_number", number), "blockHash": ("block_hash", text)}

_TRANSACTION: MemberTable = {
    "hash": ("hash", text),
    "from": ("from_address", address),
    "to": ("to", address),
    "value": ("value", decimal),
    "gasPrice": ("gas_price", decimal),
    "gas": ("gas", decimal),
    "input": ("input", text),
    "nonce": ("nonce", number),
    "type": ("type", number),
    "transactionIndex": ("transaction_index", number),
    "maxFeePerGas": ("max_fee_per_gas", decimal),
    "maxPriorityFeePerGas": ("max_priority_fee_per_gas", decimal),
    "maxFeePerBlobGas": ("max_fee_per_blob_gas", decimal),
    "chainId": ("chain_id", decimal),
}


def parse_block(result: bytes) -> evm_pb2.EvmBlock:
    """Return the block of an `eth_getBlockBy*` answer with transaction hashes.

    Raises:
        ValueError: the JSON is no such block.
    """
    fields, extra = convert_members(read_members(result), _BLOCK, load_forms("block"))
    block = evm_pb2.EvmBlock(**fields, transaction_count=len(fields.get("transactions", ())))
    if "number" not in fields or not block.hash:
        raise ValueError("a block without number or hash")
    if extra:
        block.extra.json = extra.decode()
    return block


def parse_block_transactions(result: bytes, *, pays_tips: bool) -> block_pb2.EvmBlockTransactions:
    """Return the transactions of an `eth_getBlockByNumber` answer with full transactions.

    `pays_tips` states that the chain charges EIP-1559 tips, so that the effective price is
    min(maxFeePerGas, baseFeePerGas + maxPriorityFeePerGas) (EIP-1559); elsewhere the node's own figure stands.

    Raises:
        ValueError: the JSON is no such block.
    """
    members = read_members(result)
    try:
        base_fee = None if is_null(members.get("baseFeePerGas")) else number(members["baseFeePerGas"])
        transactions = [
            _transaction(transaction, base_fee if pays_tips else None) for transaction in items(members["transactions"])
        ]
        return block_pb2.EvmBlockTransactions(
            block_number=number(members["number"]),
            hash=text(members["hash"]),
            timestamp=_time(members["timestamp"]),
            transaction_count=len(transactions),
            transactions=transactions,
        )
    except (KeyError, TypeError, msgspec.MsgspecError) as error:
        raise ValueError("a block lacks members or has malformed ones") from error


def parse_transaction(result: bytes) -> transaction_pb2.EvmMinedTransaction:
    """Return the transaction of an `eth_getTransactionByHash` answer; `block_hash` is empty while it is in no block.

    Raises:
        ValueError: the JSON is no transaction.
    """
    members = read_members(result)
    place, _ = convert_members({name: raw for name, raw in members.items() if name in _PLACE}, _PLACE, {})
    if len(place) < len(_PLACE):
        place = {}
    rest = {name: raw for name, raw in members.items() if name not in _PLACE}
    fields, extra = convert_members(rest, _TRANSACTION, load_forms("transaction"))
    if "hash" not in fields or "from_address" not in fields:
        raise ValueError("a transaction without hash or sender")
    return transaction_pb2.EvmMinedTransaction(**place, transaction=_build_transaction(fields, extra))


def _transaction(raw: msgspec.Raw, base_fee: int | None) -> evm_pb2.EvmTransaction:
    fields, extra = convert_members(read_members(raw), _TRANSACTION, load_forms("transaction"))
    transaction = _build_transaction(fields, extra)
    if base_fee is not None and transaction.type in _DYNAMIC_FEE_TYPES and transaction.HasField("max_fee_per_gas"):
        tip = int(transaction.max_priority_fee_per_gas or 0)
        transaction.gas_price = str(min(int(transaction.max_fee_per_gas), base_fee + tip))
    return transaction


def _build_transaction(fields: dict[str, Any], extra: bytes) -> evm_pb2.EvmTransaction:
    transaction = evm_pb2.EvmTransaction(**fields)
    if not transaction.gas_price:
        transaction.gas_price = "0"
    if extra:
        transaction.extra.json = extra.decode()
    return transaction
