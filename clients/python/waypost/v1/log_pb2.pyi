from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import evm_pb2 as _evm_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetLogsRequest(_message.Message):
    __slots__ = ("chain", "from_block", "to_block", "address", "topic0", "page_token", "page_size")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    FROM_BLOCK_FIELD_NUMBER: _ClassVar[int]
    TO_BLOCK_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOPIC0_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    from_block: str
    to_block: str
    address: str
    topic0: str
    page_token: str
    page_size: int
    def __init__(self, chain: _Optional[str] = ..., from_block: _Optional[str] = ..., to_block: _Optional[str] = ..., address: _Optional[str] = ..., topic0: _Optional[str] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class GetLogsResponse(_message.Message):
    __slots__ = ("chain", "count", "page_size", "has_more", "next_page_token", "logs")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    count: int
    page_size: int
    has_more: bool
    next_page_token: str
    logs: _containers.RepeatedCompositeFieldContainer[_evm_pb2.EvmLog]
    def __init__(self, chain: _Optional[str] = ..., count: _Optional[int] = ..., page_size: _Optional[int] = ..., has_more: bool = ..., next_page_token: _Optional[str] = ..., logs: _Optional[_Iterable[_Union[_evm_pb2.EvmLog, _Mapping]]] = ...) -> None: ...

class GetTransfersRequest(_message.Message):
    __slots__ = ("chain", "address", "from_block", "to_block", "page_token", "page_size")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    FROM_BLOCK_FIELD_NUMBER: _ClassVar[int]
    TO_BLOCK_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    from_block: str
    to_block: str
    page_token: str
    page_size: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., from_block: _Optional[str] = ..., to_block: _Optional[str] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class GetTransfersResponse(_message.Message):
    __slots__ = ("chain", "address", "count", "page_size", "has_more", "next_page_token", "transfers")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    count: int
    page_size: int
    has_more: bool
    next_page_token: str
    transfers: _containers.RepeatedCompositeFieldContainer[TokenTransfer]
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., count: _Optional[int] = ..., page_size: _Optional[int] = ..., has_more: bool = ..., next_page_token: _Optional[str] = ..., transfers: _Optional[_Iterable[_Union[TokenTransfer, _Mapping]]] = ...) -> None: ...

class TokenTransfer(_message.Message):
    __slots__ = ("token", "from_address", "to", "value", "block_number", "transaction_hash", "log_index", "removed", "symbol", "decimals", "amount")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_HASH_FIELD_NUMBER: _ClassVar[int]
    LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    token: str
    from_address: str
    to: str
    value: str
    block_number: int
    transaction_hash: str
    log_index: int
    removed: bool
    symbol: str
    decimals: int
    amount: str
    def __init__(self, token: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., value: _Optional[str] = ..., block_number: _Optional[int] = ..., transaction_hash: _Optional[str] = ..., log_index: _Optional[int] = ..., removed: bool = ..., symbol: _Optional[str] = ..., decimals: _Optional[int] = ..., amount: _Optional[str] = ...) -> None: ...
