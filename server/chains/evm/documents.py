"""EVM blocks and transactions: the node's JSON as typed messages, with the rest of it untouched.

A member is typed where its meaning is the same on every chain; all others go to `extra` in the node's own bytes, so
that fields of layer-2 chains, blobs or forks to come are never lost (facts: members differ by client, chain and age of
the block). Quantities among them are written as decimals (quantities.toml).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import block_pb2, evm_pb2, transaction_pb2

from server.chains.evm.members import (
    address,
    convert_members,
    decimal,
    is_null,
    items,
    load_forms,
    number,
    read_members,
    text,
    texts,
)

if TYPE_CHECKING:
    from typing import Any

    from server.chains.evm.members import MemberTable

# Types whose price the base fee and the tip make: dynamic fee, blob, set code (EIP-1559, EIP-4844, EIP-7702).
_DYNAMIC_FEE_TYPES = frozenset((2, 3, 4))


def _time(raw: msgspec.Raw) -> Timestamp:
    return Timestamp(seconds=number(raw))


_BLOCK: MemberTable = {
    "number": ("number", decimal),
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

_PLACE: MemberTable = {"blockNumber": ("block_number", decimal), "blockHash": ("block_hash", text)}

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
    """Return the transaction of an `eth_getTransactionByHash` answer; `block_number` is empty while it is in no block.

    Raises:
        ValueError: the JSON is no transaction.
    """
    members = read_members(result)
    place, _ = convert_members({name: raw for name, raw in members.items() if name in _PLACE}, _PLACE, {})
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
        transaction.extra.json = extra
    return transaction
