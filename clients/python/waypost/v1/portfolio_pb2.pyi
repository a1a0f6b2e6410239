from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PortfolioStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PORTFOLIO_STATUS_UNSPECIFIED: _ClassVar[PortfolioStatus]
    PORTFOLIO_STATUS_OK: _ClassVar[PortfolioStatus]
    PORTFOLIO_STATUS_ERROR: _ClassVar[PortfolioStatus]
PORTFOLIO_STATUS_UNSPECIFIED: PortfolioStatus
PORTFOLIO_STATUS_OK: PortfolioStatus
PORTFOLIO_STATUS_ERROR: PortfolioStatus

class GetPortfolioRequest(_message.Message):
    __slots__ = ("address", "chains")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    address: str
    chains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, address: _Optional[str] = ..., chains: _Optional[_Iterable[str]] = ...) -> None: ...

class GetPortfolioResponse(_message.Message):
    __slots__ = ("address", "total_usd", "unpriced", "chains", "timestamp", "not_allowed")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_USD_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    NOT_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    address: str
    total_usd: float
    unpriced: int
    chains: _containers.RepeatedCompositeFieldContainer[PortfolioChain]
    timestamp: _timestamp_pb2.Timestamp
    not_allowed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, address: _Optional[str] = ..., total_usd: _Optional[float] = ..., unpriced: _Optional[int] = ..., chains: _Optional[_Iterable[_Union[PortfolioChain, _Mapping]]] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., not_allowed: _Optional[_Iterable[str]] = ...) -> None: ...

class PortfolioChain(_message.Message):
    __slots__ = ("chain", "status", "value", "error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    status: PortfolioStatus
    value: PortfolioHoldings
    error: _common_pb2.RowError
    def __init__(self, chain: _Optional[str] = ..., status: _Optional[_Union[PortfolioStatus, str]] = ..., value: _Optional[_Union[PortfolioHoldings, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class PortfolioHoldings(_message.Message):
    __slots__ = ("block_height", "total_usd", "unpriced", "unread", "assets")
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_USD_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    ASSETS_FIELD_NUMBER: _ClassVar[int]
    block_height: int
    total_usd: float
    unpriced: int
    unread: _containers.RepeatedScalarFieldContainer[str]
    assets: _containers.RepeatedCompositeFieldContainer[PortfolioAsset]
    def __init__(self, block_height: _Optional[int] = ..., total_usd: _Optional[float] = ..., unpriced: _Optional[int] = ..., unread: _Optional[_Iterable[str]] = ..., assets: _Optional[_Iterable[_Union[PortfolioAsset, _Mapping]]] = ...) -> None: ...

class PortfolioAsset(_message.Message):
    __slots__ = ("symbol", "name", "address", "balance", "balance_raw", "decimals", "price_usd", "value_usd")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_RAW_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    VALUE_USD_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    name: str
    address: str
    balance: str
    balance_raw: str
    decimals: int
    price_usd: float
    value_usd: float
    def __init__(self, symbol: _Optional[str] = ..., name: _Optional[str] = ..., address: _Optional[str] = ..., balance: _Optional[str] = ..., balance_raw: _Optional[str] = ..., decimals: _Optional[int] = ..., price_usd: _Optional[float] = ..., value_usd: _Optional[float] = ...) -> None: ...
