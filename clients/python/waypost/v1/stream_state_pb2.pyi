from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import receipt_pb2 as _receipt_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReceiptState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECEIPT_STATE_UNSPECIFIED: _ClassVar[ReceiptState]
    RECEIPT_STATE_UNKNOWN: _ClassVar[ReceiptState]
    RECEIPT_STATE_PENDING: _ClassVar[ReceiptState]
    RECEIPT_STATE_INCLUDED: _ClassVar[ReceiptState]
    RECEIPT_STATE_CONFIRMED: _ClassVar[ReceiptState]
RECEIPT_STATE_UNSPECIFIED: ReceiptState
RECEIPT_STATE_UNKNOWN: ReceiptState
RECEIPT_STATE_PENDING: ReceiptState
RECEIPT_STATE_INCLUDED: ReceiptState
RECEIPT_STATE_CONFIRMED: ReceiptState

class WatchBalancesRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WatchBalancesItem]
    def __init__(self, items: _Optional[_Iterable[_Union[WatchBalancesItem, _Mapping]]] = ...) -> None: ...

class WatchBalancesItem(_message.Message):
    __slots__ = ("chain", "address", "token")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    token: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class WatchBalancesResponse(_message.Message):
    __slots__ = ("item", "chain", "address", "token", "value", "error")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    item: int
    chain: str
    address: str
    token: str
    value: WatchedBalance
    error: _common_pb2.RowError
    def __init__(self, item: _Optional[int] = ..., chain: _Optional[str] = ..., address: _Optional[str] = ..., token: _Optional[str] = ..., value: _Optional[_Union[WatchedBalance, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class WatchedBalance(_message.Message):
    __slots__ = ("amount", "raw", "decimals", "block_number", "stalled")
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STALLED_FIELD_NUMBER: _ClassVar[int]
    amount: str
    raw: str
    decimals: int
    block_number: int
    stalled: bool
    def __init__(self, amount: _Optional[str] = ..., raw: _Optional[str] = ..., decimals: _Optional[int] = ..., block_number: _Optional[int] = ..., stalled: bool = ...) -> None: ...

class WatchPricesRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[WatchPricesItem]
    def __init__(self, items: _Optional[_Iterable[_Union[WatchPricesItem, _Mapping]]] = ...) -> None: ...

class WatchPricesItem(_message.Message):
    __slots__ = ("symbol",)
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    def __init__(self, symbol: _Optional[str] = ...) -> None: ...

class WatchPricesResponse(_message.Message):
    __slots__ = ("item", "symbol", "value", "error")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    item: int
    symbol: str
    value: WatchedPrice
    error: _common_pb2.RowError
    def __init__(self, item: _Optional[int] = ..., symbol: _Optional[str] = ..., value: _Optional[_Union[WatchedPrice, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class WatchedPrice(_message.Message):
    __slots__ = ("usd", "eur", "last_updated")
    USD_FIELD_NUMBER: _ClassVar[int]
    EUR_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    usd: float
    eur: float
    last_updated: _timestamp_pb2.Timestamp
    def __init__(self, usd: _Optional[float] = ..., eur: _Optional[float] = ..., last_updated: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchReceiptRequest(_message.Message):
    __slots__ = ("chain", "hash", "confirmations")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    confirmations: int
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ..., confirmations: _Optional[int] = ...) -> None: ...

class WatchReceiptResponse(_message.Message):
    __slots__ = ("chain", "hash", "value", "error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    value: WatchedTransaction
    error: _common_pb2.RowError
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ..., value: _Optional[_Union[WatchedTransaction, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class WatchedTransaction(_message.Message):
    __slots__ = ("state", "confirmations", "block_number", "block_hash", "receipt", "stalled")
    STATE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATIONS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    STALLED_FIELD_NUMBER: _ClassVar[int]
    state: ReceiptState
    confirmations: int
    block_number: int
    block_hash: str
    receipt: WatchedReceipt
    stalled: bool
    def __init__(self, state: _Optional[_Union[ReceiptState, str]] = ..., confirmations: _Optional[int] = ..., block_number: _Optional[int] = ..., block_hash: _Optional[str] = ..., receipt: _Optional[_Union[WatchedReceipt, _Mapping]] = ..., stalled: bool = ...) -> None: ...

class WatchedReceipt(_message.Message):
    __slots__ = ("evm", "starknet", "cosmos")
    EVM_FIELD_NUMBER: _ClassVar[int]
    STARKNET_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    evm: _receipt_pb2.EvmReceipt
    starknet: _receipt_pb2.StarknetReceipt
    cosmos: _receipt_pb2.CosmosReceipt
    def __init__(self, evm: _Optional[_Union[_receipt_pb2.EvmReceipt, _Mapping]] = ..., starknet: _Optional[_Union[_receipt_pb2.StarknetReceipt, _Mapping]] = ..., cosmos: _Optional[_Union[_receipt_pb2.CosmosReceipt, _Mapping]] = ...) -> None: ...
