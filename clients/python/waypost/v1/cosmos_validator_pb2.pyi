from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BondStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOND_STATUS_UNSPECIFIED: _ClassVar[BondStatus]
    BOND_STATUS_BONDED: _ClassVar[BondStatus]
    BOND_STATUS_UNBONDING: _ClassVar[BondStatus]
    BOND_STATUS_UNBONDED: _ClassVar[BondStatus]
    BOND_STATUS_ALL: _ClassVar[BondStatus]
BOND_STATUS_UNSPECIFIED: BondStatus
BOND_STATUS_BONDED: BondStatus
BOND_STATUS_UNBONDING: BondStatus
BOND_STATUS_UNBONDED: BondStatus
BOND_STATUS_ALL: BondStatus

class GetValidatorsRequest(_message.Message):
    __slots__ = ("chain", "status")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    status: BondStatus
    def __init__(self, chain: _Optional[str] = ..., status: _Optional[_Union[BondStatus, str]] = ...) -> None: ...

class GetValidatorsResponse(_message.Message):
    __slots__ = ("chain", "count", "validators")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    VALIDATORS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    count: int
    validators: _containers.RepeatedCompositeFieldContainer[Validator]
    def __init__(self, chain: _Optional[str] = ..., count: _Optional[int] = ..., validators: _Optional[_Iterable[_Union[Validator, _Mapping]]] = ...) -> None: ...

class Validator(_message.Message):
    __slots__ = ("operator_address", "consensus_pubkey", "jailed", "status", "tokens", "delegator_shares", "description", "commission", "native")
    OPERATOR_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONSENSUS_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    JAILED_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    DELEGATOR_SHARES_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COMMISSION_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    operator_address: str
    consensus_pubkey: _common_pb2.NativeJson
    jailed: bool
    status: BondStatus
    tokens: str
    delegator_shares: str
    description: ValidatorDescription
    commission: ValidatorCommission
    native: _common_pb2.NativeJson
    def __init__(self, operator_address: _Optional[str] = ..., consensus_pubkey: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., jailed: bool = ..., status: _Optional[_Union[BondStatus, str]] = ..., tokens: _Optional[str] = ..., delegator_shares: _Optional[str] = ..., description: _Optional[_Union[ValidatorDescription, _Mapping]] = ..., commission: _Optional[_Union[ValidatorCommission, _Mapping]] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class ValidatorDescription(_message.Message):
    __slots__ = ("moniker", "identity", "website", "security_contact", "details")
    MONIKER_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    WEBSITE_FIELD_NUMBER: _ClassVar[int]
    SECURITY_CONTACT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    moniker: str
    identity: str
    website: str
    security_contact: str
    details: str
    def __init__(self, moniker: _Optional[str] = ..., identity: _Optional[str] = ..., website: _Optional[str] = ..., security_contact: _Optional[str] = ..., details: _Optional[str] = ...) -> None: ...

class ValidatorCommission(_message.Message):
    __slots__ = ("commission_rates", "update_time")
    COMMISSION_RATES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    commission_rates: CommissionRates
    update_time: _timestamp_pb2.Timestamp
    def __init__(self, commission_rates: _Optional[_Union[CommissionRates, _Mapping]] = ..., update_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CommissionRates(_message.Message):
    __slots__ = ("rate", "max_rate", "max_change_rate")
    RATE_FIELD_NUMBER: _ClassVar[int]
    MAX_RATE_FIELD_NUMBER: _ClassVar[int]
    MAX_CHANGE_RATE_FIELD_NUMBER: _ClassVar[int]
    rate: str
    max_rate: str
    max_change_rate: str
    def __init__(self, rate: _Optional[str] = ..., max_rate: _Optional[str] = ..., max_change_rate: _Optional[str] = ...) -> None: ...

class GetValidatorRequest(_message.Message):
    __slots__ = ("chain", "validator")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    VALIDATOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    validator: str
    def __init__(self, chain: _Optional[str] = ..., validator: _Optional[str] = ...) -> None: ...

class GetValidatorResponse(_message.Message):
    __slots__ = ("chain", "validator")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    VALIDATOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    validator: Validator
    def __init__(self, chain: _Optional[str] = ..., validator: _Optional[_Union[Validator, _Mapping]] = ...) -> None: ...

class GetBlockResultsRequest(_message.Message):
    __slots__ = ("chain", "block_number")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block_number: int
    def __init__(self, chain: _Optional[str] = ..., block_number: _Optional[int] = ...) -> None: ...

class GetBlockResultsResponse(_message.Message):
    __slots__ = ("chain", "block_number", "txs_results", "native")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TXS_RESULTS_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block_number: int
    txs_results: _containers.RepeatedCompositeFieldContainer[CosmosTxResult]
    native: _common_pb2.NativeJson
    def __init__(self, chain: _Optional[str] = ..., block_number: _Optional[int] = ..., txs_results: _Optional[_Iterable[_Union[CosmosTxResult, _Mapping]]] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosTxResult(_message.Message):
    __slots__ = ("code", "gas_wanted", "gas_used", "native")
    CODE_FIELD_NUMBER: _ClassVar[int]
    GAS_WANTED_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    code: int
    gas_wanted: str
    gas_used: str
    native: _common_pb2.NativeJson
    def __init__(self, code: _Optional[int] = ..., gas_wanted: _Optional[str] = ..., gas_used: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...
