from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompareGasRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompareGasResponse(_message.Message):
    __slots__ = ("results", "not_allowed")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    NOT_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ChainGas]
    not_allowed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, results: _Optional[_Iterable[_Union[ChainGas, _Mapping]]] = ..., not_allowed: _Optional[_Iterable[str]] = ...) -> None: ...

class ChainGas(_message.Message):
    __slots__ = ("chain", "base_fee_gwei", "priority_fee_gwei", "estimated_tx_cost_usd", "l1_fee_usd", "updated_at")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_GWEI_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FEE_GWEI_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_TX_COST_USD_FIELD_NUMBER: _ClassVar[int]
    L1_FEE_USD_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    base_fee_gwei: float
    priority_fee_gwei: float
    estimated_tx_cost_usd: float
    l1_fee_usd: float
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, chain: _Optional[str] = ..., base_fee_gwei: _Optional[float] = ..., priority_fee_gwei: _Optional[float] = ..., estimated_tx_cost_usd: _Optional[float] = ..., l1_fee_usd: _Optional[float] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EstimateGasRequest(_message.Message):
    __slots__ = ("chain", "to", "from_address", "value", "data")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    chain: str
    to: str
    from_address: str
    value: str
    data: str
    def __init__(self, chain: _Optional[str] = ..., to: _Optional[str] = ..., from_address: _Optional[str] = ..., value: _Optional[str] = ..., data: _Optional[str] = ...) -> None: ...

class EstimateGasResponse(_message.Message):
    __slots__ = ("chain", "gas_estimate", "gas_estimate_hex", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    GAS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    GAS_ESTIMATE_HEX_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    gas_estimate: int
    gas_estimate_hex: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., gas_estimate: _Optional[int] = ..., gas_estimate_hex: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...
