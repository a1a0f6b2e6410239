"""The unmodified client of `starknet-py` reads the local chain, and the gateway answers the same figures.

The client does not resolve beside web3, so it runs in an environment of its own (`judge/`).
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_starknet as known
from server.chains.view import ReadView
from tests.environments import JUDGE, installed_judge

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.starknet.node import StarknetNode
    from tests.operations import Operations

pytestmark = pytest.mark.devnet

HOLDINGS = [(known.STRK, known.BOB), (known.ETH, known.BOB), (known.USDC, known.BOB), (known.ETH, known.ALICE)]


@pytest.fixture(scope="module")
def python() -> Path:
    """The executable that has the client; some 25 seconds on first use."""
    return installed_judge()


async def reported(python: Path, node: StarknetNode) -> Any:
    """Return what the client reads."""
    key = int(await public_key(node), 16)
    wanted = {"block": known.CROWDED_BLOCK, "holdings": HOLDINGS, "account": known.ALICE, "key": key}
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-W", "error", str(JUDGE / "reads.py"), node.endpoints["starknet"][0].url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath},
    )
    printed, complaints = await process.communicate(json.dumps(wanted).encode())
    assert process.returncode == 0, complaints.decode()[-2000:]
    return json.loads(printed)


async def public_key(node: StarknetNode) -> str:
    """Return the key that the account's contract checks signatures with."""
    selector = "0x3b28019ccfdbd30ffc65951d94bb85c9e2b8434111a000b5afd533ce65f57a4"  # public_key
    request = {"contract_address": known.ALICE, "entry_point_selector": selector, "calldata": []}
    [felt] = await node.call("starknet_call", request, "latest")
    return str(felt)


def numbers(felts: list[str]) -> list[int]:
    return [int(felt, 16) for felt in felts]


async def test_the_client_and_the_gateway_read_the_same(python: Path, node: StarknetNode, driver: Operations) -> None:
    found = await reported(python, node)
    assert found["chain_id"].to_bytes(7, "big") == b"SN_MAIN"
    height = await driver.read_height(ReadView())
    assert found["height"] == found["head"]["number"] == height
    health = await driver.read_health()
    assert (health.state, health.height) == ("ok", height)

    block = (await driver.read_block_transactions(known.CROWDED_BLOCK, ReadView())).starknet
    assert found["block"] == {
        "number": block.block_number,
        "hash": int(block.hash, 16),
        "timestamp": block.timestamp.seconds,
        "parent": int(json.loads(block.native.json)["parent_hash"], 16),
        "count": block.transaction_count,
    }
    assert [int(row.hash, 16) for row in block.transactions] == [row["hash"] for row in found["transactions"]]
    for listed, theirs in zip(block.transactions, found["transactions"], strict=True):
        ours = (await driver.read_transaction(listed.hash, ReadView())).starknet
        native = json.loads(ours.native.json)
        assert theirs["is_listed"]
        assert (int(ours.from_address, 16), int(native["nonce"], 16)) == (theirs["sender"], theirs["nonce"])
        assert numbers(native["calldata"]) == theirs["calldata"]
        assert numbers(native["signature"]) == theirs["signature"]
        receipt = (await driver.read_receipt(listed.hash, ReadView())).starknet
        document, judged = json.loads(receipt.native.json), theirs["receipt"]
        assert receipt.block_number == judged["block"] == known.CROWDED_BLOCK
        assert document["execution_status"] == judged["execution"]
        assert document["finality_status"] == judged["finality"]
        assert int(document["block_hash"], 16) == judged["block_hash"]
        assert int(document["actual_fee"]["amount"], 16) == judged["fee"]
        assert document.get("revert_reason") == judged["revert_reason"]
        assert [
            [int(event["from_address"], 16), numbers(event["keys"]), numbers(event["data"])]
            for event in document["events"]
        ] == judged["events"]

    for (token, owner), theirs in zip(HOLDINGS, found["holdings"], strict=True):
        balance = await driver.read_token_balance(owner, token, ReadView())
        assert (balance.raw, balance.decimals) == (theirs["raw"], theirs["decimals"])
        if token == known.STRK:
            coin = await driver.read_balance(owner, ReadView())
            assert (coin.raw, coin.decimals) == (theirs["raw"], theirs["decimals"])


async def test_hashes_and_signatures_are_what_the_client_computes(python: Path, node: StarknetNode) -> None:
    found = await reported(python, node)
    assert len(found["transactions"]) == 2
    for transaction in found["transactions"]:
        assert transaction["computed"] == transaction["hash"]
        assert transaction["is_signed"]
    assert found["nonce"] >= len(found["transactions"])
