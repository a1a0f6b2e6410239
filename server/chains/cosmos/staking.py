"""Staking and its rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import cosmos_pb2, cosmos_validator_pb2

from server.chains.cosmos.members import Members, members_of, native, rest_of, timestamp_of
from server.chains.cosmos.names import parse_account, parse_operator
from server.errors import NotFound, NotSupported

if TYPE_CHECKING:
    from server.chains.cosmos.nodes import CosmosNodes
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


class _Coin(msgspec.Struct):
    denom: str
    amount: str

    def message(self) -> cosmos_pb2.Coin:
        return cosmos_pb2.Coin(denom=self.denom, amount=self.amount)


class _Delegation(msgspec.Struct):
    delegator_address: str
    validator_address: str
    shares: str


class _DelegationRow(msgspec.Struct):
    delegation: _Delegation
    balance: _Coin


class _Delegations(msgspec.Struct):
    delegation_responses: list[_DelegationRow] | None = None


class _Entry(msgspec.Struct):
    creation_height: str
    completion_time: str
    initial_balance: str
    balance: str


class _UnbondingRow(msgspec.Struct):
    delegator_address: str
    validator_address: str
    entries: list[_Entry]


class _Unbondings(msgspec.Struct):
    unbonding_responses: list[_UnbondingRow] | None = None


class _RewardRow(msgspec.Struct):
    validator_address: str
    reward: list[_Coin] | None = None


class _Rewards(msgspec.Struct):
    rewards: list[_RewardRow] | None = None
    total: list[_Coin] | None = None


class _Pool(msgspec.Struct):
    not_bonded_tokens: str
    bonded_tokens: str


class _PoolAnswer(msgspec.Struct):
    pool: _Pool


class _Rates(msgspec.Struct):
    rate: str
    max_rate: str
    max_change_rate: str


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
    tokens: str
    delegator_shares: str
    description: _Description
    commission: _Commission


class _Validators(msgspec.Struct):
    validators: list[msgspec.Raw] | None = None


class _ValidatorAnswer(msgspec.Struct):
    validator: msgspec.Raw


class StakingReader:
    """Reads the staking and distribution modules of one chain."""

    def __init__(self, nodes: CosmosNodes) -> None:
        self._nodes = nodes

    async def read_delegations(self, delegator: str, view: ReadView) -> list[cosmos_pb2.DelegationResponse]:
        """Return what a delegator has staked, one row per validator; none for an address that nobody knows."""
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        route = f"{_STAKING}/delegations"
        rows: list[cosmos_pb2.DelegationResponse] = []
        try:
            bodies = await self._nodes.pages(route, view, path=f"{route}/{account}")
        except NotFound:
            # Older nodes say so of a delegator without delegations (cosmos-sdk issue 9356); newer ones list none.
            return rows
        for body in bodies:
            for row in self._nodes.decode(body, _Delegations, view.endpoint).delegation_responses or []:
                delegation = cosmos_pb2.Delegation(
                    delegator_address=row.delegation.delegator_address,
                    validator_address=row.delegation.validator_address,
                    shares=row.delegation.shares,
                )
                rows.append(cosmos_pb2.DelegationResponse(delegation=delegation, balance=row.balance.message()))
        return rows

    async def read_unbondings(self, delegator: str, view: ReadView) -> list[cosmos_pb2.UnbondingResponse]:
        """Return what is on its way back to a delegator, one row per validator."""
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        path = f"{_STAKING}/delegators/{account}/unbonding_delegations"
        rows: list[cosmos_pb2.UnbondingResponse] = []
        for body in await self._nodes.pages(f"{_STAKING}/delegators/unbonding_delegations", view, path=path):
            for row in self._nodes.decode(body, _Unbondings, view.endpoint).unbonding_responses or []:
                rows.append(
                    cosmos_pb2.UnbondingResponse(
                        delegator_address=row.delegator_address,
                        validator_address=row.validator_address,
                        entries=[self._entry(entry, view) for entry in row.entries],
                    )
                )
        return rows

    async def read_rewards(self, delegator: str, view: ReadView) -> cosmos_pb2.GetRewardsResponse:
        """Return what a delegator can withdraw, without `chain` and `delegator`.

        NotSupported on a chain without the distribution module.
        """
        account = parse_account(delegator, self._nodes.facts.bech32, "delegator")
        path = f"/cosmos/distribution/v1beta1/delegators/{account}/rewards"
        try:
            reply = await self._nodes.get(_REWARDS, view, path=path)
        except NotSupported:
            words = f"{self._nodes.slug} pays no staking rewards: it has no distribution module"
            raise NotSupported(words, field="chain") from None
        found = self._nodes.read(reply, _Rewards)
        rows = [
            cosmos_pb2.ValidatorReward(
                validator_address=row.validator_address, reward=[coin.message() for coin in row.reward or []]
            )
            for row in found.rewards or []
        ]
        return cosmos_pb2.GetRewardsResponse(rewards=rows, total=[coin.message() for coin in found.total or []])

    async def read_pool(self, view: ReadView) -> cosmos_pb2.StakingPool:
        """Return how much is staked in all."""
        found = self._nodes.read(await self._nodes.get(f"{_STAKING}/pool", view), _PoolAnswer).pool
        return cosmos_pb2.StakingPool(not_bonded_tokens=found.not_bonded_tokens, bonded_tokens=found.bonded_tokens)

    async def read_validators(self, status: str, view: ReadView) -> list[cosmos_validator_pb2.Validator]:
        """Return the validators of a status (`BOND_STATUS_BONDED`), those with most stake first."""
        route = f"{_STAKING}/validators"
        rows: list[cosmos_validator_pb2.Validator] = []
        for body in await self._nodes.pages(route, view, path=route, query=[("status", status)]):
            found = self._nodes.decode(body, _Validators, view.endpoint).validators or []
            rows += [self._validator(raw, view.endpoint) for raw in found]
        return sorted(rows, key=lambda row: (-int(row.tokens), row.operator_address))

    async def read_validator(self, operator: str, view: ReadView) -> cosmos_validator_pb2.Validator:
        """Return one validator; NotFound for an address that is none."""
        name = parse_operator(operator, self._nodes.facts.bech32, "validator")
        route = f"{_STAKING}/validators/one"
        try:
            reply = await self._nodes.get(route, view, path=f"{_STAKING}/validators/{name}")
        except NotFound:
            raise NotFound(f"{self._nodes.slug} has no validator of that address") from None
        return self._validator(self._nodes.read(reply, _ValidatorAnswer).validator, reply.endpoint)

    def _entry(self, entry: _Entry, view: ReadView) -> cosmos_pb2.UnbondingEntry:
        try:
            completion = timestamp_of(entry.completion_time)
        except ValueError:
            raise self._nodes.malformed(view.endpoint) from None
        return cosmos_pb2.UnbondingEntry(
            creation_height=entry.creation_height,
            completion_time=completion,
            initial_balance=entry.initial_balance,
            balance=entry.balance,
        )

    def _validator(self, raw: msgspec.Raw, endpoint: str | None) -> cosmos_validator_pb2.Validator:
        found = self._nodes.decode(bytes(raw), _Validator, endpoint)
        rates = found.commission.commission_rates
        try:
            members: Members = members_of(raw)
            status = cosmos_validator_pb2.BondStatus.Value(found.status)
            update = timestamp_of(found.commission.update_time)
            int(found.tokens)
        except (msgspec.MsgspecError, ValueError):
            raise self._nodes.malformed(endpoint) from None
        return cosmos_validator_pb2.Validator(
            operator_address=found.operator_address,
            consensus_pubkey=native(found.consensus_pubkey),
            jailed=found.jailed,
            status=status,  # type: ignore[arg-type]
            tokens=found.tokens,
            delegator_shares=found.delegator_shares,
            description=cosmos_validator_pb2.ValidatorDescription(**msgspec.structs.asdict(found.description)),
            commission=cosmos_validator_pb2.ValidatorCommission(
                commission_rates=cosmos_validator_pb2.CommissionRates(**msgspec.structs.asdict(rates)),
                update_time=update,
            ),
            native=rest_of(members, _VALIDATOR_TYPED),
        )
