"""Receipts of EVM transactions: the node's JSON as a typed message, with the rest of it (quantities as decimals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import receipt_pb2

from server.chains.evm.logs.entries import parse_logs
from server.chains.evm.logs.events import decode_logs
from server.chains.evm.members import address, convert_members, decimal, is_null, load_forms, number, read_members, text

if TYPE_CHECKING:
    import msgspec

    from server.chains.evm.members import MemberTable

_STATUS = {1: receipt_pb2.RECEIPT_STATUS_SUCCESS, 0: receipt_pb2.RECEIPT_STATUS_FAILURE}


def _status(raw: msgspec.Raw) -> receipt_pb2.ReceiptStatus:
    status = _STATUS.get(number(raw))
    if status is None:
        raise ValueError("a status that is neither 0x1 nor 0x0")
    return status


# Before Byzantium receipts had a `root` instead of a status (EIP-658); it stays among the untyped members.
_RECEIPT: MemberTable = {
    "transactionHash": ("transaction_hash", text),
    "blockNumber": ("block_number", decimal),
    "blockHash": ("block_hash", text),
    "transactionIndex": ("transaction_index", number),
    "from": ("from_address", address),
    "to": ("to", address),
    "status": ("status", _status),
    "gasUsed": ("gas_used", decimal),
    "cumulativeGasUsed": ("cumulative_gas_used", decimal),
    "effectiveGasPrice": ("effective_gas_price", decimal),
    "type": ("type", number),
    "contractAddress": ("contract_address", address),
    "logs": ("logs", parse_logs),
}


def is_mined(result: bytes) -> bool:
    """Return whether a receipt names its block: some nodes hand out receipts of pending transactions without one.

    Raises:
        ValueError: the JSON is no receipt.
    """
    members = read_members(result)
    if "transactionHash" not in members:
        raise ValueError("a receipt of no transaction")
    return not is_null(members.get("blockNumber"))


def parse_receipt(result: bytes) -> receipt_pb2.EvmReceipt:
    """Return the receipt with its well-known events decoded; `effective_gas_price` is empty where the node left it out.

    Raises:
        ValueError: the JSON is no receipt of a mined transaction.
    """
    fields, extra = convert_members(read_members(result), _RECEIPT, load_forms("receipt"))
    if not {"transaction_hash", "block_number", "from_address", "gas_used"} <= fields.keys():
        raise ValueError("a receipt lacks members")
    receipt = receipt_pb2.EvmReceipt(**fields)
    receipt.decoded_logs.extend(decode_logs(receipt.logs))
    if extra:
        receipt.extra.json = extra
    return receipt
