"""Reads a Starknet node with the unmodified client of the `starknet-py` package and prints what it found as JSON.

Runs in an environment of its own (requirements.txt): `python reads.py URL`, and on standard input a JSON object of
`block` (number), `holdings` (pairs of token and owner), `account` (address) and `key` (the account's public key).
Integers are printed as integers, whatever their size.
"""

import asyncio
import json
import sys
from typing import Any

from starknet_py.hash.selector import get_selector_from_name
from starknet_py.hash.utils import verify_message_signature
from starknet_py.net.client_models import Call
from starknet_py.net.full_node_client import FullNodeClient
from starknet_py.net.models.transaction import InvokeV3


async def read(client: FullNodeClient, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return everything that is to be compared."""
    head = await client.get_block_hash_and_number()
    block = await client.get_block_with_txs(block_number=wanted["block"])
    chain_id = int(await client.get_chain_id(), 16)
    account = int(wanted["account"], 16)
    return {
        "chain_id": chain_id,
        "version": await client.spec_version(),
        "head": {"number": head.block_number, "hash": head.block_hash},
        "height": await client.get_block_number(),
        "block": {
            "number": block.block_number,
            "hash": block.block_hash,
            "timestamp": block.timestamp,
            "parent": block.parent_hash,
            "count": block.transaction_count,
        },
        "transactions": [
            await _transaction(client, transaction, chain_id, wanted["key"]) for transaction in block.transactions
        ],
        "holdings": [await _holding(client, int(token, 16), int(owner, 16)) for token, owner in wanted["holdings"]],
        "nonce": await client.get_contract_nonce(account, block_number="latest"),
    }


async def _transaction(client: FullNodeClient, listed: Any, chain_id: int, key: int) -> dict[str, Any]:
    found = await client.get_transaction(listed.hash)
    receipt = await client.get_transaction_receipt(listed.hash)
    members = ("calldata", "sender_address", "nonce", "tip", "resource_bounds", "signature")
    invoke = InvokeV3(
        version=3,
        account_deployment_data=found.account_deployment_data,
        **{name: getattr(found, name) for name in members},
    )
    computed = invoke.calculate_hash(chain_id)
    return {
        "hash": found.hash,
        "is_listed": found == listed,
        "computed": computed,
        "is_signed": verify_message_signature(computed, found.signature, key),
        "sender": found.sender_address,
        "nonce": found.nonce,
        "calldata": found.calldata,
        "signature": found.signature,
        "receipt": {
            "execution": receipt.execution_status.value,
            "finality": receipt.finality_status.value,
            "block": receipt.block_number,
            "block_hash": receipt.block_hash,
            "fee": receipt.actual_fee.amount,
            "unit": receipt.actual_fee.unit.value,
            "events": [[event.from_address, event.keys, event.data] for event in receipt.events],
            "revert_reason": receipt.revert_reason,
        },
    }


async def _holding(client: FullNodeClient, token: int, owner: int) -> dict[str, Any]:
    async def call(name: str, *calldata: int) -> list[int]:
        asked = Call(to_addr=token, selector=get_selector_from_name(name), calldata=list(calldata))
        return await client.call_contract(asked, block_number="latest")

    low, high = await call("balanceOf", owner)
    [decimals] = await call("decimals")
    return {"raw": low + (high << 128), "decimals": decimals}


print(json.dumps(asyncio.run(read(FullNodeClient(node_url=sys.argv[1]), json.load(sys.stdin)))))
