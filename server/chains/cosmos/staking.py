"""Staking and its rewards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from waypost.v1 import cosmos_pb2, cosmos_validator_pb2

from server.chains.capabilities.accounts import ReadsStaking
from server.chains.cosmos.answers import Digits, Fraction, Height, members_of, native, rest_of, timestamp_of
from server.chains.cosmos.names import parse_account, parse_operator
from server.chains.shared.cache import CachedState
from server.errors import HeightMissing, NotFound, NotSupported

if TYPE_CHECKING:
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView

_STAKING = "/cosmos/staking/v1beta1"
_REWARDS = "/cosmos/distribution/v1beta1/delegators/rewards"
_VALIDATOR_TYPED = frozenset(
    (
        "operator_address",
        "consensus_pubkey",
        "jailed",
        "status",
        "tokens",
        "delegator_shares",
        "description",
        "commission",
    )
)


_STATES = frozenset(
    (
        cosmos_validator_pb2.BOND_STATUS_BONDED,
        cosmos_validator_pb2.BOND_STATUS_UNBONDING,
        cosmos_validator_pb2.BOND_STATUS_UNBONDED,
    )
)


_DELEGATIONS: CachedState[list[cosmos_pb2.DelegationResponse]] = CachedState(
    "delegations",
    lambda rows: cosmos_pb2.GetDelegationsResponse(delegation_responses=rows).SerializeToString(),
    lambda data: list(cosmos_pb2.GetDelegationsResponse.FromString(data).delegation_responses),
)
_UNBONDINGS: CachedState[list[cosmos_pb2.UnbondingResponse]] = CachedState(
    "unbondings",
    lambda rows: cosmos_pb2.GetUnbondingDelegationsResponse(unbonding_responses=rows).SerializeToString(),
    lambda data: list(cosmos_pb2.GetUnbondingDelegationsResponse.FromString(data).unbonding_responses),
)
_CACHED_REWARDS = CachedState(
    "rewards", cosmos_pb2.GetRewardsResponse.SerializeToString, cosmos_pb2.GetRewardsResponse.FromString
)
_POOL = CachedState("pool", cosmos_pb2.StakingPool.SerializeToString, cosmos_pb2.StakingPool.FromString)
_VALIDATORS: CachedState[list[cosmos_validator_pb2.Validator]] = CachedState(
    "validators",
    lambda rows: cosmos_validator_pb2.GetValidatorsResponse(validators=rows).SerializeToString(),
    lambda data: list(cosmos_validator_pb2.GetValidatorsResponse.FromString(data).validators),
)
_VALIDATOR = CachedState(
    "validator", cosmos_validator_pb2.Validator.SerializeToString, cosmos_validator_pb2.Validator.FromString
)


class _Coin(msgspec.Struct):
    denom: str
    amount: Digits

    def message(self) -> cosmos_pb2.Coin:
        return cosmos_pb2.Coin(denom=self.denom, amount=self.amount)


class _Delegation(msgspec.Struct):
    delegator_address: str
    validator_address: str
    shares: Fraction


class _DelegationRow(msgspec.Struct):
    delegation: _Delegation
    balance: _Coin


class _Delegations(msgspec.Struct):
    delegation_responses: list[_DelegationRow]


class _Entry(msgspec.Struct):
    creation_height: Height
    completion_time: str
    initial_balance: Digits
    balance: Digits
    unbonding_id: Digits | None = None
    unbonding_on_hold_ref_count: Digits | None = None


class _UnbondingRow(msgspec.Struct):
    delegator_address: str
    validator_address: str
    entries: list[_Entry]


class _Unbondings(msgspec.Struct):
    unbonding_responses: list[_UnbondingRow]


class _Reward(msgspec.Struct):
    denom: str
    amount: Fraction

    def message(self) -> cosmos_pb2.Coin:
        return cosmos_pb2.Coin(denom=self.denom, amount=self.amount)


class _RewardRow(msgspec.Struct):
    validator_address: str
    reward: list[_Reward]


class _Rewards(msgspec.Struct):
    rewards: list[_RewardRow]
    total: list[_Reward]


class _Pool(msgspec.Struct):
    not_bonded_tokens: Digits
    bonded_tokens: Digits


class _PoolAnswer(msgspec.Struct):
    pool: _Pool


class _Rates(msgspec.Struct):
    rate: Fraction
    max_rate: Fraction
    max_change_rate: Fraction


class _Commission(msgspec.Struct):
    commission_rates: _Rates
    update_time: str


class _Description(msgspec.Struct):
    moniker: str = ""
    identity: str = ""
    website: str = ""
    security_contact: str = ""
    details: str = ""


class _Validator(msgspec.Struct):
    operator_address: str
    consensus_pubkey: msgspec.Raw
    jailed: bool
    status: str
    tokens: Digits
    delegator_shares: Fraction
    description: _Description
    commission: _Commission


class _Validators(msgspec.Struct):
    validators: list[msgspec.Raw]


class _ValidatorAnswer(msgspec.Struct):
    validator: msgspec.Raw


class StakingReader(ReadsStaking):
    """Reads the staking and distribution modules of one chain."""

    def __init__(self, nodes: CosmosNodes, cache: ChainCache) -> None:
        self._nodes = nodes
        self._cache = cache

    async def read_delegations(self, delegator: str, view: ReadView) -> list[cosmos_pb2.DelegationResponse]:
        """Return what a delegator has staked, one row per validator; none for an unknown address."""
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        return await self._cache.read_state(
            view, _DELEGATIONS, account.encode(), lambda: self._delegations(account, view)
        )

    async def read_unbondings(self, delegator: str, view: ReadView) -> list[cosmos_pb2.UnbondingResponse]:
        """Return what is on its way back to a delegator, one row per validator."""
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        path = f"{_STAKING}/delegators/{account}/unbonding_delegations"
        route = f"{_STAKING}/delegators/unbonding_delegations"
        read = partial(_read_unbondings, account)
        return await self._cache.read_state(
            view,
            _UNBONDINGS,
            account.encode(),
            lambda: self._nodes.pages(route, view, read, lambda row: row.validator_address, path=path),
        )

    async def read_rewards(self, delegator: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        """Return what a delegator can withdraw, without `chain` and `delegator`.

        NotSupported on a chain without the distribution module.
        """
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        return await self._cache.read_state(
            view, _CACHED_REWARDS, account.encode(), lambda: self._rewards(account, view)
        )

    async def read_pool(self, view: ReadView) -> cosmos_pb2.StakingPool:
        """Return how much is staked in all."""
        return await self._cache.read_state(
            view, _POOL, b"", lambda: self._nodes.get(f"{_STAKING}/pool", view, _read_pool)
        )

    async def read_validators(self, status: str | None, view: ReadView) -> list[cosmos_validator_pb2.Validator]:
        """Return the validators of a status (`BOND_STATUS_BONDED`; None: of every one), those with most stake first."""
        return await self._cache.read_state(
            view, _VALIDATORS, (status or "").encode(), lambda: self._validators(status, view)
        )

    async def read_validator(self, operator: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        """Return one validator; NotFound for an address that is none."""
        name = parse_operator(operator, self._nodes.facts.bech32, "validator")
        return await self._cache.read_state(view, _VALIDATOR, name.encode(), lambda: self._validator(name, view))

    async def _delegations(self, account: str, view: ReadView) -> list[cosmos_pb2.DelegationResponse]:
        route = f"{_STAKING}/delegations"
        try:
            return await self._nodes.pages(
                route,
                view,
                partial(_read_delegations, account),
                lambda row: row.delegation.validator_address,
                path=f"{route}/{account}",
            )
        except HeightMissing:
            raise
        except NotFound:
            # Older nodes answer so for a delegator without delegations (cosmos-sdk issue 9356); newer ones list none.
            return []

    async def _rewards(self, account: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        path = f"/cosmos/distribution/v1beta1/delegators/{account}/rewards"
        try:
            return await self._nodes.get(_REWARDS, view, _read_rewards, path=path)
        except NotSupported:
            words = f"{self._nodes.slug} pays no staking rewards: it has no distribution module"
            raise NotSupported(words, field="chain") from None

    async def _validators(self, status: str | None, view: ReadView) -> list[cosmos_validator_pb2.Validator]:
        route = f"{_STAKING}/validators"
        query = [] if status is None else [("status", status)]
        rows = await self._nodes.pages(
            route, view, _read_validators, lambda row: row.operator_address, path=route, query=query
        )
        return sorted(rows, key=lambda row: (-int(row.tokens), row.operator_address))

    async def _validator(self, name: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        route = f"{_STAKING}/validators/one"

        def read(body: bytes) -> cosmos_validator_pb2.Validator:
            found = _validator(msgspec.json.decode(body, type=_ValidatorAnswer).validator)
            if found.operator_address != name:
                raise ValueError("another validator than the one asked for")
            return found

        try:
            return await self._nodes.get(route, view, read, path=f"{_STAKING}/validators/{name}")
        except HeightMissing:
            raise
        except NotFound:
            raise NotFound(f"{self._nodes.slug} has no validator of that address") from None


# Each raises ValueError, or msgspec's error, for an answer of another shape, or about another account.


def _check_delegator(account: str, named: list[str]) -> None:
    if any(one != account for one in named):
        raise ValueError("another delegator than the one asked for")


def _read_delegations(account: str, body: bytes) -> list[cosmos_pb2.DelegationResponse]:
    rows = msgspec.json.decode(body, type=_Delegations).delegation_responses
    _check_delegator(account, [row.delegation.delegator_address for row in rows])
    return [
        cosmos_pb2.DelegationResponse(
            delegation=cosmos_pb2.Delegation(
                delegator_address=row.delegation.delegator_address,
                validator_address=row.delegation.validator_address,
                shares=row.delegation.shares,
            ),
            balance=row.balance.message(),
        )
        for row in rows
    ]


def _read_unbondings(account: str, body: bytes) -> list[cosmos_pb2.UnbondingResponse]:
    rows = msgspec.json.decode(body, type=_Unbondings).unbonding_responses
    _check_delegator(account, [row.delegator_address for row in rows])
    return [
        cosmos_pb2.UnbondingResponse(
            delegator_address=row.delegator_address,
            validator_address=row.validator_address,
            entries=[
                cosmos_pb2.UnbondingEntry(
                    creation_height=int(entry.creation_height),
                    completion_time=timestamp_of(entry.completion_time),
                    initial_balance=entry.initial_balance,
                    balance=entry.balance,
                    unbonding_id=entry.unbonding_id,
                    unbonding_on_hold_ref_count=entry.unbonding_on_hold_ref_count,
                )
                for entry in row.entries
            ],
        )
        for row in rows
    ]


def _read_rewards(body: bytes) -> cosmos_pb2.GetRewardsResponse:
    found = msgspec.json.decode(body, type=_Rewards)
    rows = [
        cosmos_pb2.ValidatorReward(
            validator_address=row.validator_address, reward=[coin.message() for coin in row.reward]
        )
        for row in found.rewards
    ]
    return cosmos_pb2.GetRewardsResponse(rewards=rows, total=[coin.message() for coin in found.total])


def _read_pool(body: bytes) -> cosmos_pb2.StakingPool:
    found = msgspec.json.decode(body, type=_PoolAnswer).pool
    return cosmos_pb2.StakingPool(not_bonded_tokens=found.not_bonded_tokens, bonded_tokens=found.bonded_tokens)


def _read_validators(body: bytes) -> list[cosmos_validator_pb2.Validator]:
    return [_validator(raw) for raw in msgspec.json.decode(body, type=_Validators).validators]


def _validator(raw: msgspec.Raw) -> cosmos_validator_pb2.Validator:
    found = msgspec.json.decode(raw, type=_Validator)
    rates = found.commission.commission_rates
    status: Any = cosmos_validator_pb2.BondStatus.Value(found.status)
    if status not in _STATES:
        raise ValueError("no state of a validator")
    return cosmos_validator_pb2.Validator(
        operator_address=found.operator_address,
        consensus_pubkey=native(found.consensus_pubkey),
        jailed=found.jailed,
        status=status,
        tokens=found.tokens,
        delegator_shares=found.delegator_shares,
        description=cosmos_validator_pb2.ValidatorDescription(**msgspec.structs.asdict(found.description)),
        commission=cosmos_validator_pb2.ValidatorCommission(
            commission_rates=cosmos_validator_pb2.CommissionRates(**msgspec.structs.asdict(rates)),
            update_time=timestamp_of(found.commission.update_time),
        ),
        native=rest_of(members_of(raw), _VALIDATOR_TYPED),
    )
