"""cosmpy's REST query classes on the gateway as on the node. Its LedgerClient takes no path in an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cosmpy.aerial.urls import parse_url
from cosmpy.auth.rest_client import AuthRestClient
from cosmpy.bank.rest_client import BankRestClient
from cosmpy.common.rest_client import RestClient
from cosmpy.distribution.rest_client import DistributionRestClient
from cosmpy.protos.cosmos.auth.v1beta1.query_pb2 import QueryAccountRequest
from cosmpy.protos.cosmos.bank.v1beta1 import query_pb2 as bank
from cosmpy.protos.cosmos.bank.v1beta1 import tx_pb2 as _messages  # noqa: F401  # of transactions
from cosmpy.protos.cosmos.base.query.v1beta1.pagination_pb2 import PageRequest
from cosmpy.protos.cosmos.base.tendermint.v1beta1 import query_pb2 as base
from cosmpy.protos.cosmos.crypto.ed25519 import keys_pb2 as _keys  # noqa: F401  # of validators
from cosmpy.protos.cosmos.distribution.v1beta1 import query_pb2 as distribution
from cosmpy.protos.cosmos.staking.v1beta1 import query_pb2 as staking
from cosmpy.protos.cosmos.tx.v1beta1.service_pb2 import GetTxRequest, SimulateRequest
from cosmpy.staking.rest_client import StakingRestClient
from cosmpy.tendermint.rest_client import CosmosBaseTendermintRestClient
from cosmpy.tx.rest_client import TxRestClient

from tests.each import each
from tests.faces.beside import CHAINS, KNOWN, outcome, pair

if TYPE_CHECKING:
    from collections.abc import Callable

FACTS = KNOWN["cosmoshub"]
ALICE, BOB, NOBODY = FACTS["alice"], FACTS["bob"], FACTS["nobody"]
DENOM, VALIDATOR = FACTS["denom"], FACTS["validator"]
NODE, GATEWAY = pair("cosmoshub", RestClient, "rest")
PAGE = PageRequest(limit=2, count_total=True)

READS: dict[str, Callable[[Any], Any]] = {
    "node": lambda rest: CosmosBaseTendermintRestClient(rest).GetNodeInfo(base.GetNodeInfoRequest()),
    "syncing": lambda rest: CosmosBaseTendermintRestClient(rest).GetSyncing(base.GetSyncingRequest()),
    "block": lambda rest: CosmosBaseTendermintRestClient(rest).GetBlockByHeight(
        base.GetBlockByHeightRequest(height=FACTS["sentAt"])
    ),
    "account": lambda rest: AuthRestClient(rest).Account(QueryAccountRequest(address=ALICE)),
    "balance": lambda rest: BankRestClient(rest).Balance(bank.QueryBalanceRequest(address=BOB, denom=DENOM)),
    "balance of an IBC denom": lambda rest: BankRestClient(rest).Balance(
        bank.QueryBalanceRequest(address=ALICE, denom=FACTS["ibc"])
    ),
    "balances": lambda rest: BankRestClient(rest).AllBalances(bank.QueryAllBalancesRequest(address=ALICE)),
    "balances, a page": lambda rest: BankRestClient(rest).AllBalances(
        bank.QueryAllBalancesRequest(address=ALICE, pagination=PAGE)
    ),
    "metadata of a denom": lambda rest: BankRestClient(rest).DenomMetadata(bank.QueryDenomMetadataRequest(denom=DENOM)),
    "validators": lambda rest: StakingRestClient(rest).Validators(
        staking.QueryValidatorsRequest(status="BOND_STATUS_BONDED", pagination=PAGE)
    ),
    "validator": lambda rest: StakingRestClient(rest).Validator(
        staking.QueryValidatorRequest(validator_addr=VALIDATOR)
    ),
    "delegations": lambda rest: StakingRestClient(rest).DelegatorDelegations(
        staking.QueryDelegatorDelegationsRequest(delegator_addr=ALICE)
    ),
    "unbonding": lambda rest: StakingRestClient(rest).DelegatorUnbondingDelegations(
        staking.QueryDelegatorUnbondingDelegationsRequest(delegator_addr=ALICE)
    ),
    "pool": lambda rest: StakingRestClient(rest).Pool(staking.QueryPoolRequest()),
    "parameters of staking": lambda rest: StakingRestClient(rest).Params(staking.QueryParamsRequest()),
    "rewards": lambda rest: DistributionRestClient(rest).DelegationTotalRewards(
        distribution.QueryDelegationTotalRewardsRequest(delegator_address=ALICE)
    ),
    "rewards of a validator": lambda rest: DistributionRestClient(rest).DelegationRewards(
        distribution.QueryDelegationRewardsRequest(delegator_address=ALICE, validator_address=VALIDATOR)
    ),
    "transaction": lambda rest: TxRestClient(rest).GetTx(GetTxRequest(hash=FACTS["hash"])),
}
FAILING: dict[str, Callable[[Any], Any]] = {
    "no account": lambda rest: AuthRestClient(rest).Account(QueryAccountRequest(address=NOBODY)),
    "no address": lambda rest: BankRestClient(rest).AllBalances(bank.QueryAllBalancesRequest(address="cosmos1nope")),
    "no denom": lambda rest: BankRestClient(rest).DenomMetadata(bank.QueryDenomMetadataRequest(denom="unothing")),
    "no transaction": lambda rest: TxRestClient(rest).GetTx(GetTxRequest(hash="AB" * 32)),
    "no block yet": lambda rest: CosmosBaseTendermintRestClient(rest).GetBlockByHeight(
        base.GetBlockByHeightRequest(height=10**9)
    ),
}


@each(READS)
def test_a_read_gives_what_the_node_gives(name: str) -> None:
    expected = outcome(READS[name], NODE)
    assert expected.error is None
    assert outcome(READS[name], GATEWAY) == expected


@each(FAILING)
def test_a_read_fails_as_on_the_node(name: str) -> None:
    expected = outcome(FAILING[name], NODE)
    assert expected.error is not None
    assert outcome(FAILING[name], GATEWAY) == expected


def test_pages_are_walked() -> None:
    def walk(rest: Any) -> list[str]:
        names: list[str] = []
        page = PageRequest(limit=1)
        while True:
            answer = StakingRestClient(rest).Validators(staking.QueryValidatorsRequest(pagination=page))
            names += [validator.operator_address for validator in answer.validators]
            if not answer.pagination.next_key:
                return names
            page = PageRequest(limit=1, key=answer.pagination.next_key)

    assert walk(GATEWAY) == walk(NODE)


def test_what_writes_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Response: 40[45]"):
        TxRestClient(GATEWAY).Simulate(SimulateRequest(tx_bytes=b"\x00"))


def test_the_ledger_client_takes_no_path() -> None:
    """The reason why the page names the query classes: the client keeps only host and port of an address."""
    address = CHAINS["cosmoshub"]["gateway"]["rest"]
    assert "/rpc/" not in parse_url(f"rest+{address}").rest_url
