from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Currency(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CURRENCY_UNSPECIFIED: _ClassVar[Currency]
    CURRENCY_USD: _ClassVar[Currency]
    CURRENCY_EUR: _ClassVar[Currency]
CURRENCY_UNSPECIFIED: Currency
CURRENCY_USD: Currency
CURRENCY_EUR: Currency

class GetPriceRequest(_message.Message):
    __slots__ = ("symbol",)
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    def __init__(self, symbol: _Optional[str] = ...) -> None: ...

class GetPriceResponse(_message.Message):
    __slots__ = ("symbol", "name", "price_usd", "price_eur", "last_updated")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    PRICE_EUR_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    name: str
    price_usd: float
    price_eur: float
    last_updated: _timestamp_pb2.Timestamp
    def __init__(self, symbol: _Optional[str] = ..., name: _Optional[str] = ..., price_usd: _Optional[float] = ..., price_eur: _Optional[float] = ..., last_updated: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetPricesRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[GetPricesItem]
    def __init__(self, items: _Optional[_Iterable[_Union[GetPricesItem, _Mapping]]] = ...) -> None: ...

class GetPricesItem(_message.Message):
    __slots__ = ("symbol",)
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    def __init__(self, symbol: _Optional[str] = ...) -> None: ...

class GetPricesResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[GetPricesResult]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[GetPricesResult, _Mapping]]] = ...) -> None: ...

class GetPricesResult(_message.Message):
    __slots__ = ("symbol", "value", "error")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    value: TokenPrice
    error: _common_pb2.RowError
    def __init__(self, symbol: _Optional[str] = ..., value: _Optional[_Union[TokenPrice, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class TokenPrice(_message.Message):
    __slots__ = ("name", "price_usd", "price_eur", "last_updated")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    PRICE_EUR_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    name: str
    price_usd: float
    price_eur: float
    last_updated: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., price_usd: _Optional[float] = ..., price_eur: _Optional[float] = ..., last_updated: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetTopPricesRequest(_message.Message):
    __slots__ = ("limit", "currency")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    limit: int
    currency: Currency
    def __init__(self, limit: _Optional[int] = ..., currency: _Optional[_Union[Currency, str]] = ...) -> None: ...

class GetTopPricesResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[TopPrice]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[TopPrice, _Mapping]]] = ...) -> None: ...

class TopPrice(_message.Message):
    __slots__ = ("symbol", "name", "price", "currency", "chains", "last_updated")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    name: str
    price: float
    currency: Currency
    chains: int
    last_updated: _timestamp_pb2.Timestamp
    def __init__(self, symbol: _Optional[str] = ..., name: _Optional[str] = ..., price: _Optional[float] = ..., currency: _Optional[_Union[Currency, str]] = ..., chains: _Optional[int] = ..., last_updated: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetPriceHistoryRequest(_message.Message):
    __slots__ = ("symbol", "days", "currency")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    days: int
    currency: Currency
    def __init__(self, symbol: _Optional[str] = ..., days: _Optional[int] = ..., currency: _Optional[_Union[Currency, str]] = ...) -> None: ...

class GetPriceHistoryResponse(_message.Message):
    __slots__ = ("symbol", "name", "currency", "prices")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    PRICES_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    name: str
    currency: Currency
    prices: _containers.RepeatedCompositeFieldContainer[PricePoint]
    def __init__(self, symbol: _Optional[str] = ..., name: _Optional[str] = ..., currency: _Optional[_Union[Currency, str]] = ..., prices: _Optional[_Iterable[_Union[PricePoint, _Mapping]]] = ...) -> None: ...

class PricePoint(_message.Message):
    __slots__ = ("date", "price", "complete")
    DATE_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    date: str
    price: float
    complete: bool
    def __init__(self, date: _Optional[str] = ..., price: _Optional[float] = ..., complete: bool = ...) -> None: ...
