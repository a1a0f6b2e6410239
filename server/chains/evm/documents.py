"""EVM blocks and transactions: the node's JSON as typed messages, with the rest of it untouched.

A member is typed where its meaning is the same on every chain; all others go to `extra` in the node's own bytes, so
that fields of layer-2 chains, blobs or forks to come are never lost (facts: members differ by client, chain and age of
the block).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, evm_pb2

from server.chains.evm.quantity import quantity
from server.checksum import checksum_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Members = dict[str, msgspec.Raw]
    Convert = Callable[[msgspec.Raw], Any]

_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_TEXTS = msgspec.json.Decoder(list[str])

# Types whose price the base fee and the tip make: dynamic fee, blob, set code (EIP-1559, EIP-4844, EIP-7702).
_DYNAMIC_FEE_TYPES = frozenset((2, 3, 4))


def _number(raw: msgspec.Raw) -> int:
    return quantity(_TEXT.decode(raw))


def _decimal(raw: msgspec.Raw) -> str:
    return str(_number(raw))


def _address(raw: msgspec.Raw) -> str:
    return checksum_address(_TEXT.decode(raw))


def _time(raw: msgspec.Raw) -> Timestamp:
    return Timestamp(seconds=_number(raw))


_BLOCK: Mapping[str, tuple[str, Convert]] = {
    "number": ("number", _decimal),
    "hash": ("hash", _TEXT.decode),
    "parentHash": ("parent_hash", _TEXT.decode),
    "timestamp": ("timestamp", _time),
    "miner": ("miner", _address),
    "gasLimit": ("gas_limit", _decimal),
    "gasUsed": ("gas_used", _decimal),
    "baseFeePerGas": ("base_fee_per_gas", _decimal),
    "size": ("size", _number),
    "difficulty": ("difficulty", _decimal),
    "nonce": ("nonce", _TEXT.decode),
    "mixHash": ("mix_hash", _TEXT.decode),
    "extraData": ("extra_data", _TEXT.decode),
    "stateRoot": ("state_root", _TEXT.decode),
    "transactionsRoot": ("transactions_root", _TEXT.decode),
    "receiptsRoot": ("receipts_root", _TEXT.decode),
    "sha3Uncles": ("sha3_uncles", _TEXT.decode),
    "logsBloom": ("logs_bloom", _TEXT.decode),
    "uncles": ("uncles", _TEXTS.decode),
    "withdrawalsRoot": ("withdrawals_root", _TEXT.decode),
    "blobGasUsed": ("blob_gas_used", _decimal),
    "excessBlobGas": ("excess_blob_gas", _decimal),
    "parentBeaconBlockRoot": ("parent_beacon_block_root", _TEXT.decode),
    "requestsHash": ("requests_hash", _TEXT.decode),
    "transactions": ("transactions", _TEXTS.decode),
}

_TRANSACTION: Mapping[str, tuple[str, Convert]] = {
    "hash": ("hash", _TEXT.decode),
    "from": ("from_address", _address),
    "to": ("to", _address),
    "value": ("value", _decimal),
    "gasPrice": ("gas_price", _decimal),
    "gas": ("gas", _decimal),
    "input": ("input", _TEXT.decode),
    "nonce": ("nonce", _number),
    "type": ("type", _number),
    "transactionIndex": ("transaction_index", _number),
    "maxFeePerGas": ("max_fee_per_gas", _decimal),
    "maxPriorityFeePerGas": ("max_priority_fee_per_gas", _decimal),
    "maxFeePerBlobGas": ("max_fee_per_blob_gas", _decimal),
    "chainId": ("chain_id", _decimal),
}

_NULL = b"null"


def parse_block(result: bytes) -> evm_pb2.EvmBlock:
    """Return the block of an `eth_getBlockBy*` answer with transaction hashes.

    Raises:
        ValueError: the JSON is no such block.
    """
    fields, extra = _convert(_members(result), _BLOCK)
    block = evm_pb2.EvmBlock(**fields, transaction_count=len(fields.get("transactions", ())))
    if not block.number or not block.hash:
        raise ValueError("a block without number or hash")
    if extra:
        block.extra.json = extra
    return block


def parse_block_transactions(result: bytes, *, pays_tips: bool) -> block_pb2.EvmBlockTransactions:
    """Return the transactions of an `eth_getBlockByNumber` answer with full transactions.

    `pays_tips` says that the chain charges EIP-1559 tips, so that the effective price is
    min(maxFeePerGas, baseFeePerGas + maxPriorityFeePerGas) (EIP-1559); elsewhere the node's own figure stands.

    Raises:
        ValueError: the JSON is no such block.
    """
    members = _members(result)
    try:
        raw_base_fee = members.get("baseFeePerGas")
        base_fee = None if raw_base_fee is None or bytes(raw_base_fee) == _NULL else _number(raw_base_fee)
        transactions = [
            _transaction(transaction, base_fee if pays_tips else None)
            for transaction in _LIST.decode(members["transactions"])
        ]
        return block_pb2.EvmBlockTransactions(
            block_number=_number(members["number"]),
            hash=_TEXT.decode(members["hash"]),
            timestamp=_time(members["timestamp"]),
            transaction_count=len(transactions),
            transactions=transactions,
        )
    except (KeyError, TypeError, msgspec.MsgspecError) as error:
        raise ValueError("a block lacks members or has malformed ones") from error


def _transaction(raw: msgspec.Raw, base_fee: int | None) -> evm_pb2.EvmTransaction:
    fields, extra = _convert(_DECODER.decode(raw), _TRANSACTION)
    transaction = evm_pb2.EvmTransaction(**fields)
    if base_fee is not None and transaction.type in _DYNAMIC_FEE_TYPES and transaction.HasField("max_fee_per_gas"):
        tip = int(transaction.max_priority_fee_per_gas or 0)
        transaction.gas_price = str(min(int(transaction.max_fee_per_gas), base_fee + tip))
    if not transaction.gas_price:
        transaction.gas_price = "0"
    if extra:
        transaction.extra.json = extra
    return transaction


def _members(result: bytes) -> Members:
    try:
        return _DECODER.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a JSON object") from error


def _convert(members: Members, table: Mapping[str, tuple[str, Convert]]) -> tuple[dict[str, Any], bytes]:
    """Return typed members by field name, and a JSON object of the others; typed ones that are null count as absent."""
    fields: dict[str, Any] = {}
    rest: list[bytes] = []
    try:
        for name, raw in members.items():
            entry = table.get(name)
            if entry is None:
                rest.append(msgspec.json.encode(name) + b":" + bytes(raw))
            elif bytes(raw) != _NULL:
                fields[entry[0]] = entry[1](raw)
    except msgspec.MsgspecError as error:
        raise ValueError("a member is not of its type") from error
    return fields, b"{" + b",".join(rest) + b"}" if rest else b""
