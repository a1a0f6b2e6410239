"""What cosmpy's types and clients make of a node's answers, value by value against the gateway's, on every chain."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import cosmos_validator_pb2

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address, operator
from server.chains.view import ReadView
from tests.operations import Operations

if TYPE_CHECKING:
    from devnet.cosmos.process import CosmosChains
    from devnet.cosmos.world import CosmosChain
    from server.chains.registry import Chains

pytestmark = pytest.mark.devnet

every_chain = pytest.mark.parametrize("chain", list(CHAINS.values()), ids=lambda chain: chain.slug)


def ledger_of(model: CosmosChains, chain: CosmosChain) -> Any:
    """Return cosmpy's client, which blocks, on the chain's REST routes."""
    from cosmpy.aerial.client import LedgerClient
    from cosmpy.aerial.config import NetworkConfig

    url = "rest+" + next(one.url for one in model.endpoints[chain.slug] if one.kind == "rest")
    return LedgerClient(NetworkConfig(chain.chain_id, 0.025, chain.denom, chain.stake_denom, url))


async def at_one_block(driver: Operations, ask: Any) -> tuple[Any, int]:
    """Return what the client was reported, and the block that was the newest before and after."""
    for _ in range(5):
        before = await driver.read_height(ReadView())
        reported = await asyncio.to_thread(ask)
        if await driver.read_height(ReadView()) == before:
            return reported, before
    raise AssertionError("the chain never rests")


@every_chain
async def test_balances_and_metadata_are_the_clients(chains: Chains, model: CosmosChains, chain: CosmosChain) -> None:
    from cosmpy.protos.cosmos.bank.v1beta1.query_pb2 import QueryDenomMetadataRequest

    ledger, driver, alice = ledger_of(model, chain), Operations(chains.get(chain.slug)), address(chain, known.ALICE)

    def ask() -> Any:
        request = QueryDenomMetadataRequest(denom=chain.denom)
        return ledger.query_bank_all_balances(alice), ledger.bank.DenomMetadata(request).metadata

    (coins, theirs), block = await at_one_block(driver, ask)
    assert {coin.denom for coin in coins} >= {chain.denom, known.IBC_DENOM}
    for coin in coins:
        assert (await driver.read_token_balance(alice, coin.denom, ReadView(block))).raw == int(coin.amount)
    ours = (await driver.read_token_metadata(chain.denom, ReadView())).cosmos.metadata
    for member in ("description", "base", "display", "name", "symbol"):
        assert getattr(ours, member) == getattr(theirs, member)
    assert [(one.denom, one.exponent) for one in ours.denom_units] == [
        (one.denom, one.exponent) for one in theirs.denom_units
    ]


@every_chain
async def test_stakes_are_the_clients(chains: Chains, model: CosmosChains, chain: CosmosChain) -> None:
    from cosmpy.protos.cosmos.distribution.v1beta1.query_pb2 import QueryDelegationTotalRewardsRequest
    from cosmpy.protos.cosmos.staking.v1beta1.query_pb2 import (
        QueryDelegatorDelegationsRequest,
        QueryDelegatorUnbondingDelegationsRequest,
        QueryPoolRequest,
        QueryValidatorRequest,
    )
    from cosmpy.protos.cosmos.staking.v1beta1.staking_pb2 import BondStatus

    ledger, driver, alice = ledger_of(model, chain), Operations(chains.get(chain.slug)), address(chain, known.ALICE)

    def ask() -> Any:
        return (
            ledger.staking.DelegatorDelegations(QueryDelegatorDelegationsRequest(delegator_addr=alice)),
            ledger.staking.DelegatorUnbondingDelegations(
                QueryDelegatorUnbondingDelegationsRequest(delegator_addr=alice)
            ),
            ledger.staking.Pool(QueryPoolRequest()).pool,
            ledger.staking.Validator(QueryValidatorRequest(validator_addr=operator(chain, 1))).validator,
            ledger.distribution.DelegationTotalRewards(QueryDelegationTotalRewardsRequest(delegator_address=alice))
            if chain.distributes
            else None,
        )

    (held, returning, pool, validator, rewards), block = await at_one_block(driver, ask)
    assert [
        (row.delegation.validator_address, row.delegation.shares, row.balance.denom, row.balance.amount)
        for row in await driver.read_delegations(alice, ReadView(block))
    ] == [
        (row.delegation.validator_address, row.delegation.shares, row.balance.denom, row.balance.amount)
        for row in held.delegation_responses
    ]
    assert [
        (
            row.validator_address,
            [(int(one.creation_height), one.completion_time, one.initial_balance, one.balance) for one in row.entries],
        )
        for row in await driver.read_unbondings(alice, ReadView(block))
    ] == [
        (
            row.validator_address,
            [(one.creation_height, one.completion_time, one.initial_balance, one.balance) for one in row.entries],
        )
        for row in returning.unbonding_responses
    ]
    ours = await driver.read_pool(ReadView(block))
    assert (ours.bonded_tokens, ours.not_bonded_tokens) == (pool.bonded_tokens, pool.not_bonded_tokens)
    one = await driver.read_validator(operator(chain, 1), ReadView(block))
    # The numbers of the statuses are ours, their names are the chain's.
    status = cosmos_validator_pb2.BondStatus.Name(one.status)
    assert (one.operator_address, one.jailed, status, one.tokens, one.delegator_shares) == (
        validator.operator_address,
        validator.jailed,
        BondStatus.Name(validator.status),
        validator.tokens,
        validator.delegator_shares,
    )
    assert one.description.moniker == validator.description.moniker
    assert one.commission.commission_rates.rate == validator.commission.commission_rates.rate
    if rewards is not None:
        found = await driver.read_rewards(alice, ReadView(block))
        assert [
            (row.validator_address, [(coin.denom, coin.amount) for coin in row.reward]) for row in found.rewards
        ] == [(row.validator_address, [(coin.denom, coin.amount) for coin in row.reward]) for row in rewards.rewards]
        assert [(coin.denom, coin.amount) for coin in found.total] == [
            (coin.denom, coin.amount) for coin in rewards.total
        ]


@every_chain
async def test_outcomes_of_a_block_belong_to_what_cosmpy_decodes(
    chains: Chains, model: CosmosChains, chain: CosmosChain
) -> None:
    from cosmpy.protos.cosmos.tx.v1beta1.tx_pb2 import Tx
    from google.protobuf.message import DecodeError

    ledger, driver = ledger_of(model, chain), Operations(chains.get(chain.slug))
    undecoded = 0
    for number in range(chain.first, chain.first + known.SEEDED_BLOCKS + 1):
        rows = list((await driver.read_block_transactions(number, ReadView())).cosmos.transactions)
        block = json.loads((await driver.read_block_by_number(number, ReadView())).cosmos.native.json)
        texts = [base64.b64decode(text) for text in block["block"]["data"]["txs"]]
        assert [row.txhash for row in rows] == [hashlib.sha256(text).hexdigest().upper() for text in texts]
        for text, row in zip(texts, rows, strict=True):
            try:
                decoded = Tx.FromString(text)
            except DecodeError:
                undecoded += 1
                assert (row.code, row.gas_wanted) == (known.UNDECODABLE, "0")
                continue
            assert row.gas_wanted == str(decoded.auth_info.fee.gas_limit)
            reported = await asyncio.to_thread(ledger.query_tx, row.txhash)
            assert (reported.height, reported.code, str(reported.gas_wanted), str(reported.gas_used)) == (
                number,
                row.code,
                row.gas_wanted,
                row.gas_used,
            )
            receipt = (await driver.read_receipt(row.txhash, ReadView())).cosmos
            assert (receipt.tx_response.code, receipt.tx_response.gas_used) == (reported.code, str(reported.gas_used))
            kinds = [json.loads(message.json)["@type"] for message in receipt.tx.body.messages]
            assert kinds == [message.type_url for message in decoded.body.messages]
    assert undecoded == (0 if chain.slug == "noble" else 1)
