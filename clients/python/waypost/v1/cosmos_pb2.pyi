from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import cosmos_validator_pb2 as _cosmos_validator_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Coin(_message.Message):
    __slots__ = ("denom", "amount")
    DENOM_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    denom: str
    amount: str
    def __init__(self, denom: _Optional[str] = ..., amount: _Optional[str] = ...) -> None: ...

class GetAccountRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetAccountResponse(_message.Message):
    __slots__ = ("chain", "address", "account")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    account: CosmosAccount
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., account: _Optional[_Union[CosmosAccount, _Mapping]] = ...) -> None: ...

class CosmosAccount(_message.Message):
    __slots__ = ("type", "address", "pub_key", "account_number", "sequence")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PUB_KEY_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    type: str
    address: str
    pub_key: _common_pb2.NativeJson
    account_number: str
    sequence: str
    def __init__(self, type: _Optional[str] = ..., address: _Optional[str] = ..., pub_key: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., account_number: _Optional[str] = ..., sequence: _Optional[str] = ...) -> None: ...

class GetDelegationsRequest(_message.Message):
    __slots__ = ("chain", "delegator")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ...) -> None: ...

class GetDelegationsResponse(_message.Message):
    __slots__ = ("chain", "delegator", "delegation_responses")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    delegation_responses: _containers.RepeatedCompositeFieldContainer[DelegationResponse]
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ..., delegation_responses: _Optional[_Iterable[_Union[DelegationResponse, _Mapping]]] = ...) -> None: ...

class DelegationResponse(_message.Message):
    __slots__ = ("delegation", "balance")
    DELEGATION_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    delegation: Delegation
    balance: Coin
    def __init__(self, delegation: _Optional[_Union[Delegation, _Mapping]] = ..., balance: _Optional[_Union[Coin, _Mapping]] = ...) -> None: ...

class Delegation(_message.Message):
    __slots__ = ("delegator_address", "validator_address", "shares")
    DELEGATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VALIDATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    delegator_address: str
    validator_address: str
    shares: str
    def __init__(self, delegator_address: _Optional[str] = ..., validator_address: _Optional[str] = ..., shares: _Optional[str] = ...) -> None: ...

class GetUnbondingDelegationsRequest(_message.Message):
    __slots__ = ("chain", "delegator")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ...) -> None: ...

class GetUnbondingDelegationsResponse(_message.Message):
    __slots__ = ("chain", "delegator", "unbonding_responses")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    UNBONDING_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    unbonding_responses: _containers.RepeatedCompositeFieldContainer[UnbondingResponse]
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ..., unbonding_responses: _Optional[_Iterable[_Union[UnbondingResponse, _Mapping]]] = ...) -> None: ...

class UnbondingResponse(_message.Message):
    __slots__ = ("delegator_address", "validator_address", "entries")
    DELEGATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VALIDATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    delegator_address: str
    validator_address: str
    entries: _containers.RepeatedCompositeFieldContainer[UnbondingEntry]
    def __init__(self, delegator_address: _Optional[str] = ..., validator_address: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[UnbondingEntry, _Mapping]]] = ...) -> None: ...

class UnbondingEntry(_message.Message):
    __slots__ = ("creation_height", "completion_time", "initial_balance", "balance", "unbonding_id", "unbonding_on_hold_ref_count")
    CREATION_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TIME_FIELD_NUMBER: _ClassVar[int]
    INITIAL_BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    UNBONDING_ID_FIELD_NUMBER: _ClassVar[int]
    UNBONDING_ON_HOLD_REF_COUNT_FIELD_NUMBER: _ClassVar[int]
    creation_height: int
    completion_time: _timestamp_pb2.Timestamp
    initial_balance: str
    balance: str
    unbonding_id: str
    unbonding_on_hold_ref_count: str
    def __init__(self, creation_height: _Optional[int] = ..., completion_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., initial_balance: _Optional[str] = ..., balance: _Optional[str] = ..., unbonding_id: _Optional[str] = ..., unbonding_on_hold_ref_count: _Optional[str] = ...) -> None: ...

class GetRewardsRequest(_message.Message):
    __slots__ = ("chain", "delegator")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ...) -> None: ...

class GetRewardsResponse(_message.Message):
    __slots__ = ("chain", "delegator", "rewards", "total")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    delegator: str
    rewards: _containers.RepeatedCompositeFieldContainer[ValidatorReward]
    total: _containers.RepeatedCompositeFieldContainer[Coin]
    def __init__(self, chain: _Optional[str] = ..., delegator: _Optional[str] = ..., rewards: _Optional[_Iterable[_Union[ValidatorReward, _Mapping]]] = ..., total: _Optional[_Iterable[_Union[Coin, _Mapping]]] = ...) -> None: ...

class ValidatorReward(_message.Message):
    __slots__ = ("validator_address", "reward")
    VALIDATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    validator_address: str
    reward: _containers.RepeatedCompositeFieldContainer[Coin]
    def __init__(self, validator_address: _Optional[str] = ..., reward: _Optional[_Iterable[_Union[Coin, _Mapping]]] = ...) -> None: ...

class GetStakingPoolRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetStakingPoolResponse(_message.Message):
    __slots__ = ("chain", "pool")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    pool: StakingPool
    def __init__(self, chain: _Optional[str] = ..., pool: _Optional[_Union[StakingPool, _Mapping]] = ...) -> None: ...

class StakingPool(_message.Message):
    __slots__ = ("not_bonded_tokens", "bonded_tokens")
    NOT_BONDED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BONDED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    not_bonded_tokens: str
    bonded_tokens: str
    def __init__(self, not_bonded_tokens: _Optional[str] = ..., bonded_tokens: _Optional[str] = ...) -> None: ...
