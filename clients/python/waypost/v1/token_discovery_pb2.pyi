from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchTokensRequest(_message.Message):
    __slots__ = ("q", "limit")
    Q_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    q: str
    limit: int
    def __init__(self, q: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class SearchTokensResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[TokenMatch]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[TokenMatch, _Mapping]]] = ...) -> None: ...

class TokenMatch(_message.Message):
    __slots__ = ("token_id", "symbol", "name", "price_usd", "chains")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    symbol: str
    name: str
    price_usd: float
    chains: _containers.RepeatedCompositeFieldContainer[TokenDeployment]
    def __init__(self, token_id: _Optional[str] = ..., symbol: _Optional[str] = ..., name: _Optional[str] = ..., price_usd: _Optional[float] = ..., chains: _Optional[_Iterable[_Union[TokenDeployment, _Mapping]]] = ...) -> None: ...

class TokenDeployment(_message.Message):
    __slots__ = ("chain", "address", "exponent", "symbol", "bridged", "verified")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    EXPONENT_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    BRIDGED_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    exponent: int
    symbol: str
    bridged: bool
    verified: bool
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., exponent: _Optional[int] = ..., symbol: _Optional[str] = ..., bridged: bool = ..., verified: bool = ...) -> None: ...

class GetTokenAddressesRequest(_message.Message):
    __slots__ = ("symbol",)
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    def __init__(self, symbol: _Optional[str] = ...) -> None: ...

class GetTokenAddressesResponse(_message.Message):
    __slots__ = ("symbol", "name", "price_usd", "addresses")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRICE_USD_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    name: str
    price_usd: float
    addresses: _containers.RepeatedCompositeFieldContainer[TokenAddress]
    def __init__(self, symbol: _Optional[str] = ..., name: _Optional[str] = ..., price_usd: _Optional[float] = ..., addresses: _Optional[_Iterable[_Union[TokenAddress, _Mapping]]] = ...) -> None: ...

class TokenAddress(_message.Message):
    __slots__ = ("chain", "chain_name", "address", "decimals", "symbol", "bridged", "verified")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CHAIN_NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    BRIDGED_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    chain: str
    chain_name: str
    address: str
    decimals: int
    symbol: str
    bridged: bool
    verified: bool
    def __init__(self, chain: _Optional[str] = ..., chain_name: _Optional[str] = ..., address: _Optional[str] = ..., decimals: _Optional[int] = ..., symbol: _Optional[str] = ..., bridged: bool = ..., verified: bool = ...) -> None: ...
