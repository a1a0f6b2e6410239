from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import yield_protocol_pb2 as _yield_protocol_pb2
from waypost.v1 import yield_share_pb2 as _yield_share_pb2
from waypost.v1 import yield_vault_pb2 as _yield_vault_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetYieldsLendingRequest(_message.Message):
    __slots__ = ("chain", "protocol", "pool")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ...) -> None: ...

class GetYieldsLendingResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[LendingYield]
    def __init__(self, results: _Optional[_Iterable[_Union[LendingYield, _Mapping]]] = ...) -> None: ...

class LendingYield(_message.Message):
    __slots__ = ("chain", "protocol", "pool", "supply_apy", "borrow_apy", "tvl", "updated_at", "basis", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_APY_FIELD_NUMBER: _ClassVar[int]
    BORROW_APY_FIELD_NUMBER: _ClassVar[int]
    TVL_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    BASIS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    supply_apy: float
    borrow_apy: float
    tvl: float
    updated_at: _timestamp_pb2.Timestamp
    basis: _yield_protocol_pb2.YieldBasis
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ..., supply_apy: _Optional[float] = ..., borrow_apy: _Optional[float] = ..., tvl: _Optional[float] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., basis: _Optional[_Union[_yield_protocol_pb2.YieldBasis, str]] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetYieldsVaultsRequest(_message.Message):
    __slots__ = ("chain", "protocol", "pool")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ...) -> None: ...

class GetYieldsVaultsResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[VaultYield]
    def __init__(self, results: _Optional[_Iterable[_Union[VaultYield, _Mapping]]] = ...) -> None: ...

class VaultYield(_message.Message):
    __slots__ = ("chain", "protocol", "pool", "apy", "tvl", "updated_at", "basis", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    APY_FIELD_NUMBER: _ClassVar[int]
    TVL_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    BASIS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    apy: float
    tvl: float
    updated_at: _timestamp_pb2.Timestamp
    basis: _yield_protocol_pb2.YieldBasis
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ..., apy: _Optional[float] = ..., tvl: _Optional[float] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., basis: _Optional[_Union[_yield_protocol_pb2.YieldBasis, str]] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetYieldsBestRequest(_message.Message):
    __slots__ = ("token", "min_tvl", "limit", "type")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    MIN_TVL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    token: str
    min_tvl: float
    limit: int
    type: _yield_protocol_pb2.YieldType
    def __init__(self, token: _Optional[str] = ..., min_tvl: _Optional[float] = ..., limit: _Optional[int] = ..., type: _Optional[_Union[_yield_protocol_pb2.YieldType, str]] = ...) -> None: ...

class GetYieldsBestResponse(_message.Message):
    __slots__ = ("results", "unavailable")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BestYield]
    unavailable: _containers.RepeatedCompositeFieldContainer[UnavailableYields]
    def __init__(self, results: _Optional[_Iterable[_Union[BestYield, _Mapping]]] = ..., unavailable: _Optional[_Iterable[_Union[UnavailableYields, _Mapping]]] = ...) -> None: ...

class UnavailableYields(_message.Message):
    __slots__ = ("protocol", "chain", "code", "reason", "message", "status")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    protocol: _yield_protocol_pb2.YieldProtocol
    chain: str
    code: int
    reason: _common_pb2.Reason
    message: str
    status: int
    def __init__(self, protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., chain: _Optional[str] = ..., code: _Optional[int] = ..., reason: _Optional[_Union[_common_pb2.Reason, str]] = ..., message: _Optional[str] = ..., status: _Optional[int] = ...) -> None: ...

class BestYield(_message.Message):
    __slots__ = ("chain", "protocol", "type", "pool", "apy", "tvl", "updated_at", "symbol", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    APY_FIELD_NUMBER: _ClassVar[int]
    TVL_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    type: _yield_protocol_pb2.YieldType
    pool: str
    apy: float
    tvl: float
    updated_at: _timestamp_pb2.Timestamp
    symbol: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., type: _Optional[_Union[_yield_protocol_pb2.YieldType, str]] = ..., pool: _Optional[str] = ..., apy: _Optional[float] = ..., tvl: _Optional[float] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., symbol: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...
