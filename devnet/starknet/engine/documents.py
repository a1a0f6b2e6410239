"""Blocks, transactions and receipts in the shapes of the Starknet JSON-RPC specification 0.10.

Counts are true, commitments are hashes by a formula of our own. Gas figures are taken from the steps of the Cairo VM;
the fee that a receipt names was not charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devnet.starknet.engine.cairo import poseidon_hash_many
from devnet.starknet.engine.chain import L1_DEPTH
from devnet.starknet.engine.state import Facts

if TYPE_CHECKING:
    from devnet.starknet.engine.chain import Block, LocalStarknet, Transaction

_SEQUENCER = "0x1176a1bd84444c89232ec27754698e5d2e7e1a7f1539f12027f28b23ec9f3d8"
_GAS_PER_STEP = 100
_L2_GAS_PRICE = 0xB2D05E00
_PRICES: dict[str, dict[str, str]] = {
    "l1_gas_price": {"price_in_fri": "0x2d79883d2000", "price_in_wei": "0x3b9aca00"},
    "l1_data_gas_price": {"price_in_fri": "0x5af3107a4000", "price_in_wei": "0x1"},
    "l2_gas_price": {"price_in_fri": hex(_L2_GAS_PRICE), "price_in_wei": "0x5f5e1"},
}


def felts(values: Any) -> list[str]:
    """Return felts as the specification writes them."""
    return [hex(value) for value in values]


def finality(chain: LocalStarknet, number: int) -> str:
    """Return how final a block is."""
    return "ACCEPTED_ON_L1" if number <= chain.head.number - L1_DEPTH else "ACCEPTED_ON_L2"


def block_document(chain: LocalStarknet, block: Block, *, full: bool) -> dict[str, Any]:
    """Return a block with its transactions, or with their hashes alone."""
    return {
        "status": finality(chain, block.number),
        "block_hash": hex(block.hash),
        "parent_hash": hex(block.parent_hash),
        "block_number": block.number,
        "new_root": "0x0",
        **_header(block.timestamp),
        **_contents(chain, block),
        "transactions": _transactions(block.transactions, full=full),
    }


def waiting_document(chain: LocalStarknet, *, full: bool) -> dict[str, Any]:
    """Return the pre-confirmed block, which has neither hash nor parent."""
    return {
        "block_number": len(chain.blocks),
        **_header(chain.head.timestamp),
        "transactions": _transactions(chain.waiting, full=full),
    }


def transaction_document(transaction: Transaction) -> dict[str, Any]:
    """Return an invoke transaction of version 3."""
    return {
        "transaction_hash": hex(transaction.signed.hash),
        "type": "INVOKE",
        "version": "0x3",
        "sender_address": hex(transaction.signed.sender),
        "calldata": felts(transaction.calldata),
        "signature": felts(transaction.signed.signature),
        "nonce": hex(transaction.signed.nonce),
        "resource_bounds": {
            "l1_gas": {"max_amount": "0x186a0", "max_price_per_unit": "0x2d79883d2000"},
            "l2_gas": {"max_amount": "0x5f5e100", "max_price_per_unit": "0x2540be400"},
            "l1_data_gas": {"max_amount": "0x1f4", "max_price_per_unit": "0x5af3107a4000"},
        },
        "tip": "0x0",
        "paymaster_data": [],
        "account_deployment_data": [],
        "nonce_data_availability_mode": "L1",
        "fee_data_availability_mode": "L1",
    }


def receipt_document(chain: LocalStarknet, transaction: Transaction, block: Block | None) -> dict[str, Any]:
    """Return the receipt; `block` is None while the transaction waits for one."""
    outcome = transaction.outcome
    gas = _GAS_PER_STEP * (outcome.steps if outcome else 0)
    placed = {} if block is None else {"block_hash": hex(block.hash)}
    failed = {} if transaction.failure is None else {"revert_reason": transaction.failure}
    return {
        "type": "INVOKE",
        "transaction_hash": hex(transaction.signed.hash),
        "actual_fee": {"amount": hex(gas * _L2_GAS_PRICE), "unit": "FRI"},
        "execution_status": "REVERTED" if failed else "SUCCEEDED",
        "finality_status": "PRE_CONFIRMED" if block is None else finality(chain, block.number),
        **placed,
        "block_number": len(chain.blocks) if block is None else block.number,
        "messages_sent": [],
        "events": [
            {"from_address": hex(emitter), "keys": felts(keys), "data": felts(data)}
            for emitter, keys, data in (outcome.events if outcome else [])
        ],
        "execution_resources": {"l1_gas": 0, "l1_data_gas": 0, "l2_gas": gas},
        **failed,
    }


def _header(timestamp: int) -> dict[str, Any]:
    mode = {"l1_da_mode": "BLOB", "starknet_version": "0.14.0"}
    return {"timestamp": timestamp, "sequencer_address": _SEQUENCER, **_PRICES, **mode}


def _contents(chain: LocalStarknet, block: Block) -> dict[str, Any]:
    """Return how much is in a block, and a hash over each part of it."""
    done = [transaction.outcome for transaction in block.transactions if transaction.outcome is not None]
    events = [event for outcome in done for event in outcome.events]
    before = chain.blocks[block.number - 1].facts if block.number else Facts()
    changed = [
        *((key, value) for key, value in block.facts.nonces.items() if before.nonces.get(key) != value),
        *((key, value) for key, value in block.facts.classes.items() if before.classes.get(key) != value),
        *((key[1], value) for key, value in block.facts.storage.items() if before.storage.get(key) != value),
    ]
    hashes = [transaction.signed.hash for transaction in block.transactions]
    parts = {
        "transaction": hashes,
        "event": [felt for emitter, keys, data in events for felt in (emitter, *keys, *data)],
        "receipt": [*hashes, *(outcome.steps for outcome in done)],
        "state_diff": [felt for pair in changed for felt in pair],
    }
    commitments = {f"{part}_commitment": hex(poseidon_hash_many(hashed)) for part, hashed in parts.items()}
    counts = {"transaction_count": len(hashes), "event_count": len(events), "state_diff_length": len(changed)}
    return commitments | counts


def _transactions(transactions: list[Transaction], *, full: bool) -> list[Any]:
    if full:
        return [transaction_document(transaction) for transaction in transactions]
    return [hex(transaction.signed.hash) for transaction in transactions]
