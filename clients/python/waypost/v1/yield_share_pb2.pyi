from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import yield_protocol_pb2 as _yield_protocol_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetYieldsBalanceRequest(_message.Message):
    __slots__ = ("chain", "protocol", "pool", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetYieldsBalanceResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[YieldBalance]
    def __init__(self, results: _Optional[_Iterable[_Union[YieldBalance, _Mapping]]] = ...) -> None: ...

class YieldBalance(_message.Message):
    __slots__ = ("chain", "protocol", "pool", "address", "balance", "updated_at", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    address: str
    balance: BalanceAmounts
    updated_at: _timestamp_pb2.Timestamp
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ..., address: _Optional[str] = ..., balance: _Optional[_Union[BalanceAmounts, _Mapping]] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., block_height: _Optional[int] = ...) -> None: ...

class BalanceAmounts(_message.Message):
    __slots__ = ("amounts", "usd")
    class AmountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    USD_FIELD_NUMBER: _ClassVar[int]
    amounts: _containers.ScalarMap[str, float]
    usd: float
    def __init__(self, amounts: _Optional[_Mapping[str, float]] = ..., usd: _Optional[float] = ...) -> None: ...

class GetYieldsPriceRequest(_message.Message):
    __slots__ = ("chain", "protocol", "pool")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ...) -> None: ...

class GetYieldsPriceResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[YieldPrice]
    def __init__(self, results: _Optional[_Iterable[_Union[YieldPrice, _Mapping]]] = ...) -> None: ...

class YieldPrice(_message.Message):
    __slots__ = ("chain", "protocol", "pool", "price", "updated_at", "block_height", "token", "lp_usd")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    LP_USD_FIELD_NUMBER: _ClassVar[int]
    chain: str
    protocol: _yield_protocol_pb2.YieldProtocol
    pool: str
    price: SharePrice
    updated_at: _timestamp_pb2.Timestamp
    block_height: int
    token: PricedToken
    lp_usd: float
    def __init__(self, chain: _Optional[str] = ..., protocol: _Optional[_Union[_yield_protocol_pb2.YieldProtocol, str]] = ..., pool: _Optional[str] = ..., price: _Optional[_Union[SharePrice, _Mapping]] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., block_height: _Optional[int] = ..., token: _Optional[_Union[PricedToken, _Mapping]] = ..., lp_usd: _Optional[float] = ...) -> None: ...

class PricedToken(_message.Message):
    __slots__ = ("symbol", "address")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class SharePrice(_message.Message):
    __slots__ = ("usd",)
    USD_FIELD_NUMBER: _ClassVar[int]
    usd: float
    def __init__(self, usd: _Optional[float] = ...) -> None: ...

class GetYieldsYieldAImpliedApyRequest(_message.Message):
    __slots__ = ("chain", "pool", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    pool: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., pool: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetYieldsYieldAImpliedApyResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ImpliedYield]
    def __init__(self, results: _Optional[_Iterable[_Union[ImpliedYield, _Mapping]]] = ...) -> None: ...

class ImpliedYield(_message.Message):
    __slots__ = ("chain", "pool", "address", "effective_pt_exchange_rate", "expiry_date", "days_to_expiry", "implied_apy", "updated_at", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_PT_EXCHANGE_RATE_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_DATE_FIELD_NUMBER: _ClassVar[int]
    DAYS_TO_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    IMPLIED_APY_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    pool: str
    address: str
    effective_pt_exchange_rate: float
    expiry_date: _timestamp_pb2.Timestamp
    days_to_expiry: int
    implied_apy: float
    updated_at: _timestamp_pb2.Timestamp
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., pool: _Optional[str] = ..., address: _Optional[str] = ..., effective_pt_exchange_rate: _Optional[float] = ..., expiry_date: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., days_to_expiry: _Optional[int] = ..., implied_apy: _Optional[float] = ..., updated_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., block_height: _Optional[int] = ...) -> None: ...
