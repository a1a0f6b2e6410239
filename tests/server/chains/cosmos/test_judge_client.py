"""The unmodified cosmpy client reads and writes the model over REST; the gateway answers the same figures."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known_cosmos as known
from devnet.cosmos.process import CosmosChains
from devnet.cosmos.world import CHAINS, address, key, operator
from devnet.watchdog import Watchdog
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.cosmos.conftest import settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet


HUB = CHAINS["cosmoshub"]
ALICE = address(HUB, known.ALICE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own_model() -> AsyncIterator[CosmosChains]:
    """A chain of this module's own: its tests send transactions."""
    chains = CosmosChains(["cosmoshub"])
    with Watchdog() as guard:
        await chains.start(guard)
        yield chains
        await chains.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def own_driver(own_model: CosmosChains) -> AsyncIterator[Operations]:
    async with open_session() as http:
        loaded = Chains.load(settings_of(own_model), http)
        yield Operations(loaded.get("cosmoshub"))
        await loaded.close()


@pytest.fixture
def ledger(own_model: CosmosChains) -> Any:
    from cosmpy.aerial.client import LedgerClient
    from cosmpy.aerial.config import NetworkConfig

    url = "rest+" + own_model.endpoints["cosmoshub"][0].url
    config = NetworkConfig(HUB.chain_id, 0.025, HUB.denom, HUB.denom, url)
    return LedgerClient(config, query_interval_secs=0)


async def test_it_reads_what_the_gateway_reads(ledger: Any, own_driver: Operations) -> None:
    def ask() -> tuple[Any, ...]:
        return (
            ledger.query_bank_balance(ALICE, known.IBC_DENOM),
            ledger.query_account(ALICE),
            ledger.query_staking_summary(ALICE),
            ledger.query_validators(),
            ledger.query_block(HUB.first + known.STAKED_AT),
            ledger.query_chain_id(),
        )

    balance, account, summary, validators, block, chain_id = await asyncio.to_thread(ask)
    view = ReadView()
    assert balance == (await own_driver.read_token_balance(ALICE, known.IBC_DENOM, view)).raw
    ours = await own_driver.read_account(ALICE, ReadView())
    assert (str(account.number), str(account.sequence)) == (ours.account_number, ours.sequence)
    delegations = await own_driver.read_delegations(ALICE, ReadView())
    assert sum(position.amount for position in summary.current_positions) == sum(
        int(row.balance.amount) for row in delegations
    )
    unbonding = await own_driver.read_unbondings(ALICE, ReadView())
    assert sum(position.amount for position in summary.unbonding_positions) == sum(
        int(entry.balance) for row in unbonding for entry in row.entries
    )
    bonded = await own_driver.read_validators("BOND_STATUS_BONDED", ReadView())
    assert {(str(one.address), one.tokens, one.moniker) for one in validators} == {
        (row.operator_address, int(row.tokens), row.description.moniker) for row in bonded
    }
    listed = (await own_driver.read_block_transactions(block.height, ReadView())).cosmos
    assert [row.txhash for row in listed.transactions] == block.tx_hashes
    assert chain_id == HUB.chain_id


async def test_it_sends_and_the_gateway_sees_it(ledger: Any, own_driver: Operations) -> None:
    from cosmpy.aerial.wallet import LocalWallet

    wallet = LocalWallet(key(known.ALICE), prefix=HUB.prefix)
    carol = address(HUB, known.CAROL)

    def send() -> Any:
        sent = ledger.send_tokens(carol, 4321, HUB.denom, wallet)
        sent.wait_to_complete()
        return sent.response

    before = (await own_driver.read_token_balance(carol, HUB.denom, ReadView())).raw
    response = await asyncio.to_thread(send)
    after = await own_driver.read_token_balance(carol, HUB.denom, ReadView())
    assert after.raw - before == 4321
    seen = (await own_driver.read_receipt(response.hash, ReadView())).cosmos.tx_response
    assert (seen.height, seen.code, seen.gas_used) == (response.height, response.code, str(response.gas_used))

    def stake() -> Any:
        sent = ledger.delegate_tokens(operator(HUB, 3), 1_000_000, wallet)
        sent.wait_to_complete()
        return sent.response

    staked = await asyncio.to_thread(stake)
    assert staked.code == 0
    rows = await own_driver.read_delegations(ALICE, ReadView())
    amounts = {row.delegation.validator_address: row.balance.amount for row in rows}
    assert amounts[operator(HUB, 3)] == "1000000"
    block = (await own_driver.read_block_transactions(staked.height, ReadView())).cosmos
    assert block.transactions[0].txhash == staked.hash


async def test_every_page_of_what_is_on_its_way_back_is_read(
    ledger: Any, own_driver: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cosmpy.aerial.wallet import LocalWallet

    wallet = LocalWallet(key(known.ALICE), prefix=HUB.prefix)

    def take_back() -> Any:
        ledger.undelegate_tokens(operator(HUB, 2), 1_000_000, wallet).wait_to_complete()
        return ledger.query_staking_summary(ALICE).unbonding_positions

    positions = await asyncio.to_thread(take_back)
    assert len(positions) == 2
    monkeypatch.setattr("server.chains.cosmos.nodes._PAGE_ROWS", "1")
    # A block of the caller's own choice: nothing that was kept of an older one answers.
    head = await own_driver.read_height(ReadView())
    rows = await own_driver.read_unbondings(ALICE, ReadView(head))
    assert {row.validator_address: sum(int(entry.balance) for entry in row.entries) for row in rows} == {
        str(position.validator): int(position.amount) for position in positions
    }


async def test_a_wrong_signature_or_sequence_gets_into_no_block(own_model: CosmosChains, ledger: Any) -> None:
    from cosmpy.aerial.exceptions import NotFoundError
    from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
    from cosmpy.protos.cosmos.tx.v1beta1.service_pb2 import BROADCAST_MODE_SYNC, BroadcastTxRequest

    from devnet.cosmos.transactions import Signer, coin, fee_of, sign

    account = await asyncio.to_thread(ledger.query_account, ALICE)
    message = MsgSend(from_address=ALICE, to_address=address(HUB, known.BOB), amount=[coin(HUB.denom, 1)])
    signers = {
        4: (Signer(key(known.ALICE), "another-chain", account.number), account.sequence),
        32: (Signer(key(known.ALICE), HUB.chain_id, account.number), account.sequence + 1),
    }
    for code, (signer, sequence) in signers.items():
        data = sign(signer, sequence, [message], fee_of(HUB.denom))
        request = BroadcastTxRequest(tx_bytes=data, mode=BROADCAST_MODE_SYNC)
        response = (await asyncio.to_thread(ledger.txs.BroadcastTx, request)).tx_response
        assert response.code == code
        assert response.txhash == hashlib.sha256(data).hexdigest().upper()
        with pytest.raises(NotFoundError):
            await asyncio.to_thread(ledger.query_tx, response.txhash)
