"""Solana through the gateway, from the socket to the devnet's own process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from waypost.v1 import system_pb2
from waypost.v1.common_pb2 import REASON_ARCHIVE_REQUIRED, REASON_NOT_FOUND

from devnet import known_solana as known

if TYPE_CHECKING:
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

ALICE, USDC = str(known.ALICE), str(known.USDC)


async def test_health_and_height(client: Client):
    health = await client.ask("getChainHealth", chain="solana")
    height = await client.ask("getBlockHeight", chain="solana")
    assert (health.status, health.type) == (system_pb2.CHAIN_STATUS_OK, "SVM")
    assert (height.chain, height.height) == ("solana", health.block_height)


async def test_amounts_are_exact(client: Client):
    native = await client.ask("getBalance", chain="solana", address=ALICE)
    assert (native.chain, native.token, native.balance) == ("solana", "SOL", "12.345678901")
    assert (native.balance_raw, native.decimals) == (str(known.ALICE_LAMPORTS), 9)
    token = await client.ask("getTokenBalance", chain="solana", address=ALICE, token=USDC)
    assert (token.balance, token.balance_raw) == ("1234.567898", str(sum(known.ALICE_USDC)))
    assert (token.address, token.token, token.decimals) == (ALICE, USDC, 6)


async def test_metadata(client: Client):
    token = await client.ask("getTokenMetadata", chain="solana", address=USDC)
    assert (token.chain, token.address) == ("solana", USDC)
    assert (token.solana.name, token.solana.symbol, token.solana.uri) == known.USDC_METADATA


@pytest.mark.parametrize("operation", ["getBalance", "getTokenBalance", "getTokenMetadata"])
async def test_history_is_refused(client: Client, operation: str):
    fields = {"address": USDC} | ({"token": USDC} if operation == "getTokenBalance" else {})
    refusal = await client.refused(operation, chain="solana", blockHeight=5, **fields)
    assert (refusal.reason, refusal.field) == ("NOT_SUPPORTED", "blockHeight")
    assert "keep no state" in refusal.message


async def test_rows_fail_alone(client: Client):
    slots = (known.VERSIONED_SLOT, known.SKIPPED[0], 5)
    answer = await client.ask("getBlockByNumber", items=[{"chain": "solana", "block": slot} for slot in slots])
    assert answer.results[0].value.solana.number == str(known.VERSIONED_SLOT)
    assert [row.error.reason for row in answer.results] == [0, REASON_NOT_FOUND, REASON_ARCHIVE_REQUIRED]
    sent = await client.ask("getTransactionByHash", items=[{"chain": "solana", "hash": known.VERSIONED}])
    assert sent.results[0].value.solana.block_number == str(known.VERSIONED_SLOT)
    transfer = sent.results[0].value.solana
    assert (transfer.from_address, transfer.to) == (str(known.BANK), str(known.BOB))
