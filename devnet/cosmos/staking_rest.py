"""The staking and distribution routes of one chain."""

from typing import Any

from devnet.cosmos.answers import Json, Query, Refused, addressed, paged
from devnet.cosmos.ledger import consensus_key, encoded
from devnet.cosmos.state import decimal_of

_ONE = 10**18


def delegations(query: Query) -> Json:
    """Answer what a delegator has staked."""
    delegator = addressed(query, "delegator", status=500)
    rows: list[Json] = [
        {
            "delegation": {
                "delegator_address": delegator,
                "validator_address": validator,
                "shares": decimal_of(amount * _ONE),
            },
            "balance": {"denom": query.ledger.chain.stake_denom, "amount": str(amount)},
        }
        for (owner, validator), (amount, _) in query.state.stakes.items()
        if owner == delegator
    ]
    return paged(query, "delegation_responses", rows)


def unbonding(query: Query) -> Json:
    """Answer what is on its way back to a delegator."""
    delegator = addressed(query, "delegator", status=500)
    rows: list[Json] = [
        {
            "delegator_address": delegator,
            "validator_address": validator,
            "entries": [
                {
                    "creation_height": str(entry.height),
                    "completion_time": entry.completion.isoformat().replace("+00:00", "Z"),
                    "initial_balance": str(entry.amount),
                    "balance": str(entry.amount),
                    "unbonding_id": str(entry.number),
                    "unbonding_on_hold_ref_count": "0",
                }
                for entry in entries
            ],
        }
        for (owner, validator), entries in query.state.unbondings.items()
        if owner == delegator
    ]
    return paged(query, "unbonding_responses", rows)


def validators(query: Query) -> Json:
    """Answer the validators of a status."""
    wanted = query.values.get("status", "")
    if wanted not in ("", "BOND_STATUS_BONDED", "BOND_STATUS_UNBONDING", "BOND_STATUS_UNBONDED"):
        raise Refused(400, 3, f"invalid validator status {wanted}")
    rows = [_validator(query, name) for name in query.ledger.validators]
    return paged(query, "validators", [row for row in rows if wanted in ("", row["status"])])


def validator(query: Query) -> Json:
    """Answer one validator."""
    name = addressed(query, "validator", "valoper", status=500)
    if name not in query.ledger.validators:
        raise Refused(404, 5, f"validator {name} not found")
    return {"validator": _validator(query, name)}


def pool(query: Query) -> Json:
    """Answer what is staked in all."""
    state = query.state
    bonded = sum(state.tokens[name] for name in query.ledger.validators[:-1])
    idle = state.not_bonded() + state.tokens[query.ledger.validators[-1]]
    return {"pool": {"not_bonded_tokens": str(idle), "bonded_tokens": str(bonded)}}


def staking_params(query: Query) -> Json:
    """Answer the module's parameters."""
    return {
        "params": {
            "unbonding_time": "1814400s",
            "max_validators": 100,
            "max_entries": 7,
            "historical_entries": 10000,
            "bond_denom": query.ledger.chain.stake_denom,
            "min_commission_rate": decimal_of(0),
        }
    }


def rewards(query: Query) -> Json:
    """Answer what a delegator can withdraw."""
    delegator = addressed(query, "delegator")
    denom = query.ledger.chain.stake_denom
    rows: list[Json] = []
    total = 0
    for owner, name in query.state.stakes:
        if owner == delegator:
            reward = query.state.reward_of(delegator, name, query.height)
            total += reward
            coins = [{"denom": denom, "amount": decimal_of(reward)}] if reward else []
            rows.append({"validator_address": name, "reward": coins})
    return {"rewards": rows, "total": [{"denom": denom, "amount": decimal_of(total)}] if total else []}


def reward(query: Query) -> Json:
    """Answer what a delegator can withdraw from one validator."""
    delegator = addressed(query, "delegator")
    name = addressed(query, "validator", "valoper")
    if (delegator, name) not in query.state.stakes:
        raise Refused(404, 5, "no delegation for (address, validator) tuple")
    amount = query.state.reward_of(delegator, name, query.height)
    denom = query.ledger.chain.stake_denom
    return {"rewards": [{"denom": denom, "amount": decimal_of(amount)}] if amount else []}


def _validator(query: Query, name: str) -> Json:
    number = query.ledger.validators.index(name) + 1
    is_idle = number == len(query.ledger.validators)
    tokens = query.state.tokens[name]
    zero: Any = "1970-01-01T00:00:00Z"
    return {
        "operator_address": name,
        "consensus_pubkey": {"@type": "/cosmos.crypto.ed25519.PubKey", "key": encoded(consensus_key(number))},
        "jailed": is_idle,
        "status": "BOND_STATUS_UNBONDED" if is_idle else "BOND_STATUS_BONDED",
        "tokens": str(tokens),
        "delegator_shares": decimal_of(tokens * _ONE),
        "description": {
            "moniker": f"Validator {number}",
            "identity": "",
            "website": "",
            "security_contact": "",
            "details": "Modelled by the devnet",
        },
        "unbonding_height": "0",
        "unbonding_time": zero,
        "commission": {
            "commission_rates": {
                "rate": decimal_of(_ONE * number // 100),
                "max_rate": decimal_of(_ONE // 5),
                "max_change_rate": decimal_of(_ONE // 100),
            },
            "update_time": "2025-01-01T00:00:00Z",
        },
        "min_self_delegation": "1",
        "unbonding_on_hold_ref_count": "0",
        "unbonding_ids": [],
    }


ROUTES = {
    "/cosmos/staking/v1beta1/delegations/{delegator}": delegations,
    "/cosmos/staking/v1beta1/delegators/{delegator}/unbonding_delegations": unbonding,
    "/cosmos/staking/v1beta1/validators": validators,
    "/cosmos/staking/v1beta1/validators/{validator}": validator,
    "/cosmos/staking/v1beta1/pool": pool,
    "/cosmos/staking/v1beta1/params": staking_params,
    "/cosmos/distribution/v1beta1/delegators/{delegator}/rewards": rewards,
    "/cosmos/distribution/v1beta1/delegators/{delegator}/rewards/{validator}": reward,
}
