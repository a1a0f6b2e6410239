"""Reads of Cosmos chains through their drivers, compared with what is known of the model and with its own answers."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from devnet import known_cosmos as known
from devnet.cosmos.ledger import VALIDATOR_STAKES
from devnet.cosmos.transactions import hash_of
from devnet.cosmos.world import CHAINS, address, operator
from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, NotFound, NotSupported
from server.rpc.pipeline.errors import facts_of
from tests.operations import Operations

if TYPE_CHECKING:
    import aiohttp

    from devnet.cosmos.process import CosmosChains
    from server.chains.registry import Chains
    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE, BOB = address(HUB, known.ALICE), address(HUB, known.BOB)
FACTORY = f"factory/{ALICE}/{known.FACTORY_SUBDENOM}"
STAKED = HUB.first + known.STAKED_AT


@pytest.mark.parametrize("slug", list(CHAINS))
async def test_health_and_height(chains: Chains, slug: str) -> None:
    driver = Operations(chains.get(slug))
    health = await driver.read_health()
    assert health.state == "ok"
    assert health.height >= CHAINS[slug].first + known.SEEDED_BLOCKS
    assert await driver.read_height(ReadView()) >= health.height
    assert driver.last_state() == "ok"


@pytest.mark.parametrize("slug", list(CHAINS))
async def test_balances_of_native_ibc_and_factory_denoms(chains: Chains, slug: str) -> None:
    chain, driver = CHAINS[slug], Operations(chains.get(slug))
    alice, bob = address(chain, known.ALICE), address(chain, known.BOB)
    native = await driver.read_token_balance(bob, chain.denom, ReadView())
    assert (native.raw, native.decimals, native.token) == (known.SENT, 6, chain.denom)
    ibc = await driver.read_token_balance(alice, known.IBC_DENOM.lower(), ReadView())
    assert (ibc.raw, ibc.decimals) == (known.IBC_HELD, None)
    gold = await driver.read_token_balance(alice, f"factory/{alice}/{known.FACTORY_SUBDENOM}", ReadView())
    assert (gold.raw, gold.decimals) == (known.FACTORY_HELD, None)
    stranger = await driver.read_token_balance(address(chain, known.UNTOUCHED), "uwhatever", ReadView())
    assert stranger.raw == 0


async def test_one_request_answers_a_native_balance(driver: Operations, tally: EndpointTally) -> None:
    await driver.read_token_balance(BOB, HUB.denom, ReadView())
    assert tally.requests == ["model"]


async def test_history(driver: Operations) -> None:
    before = await driver.read_token_balance(BOB, HUB.denom, ReadView(HUB.first + known.SENT_AT - 1))
    after = await driver.read_token_balance(BOB, HUB.denom, ReadView(HUB.first + known.SENT_AT))
    assert (before.raw, after.raw, after.block) == (0, known.SENT, HUB.first + known.SENT_AT)
    with pytest.raises(ArchiveRequired):
        await driver.read_token_balance(BOB, HUB.denom, ReadView(5))
    with pytest.raises(NotFound):
        await driver.read_token_balance(BOB, HUB.denom, ReadView(HUB.first + 10**6))


async def test_metadata_and_supply(driver: Operations) -> None:
    found = (await driver.read_token_metadata(HUB.denom, ReadView())).cosmos.metadata
    assert (found.symbol, found.display, found.base) == ("ATOM", "atom", "uatom")
    assert [(unit.denom, unit.exponent) for unit in found.denom_units] == [("uatom", 0), ("atom", 6)]
    assert (await driver.read_token_metadata(FACTORY, ReadView())).cosmos.metadata.base == FACTORY
    with pytest.raises(NotFound):
        await driver.read_token_metadata(known.IBC_DENOM, ReadView())
    supply = await driver.read_supply(known.IBC_DENOM, ReadView())
    assert (supply.denom, supply.amount) == (known.IBC_DENOM, str(known.IBC_HELD))
    assert (await driver.read_supply(FACTORY, ReadView())).amount == str(known.FACTORY_HELD)


async def test_blocks_by_number_and_hash_are_the_node_s_own(
    driver: Operations, model: CosmosChains, plain: aiohttp.ClientSession
) -> None:
    by_number = (await driver.read_block_by_number(STAKED, ReadView())).cosmos
    async with plain.get(
        f"{model.endpoints['cosmoshub'][0].url}/cosmos/base/tendermint/v1beta1/blocks/{STAKED}"
    ) as got:
        answer = await got.json()
    assert by_number.number == STAKED
    assert by_number.hash == base64.b64decode(answer["block_id"]["hash"]).hex().upper()
    assert json.loads(by_number.native.json) == answer
    by_hash = (await driver.read_block_by_hash("0x" + by_number.hash.lower(), ReadView())).cosmos
    assert (by_hash.number, by_hash.hash) == (by_number.number, by_number.hash)
    with pytest.raises(NotFound):
        await driver.read_block_by_hash("ab" * 32, ReadView())
    with pytest.raises(NotFound):
        await driver.read_block_by_number(HUB.first + 10**6, ReadView())
    with pytest.raises(ArchiveRequired) as caught:
        await driver.read_block_by_number(5, ReadView())
    assert facts_of(caught.value) == {"oldestBlock": str(HUB.first)}


async def test_transactions_of_a_block_keep_their_place_though_one_cannot_be_decoded(driver: Operations) -> None:
    block = (await driver.read_block_transactions(STAKED, ReadView())).cosmos
    assert [row.code for row in block.transactions] == [0, known.UNDECODABLE, 0]
    assert block.transactions[1].txhash == hash_of(known.GARBAGE)
    assert [row.gas_wanted for row in block.transactions] == ["200000", "0", "200000"]
    assert (block.transaction_count, block.block_number) == (3, STAKED)
    first = (await driver.read_receipt(block.transactions[0].txhash, ReadView())).cosmos.tx_response
    outcome = block.transactions[0]
    assert (first.txhash, first.code, first.gas_used) == (outcome.txhash, outcome.code, outcome.gas_used)
    empty = (await driver.read_block_transactions(HUB.first, ReadView())).cosmos
    assert (empty.transaction_count, list(empty.transactions)) == (0, [])


async def test_transaction_and_receipt(driver: Operations) -> None:
    block = (await driver.read_block_transactions(HUB.first + known.SENT_AT, ReadView())).cosmos
    txhash = block.transactions[0].txhash
    transaction = (await driver.read_transaction("0x" + txhash.lower(), ReadView())).cosmos
    assert (transaction.from_address, transaction.to) == (ALICE, BOB)
    assert transaction.block_number == HUB.first + known.SENT_AT
    receipt = transaction.receipt
    assert receipt.tx.type == "/cosmos.tx.v1beta1.Tx"
    message = json.loads(receipt.tx.body.messages[0].json)
    assert message["@type"] == "/cosmos.bank.v1beta1.MsgSend"
    assert message["amount"] == [{"denom": HUB.denom, "amount": str(known.SENT)}]
    assert "tx" not in json.loads(receipt.tx_response.native.json)
    failed = (await driver.read_block_transactions(HUB.first + known.FAILED_AT, ReadView())).cosmos.transactions[0]
    response = (await driver.read_receipt(failed.txhash, ReadView())).cosmos.tx_response
    assert response.code == failed.code == known.INSUFFICIENT_FUNDS
    assert "insufficient funds" in response.raw_log
    with pytest.raises(NotFound):
        await driver.read_receipt("ab" * 32, ReadView())


async def test_block_results(driver: Operations) -> None:
    results = await driver.read_block_results(STAKED, ReadView())
    assert [row.code for row in results.txs_results] == [0, known.UNDECODABLE, 0]
    assert json.loads(results.txs_results[0].native.json)["events"][0]["type"] == "delegate"
    assert "finalize_block_events" in json.loads(results.native.json)


async def test_accounts_of_every_kind(driver: Operations) -> None:
    alice = await driver.read_account(ALICE, ReadView())
    assert (alice.type, alice.address) == ("/cosmos.auth.v1beta1.BaseAccount", ALICE)
    assert json.loads(alice.pub_key.json)["@type"] == "/cosmos.crypto.secp256k1.PubKey"
    assert int(alice.sequence) >= 5
    bob = await driver.read_account(BOB, ReadView())
    assert (bob.HasField("pub_key"), bob.sequence) == (False, "0")
    vester = await driver.read_account(address(HUB, known.VESTER), ReadView())
    assert vester.type == "/cosmos.vesting.v1beta1.ContinuousVestingAccount"
    assert vester.address == address(HUB, known.VESTER)
    module = await driver.read_account(address(HUB, known.STAKING_MODULE), ReadView())
    assert module.type == "/cosmos.auth.v1beta1.ModuleAccount"
    with pytest.raises(NotFound):
        await driver.read_account(address(HUB, known.UNTOUCHED), ReadView())


async def test_stakes(driver: Operations) -> None:
    first, second = operator(HUB, 1), operator(HUB, 2)
    rows = await driver.read_delegations(ALICE, ReadView())
    held = known.DELEGATED - known.UNDELEGATED
    assert [(row.delegation.validator_address, row.balance.amount) for row in rows] == [
        (first, str(held)),
        (second, str(known.DELEGATED_TO_SECOND)),
    ]
    assert rows[0].delegation.shares == f"{held}.{'0' * 18}"
    [unbonding] = await driver.read_unbondings(ALICE, ReadView())
    assert unbonding.validator_address == first
    assert unbonding.entries[0].balance == str(known.UNDELEGATED)
    assert unbonding.entries[0].creation_height == HUB.first + known.UNSTAKED_AT
    assert await driver.read_delegations(BOB, ReadView()) == []
    view = ReadView(STAKED + 1)
    rewards = await driver.read_rewards(ALICE, view)
    # A millionth of the stake per block; the undelegation of this block set the first one back.
    assert [[coin.amount for coin in row.reward] for row in rewards.rewards] == [[], ["5." + "0" * 18]]
    assert [coin.amount for coin in rewards.total] == ["5." + "0" * 18]


async def test_validators_and_pool(driver: Operations) -> None:
    bonded = await driver.read_validators("BOND_STATUS_BONDED", ReadView())
    assert [row.operator_address for row in bonded] == [operator(HUB, number) for number in (1, 2, 3)]
    [idle] = await driver.read_validators("BOND_STATUS_UNBONDED", ReadView())
    assert idle.jailed
    one = await driver.read_validator(operator(HUB, 2), ReadView())
    assert one == bonded[1]
    assert one.commission.commission_rates.rate == "0.02" + "0" * 16
    assert "min_self_delegation" in json.loads(one.native.json)
    pool = await driver.read_pool(ReadView())
    staked = known.DELEGATED + known.DELEGATED_TO_SECOND - known.UNDELEGATED
    assert int(pool.bonded_tokens) == sum(VALIDATOR_STAKES) + staked
    with pytest.raises(NotFound):
        await driver.read_validator(operator(HUB, 9), ReadView())


async def test_noble_has_no_rewards(chains: Chains) -> None:
    noble = CHAINS["noble"]
    with pytest.raises(NotSupported):
        await Operations(chains.get("noble")).read_rewards(address(noble, known.ALICE), ReadView())


async def test_every_page_is_read(driver: Operations, monkeypatch: pytest.MonkeyPatch, tally: EndpointTally) -> None:
    monkeypatch.setattr("server.chains.cosmos.nodes._PAGE_ROWS", "1")
    rows = await driver.read_validators("BOND_STATUS_BONDED", ReadView())
    assert len(rows) == 3
    assert len(tally.requests) == 3
    assert len(await driver.read_delegations(ALICE, ReadView())) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        BOB[:-1] + ("q" if BOB[-1] != "q" else "p"),
        address(CHAINS["osmosis"], known.BOB),
        operator(HUB, 1),
        BOB[:10] + BOB[10:].upper(),
        "cosmos1",
        "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    ],
)
async def test_wrong_addresses_are_refused_before_any_node_is_asked(
    driver: Operations, tally: EndpointTally, wrong: str
) -> None:
    with pytest.raises(InvalidArgument):
        await driver.read_account(wrong, ReadView())
    with pytest.raises(InvalidArgument):
        await driver.read_delegations(wrong, ReadView())
    with pytest.raises(InvalidArgument):
        await driver.read_token_balance(wrong, HUB.denom, ReadView())
    assert tally.requests == []


async def test_calls_are_passed_on(driver: Operations) -> None:
    status = json.loads(await driver.pass_call("status", None, ReadView()))
    assert status["node_info"]["network"] == HUB.chain_id
    block = json.loads(await driver.pass_call("block", json.dumps([str(STAKED)]).encode(), ReadView()))
    assert block["block"]["header"]["height"] == str(STAKED)
    for method in ("broadcast_tx_sync", "subscribe", "genesis", "tx_search", "unsafe_flush_mempool"):
        with pytest.raises(InvalidArgument):
            await driver.pass_call(method, None, ReadView())
