"""The local chain judged by the `solana` package's client, which is not ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from solana.rpc.core import RPCException
from solana.rpc.models import TokenAccountOpts
from solders.message import Message
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from devnet import known_solana as known
from devnet.solana import world

if TYPE_CHECKING:
    from solana.rpc.async_api import AsyncClient

    from devnet.solana.ledger import Ledger

pytestmark = pytest.mark.devnet


async def test_accounts(judge: AsyncClient, ledger: Ledger):
    assert (await judge.get_balance(known.ALICE)).value == known.ALICE_LAMPORTS
    assert (await judge.get_balance(known.UNTOUCHED)).value == 0
    assert (await judge.get_account_info(known.UNTOUCHED)).value is None
    supply = (await judge.get_token_supply(known.USDC)).value
    assert (int(supply.amount), supply.decimals) == (sum(known.ALICE_USDC), 6)
    parsed = (await judge.get_account_info_json_parsed(known.TOKEN_2022)).value
    state = parsed.data.parsed["info"]["extensions"][1]["state"]
    assert (state["name"], state["symbol"], state["uri"]) == known.TOKEN_2022_METADATA


async def test_token_accounts_of_both_programs(judge: AsyncClient):
    usdc = await judge.get_token_accounts_by_owner_json_parsed(known.ALICE, TokenAccountOpts(mint=known.USDC))
    amounts = [int(row.account.data.parsed["info"]["tokenAmount"]["amount"]) for row in usdc.value]
    assert sorted(amounts) == sorted(known.ALICE_USDC)
    other = await judge.get_token_accounts_by_owner(known.ALICE, TokenAccountOpts(program_id=known.TOKEN_2022_PROGRAM))
    assert len(other.value) == len(known.ALICE_TOKEN_2022)


async def test_blocks_form_a_chain(judge: AsyncClient):
    slots = (await judge.get_blocks(known.FIRST_SLOT, known.FIRST_SLOT + 12)).value
    assert not set(slots) & set(known.SKIPPED)
    blocks = [(await judge.get_block(slot, max_supported_transaction_version=0)).value for slot in slots]
    for slot, before, block in zip(slots[1:], blocks, blocks[1:], strict=False):
        assert block.previous_blockhash == before.blockhash
        assert block.block_height == before.block_height + 1
        assert block.parent_slot < slot
        assert len(block.transactions) == 1


@pytest.mark.parametrize(
    ("slot", "code"),
    [(known.SKIPPED[0], -32007), (5, -32001), (known.FIRST_SLOT + 10**6, -32004)],
)
async def test_slots_without_a_block(judge: AsyncClient, slot: int, code: int):
    response = await judge._provider.session.post(
        judge._provider.endpoint_uri,
        content=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "getBlock", "params": [slot]}),
        headers={"content-type": "application/json"},
    )
    assert response.json()["error"]["code"] == code
    with pytest.raises(RPCException):
        await judge.get_block(slot)


async def test_transactions(judge: AsyncClient, ledger: Ledger):
    signature = Signature.from_string(world.versioned(ledger))
    with pytest.raises(RPCException, match="Transaction version"):
        await judge.get_transaction(signature)
    found = (await judge.get_transaction(signature, max_supported_transaction_version=0)).value
    assert found.transaction.version == 0
    assert [str(key) for key in found.transaction.meta.loaded_addresses.writable] == [str(known.BOB)]
    failed = (await judge.get_transaction(Signature.from_string(world.failed(ledger)))).value
    assert failed.transaction.meta.err is not None
    assert failed.transaction.meta.fee == known.FEE
    listed = (await judge.get_signatures_for_address(known.BOB)).value
    assert str(listed[0].signature) == world.failed(ledger)


async def test_a_signed_transfer_moves_lamports(judge: AsyncClient):
    bank, receiver = known.key_of("bank"), known.key_of("receiver").pubkey()
    blockhash = (await judge.get_latest_blockhash()).value.blockhash
    move = transfer(TransferParams(from_pubkey=bank.pubkey(), to_pubkey=receiver, lamports=2_000_000))
    message = Message.new_with_blockhash([move], bank.pubkey(), blockhash)
    sent = (await judge.send_raw_transaction(bytes(Transaction([bank], message, blockhash)))).value
    meta = (await judge.get_transaction(sent)).value.transaction.meta
    assert meta.post_balances[1] - meta.pre_balances[1] == 2_000_000
    assert meta.pre_balances[0] - meta.post_balances[0] == 2_000_000 + known.FEE
    with pytest.raises(RPCException, match=r"BlockhashNotFound|AlreadyProcessed"):
        await judge.send_raw_transaction(bytes(Transaction([bank], message, blockhash)))
