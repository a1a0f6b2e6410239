from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import evm_pb2 as _evm_pb2
from waypost.v1 import log_pb2 as _log_pb2
from waypost.v1 import stream_state_pb2 as _stream_state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_ADDED: _ClassVar[EventKind]
    EVENT_KIND_REMOVED: _ClassVar[EventKind]
    EVENT_KIND_ROLLED_BACK: _ClassVar[EventKind]
    EVENT_KIND_STALLED: _ClassVar[EventKind]
    EVENT_KIND_RESUMED: _ClassVar[EventKind]
    EVENT_KIND_PROGRESS: _ClassVar[EventKind]

class Finality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINALITY_UNSPECIFIED: _ClassVar[Finality]
    FINALITY_LATEST: _ClassVar[Finality]
    FINALITY_FINAL: _ClassVar[Finality]
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_ADDED: EventKind
EVENT_KIND_REMOVED: EventKind
EVENT_KIND_ROLLED_BACK: EventKind
EVENT_KIND_STALLED: EventKind
EVENT_KIND_RESUMED: EventKind
EVENT_KIND_PROGRESS: EventKind
FINALITY_UNSPECIFIED: Finality
FINALITY_LATEST: Finality
FINALITY_FINAL: Finality

class WatchBlocksRequest(_message.Message):
    __slots__ = ("chain", "cursor")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    cursor: str
    def __init__(self, chain: _Optional[str] = ..., cursor: _Optional[str] = ...) -> None: ...

class WatchBlocksResponse(_message.Message):
    __slots__ = ("cursor", "chain", "kind", "block_number", "block_hash", "finality", "block")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    FINALITY_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    chain: str
    kind: EventKind
    block_number: int
    block_hash: str
    finality: Finality
    block: BlockHeader
    def __init__(self, cursor: _Optional[str] = ..., chain: _Optional[str] = ..., kind: _Optional[_Union[EventKind, str]] = ..., block_number: _Optional[int] = ..., block_hash: _Optional[str] = ..., finality: _Optional[_Union[Finality, str]] = ..., block: _Optional[_Union[BlockHeader, _Mapping]] = ...) -> None: ...

class BlockHeader(_message.Message):
    __slots__ = ("number", "hash", "parent_number", "parent_hash", "timestamp", "transaction_count", "gas_used", "gas_limit", "base_fee_per_gas")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    PARENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    PARENT_HASH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    GAS_LIMIT_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_PER_GAS_FIELD_NUMBER: _ClassVar[int]
    number: int
    hash: str
    parent_number: int
    parent_hash: str
    timestamp: _timestamp_pb2.Timestamp
    transaction_count: int
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str
    def __init__(self, number: _Optional[int] = ..., hash: _Optional[str] = ..., parent_number: _Optional[int] = ..., parent_hash: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., transaction_count: _Optional[int] = ..., gas_used: _Optional[str] = ..., gas_limit: _Optional[str] = ..., base_fee_per_gas: _Optional[str] = ...) -> None: ...

class WatchLogsRequest(_message.Message):
    __slots__ = ("chain", "addresses", "topic0", "topic1", "topic2", "topic3", "cursor")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    TOPIC0_FIELD_NUMBER: _ClassVar[int]
    TOPIC1_FIELD_NUMBER: _ClassVar[int]
    TOPIC2_FIELD_NUMBER: _ClassVar[int]
    TOPIC3_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    topic0: _containers.RepeatedScalarFieldContainer[str]
    topic1: _containers.RepeatedScalarFieldContainer[str]
    topic2: _containers.RepeatedScalarFieldContainer[str]
    topic3: _containers.RepeatedScalarFieldContainer[str]
    cursor: str
    def __init__(self, chain: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., topic0: _Optional[_Iterable[str]] = ..., topic1: _Optional[_Iterable[str]] = ..., topic2: _Optional[_Iterable[str]] = ..., topic3: _Optional[_Iterable[str]] = ..., cursor: _Optional[str] = ...) -> None: ...

class WatchLogsResponse(_message.Message):
    __slots__ = ("cursor", "chain", "kind", "block_number", "block_hash", "finality", "log")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    FINALITY_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    chain: str
    kind: EventKind
    block_number: int
    block_hash: str
    finality: Finality
    log: _evm_pb2.EvmLog
    def __init__(self, cursor: _Optional[str] = ..., chain: _Optional[str] = ..., kind: _Optional[_Union[EventKind, str]] = ..., block_number: _Optional[int] = ..., block_hash: _Optional[str] = ..., finality: _Optional[_Union[Finality, str]] = ..., log: _Optional[_Union[_evm_pb2.EvmLog, _Mapping]] = ...) -> None: ...

class WatchTransfersRequest(_message.Message):
    __slots__ = ("chain", "addresses", "tokens", "cursor")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    tokens: _containers.RepeatedScalarFieldContainer[str]
    cursor: str
    def __init__(self, chain: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., tokens: _Optional[_Iterable[str]] = ..., cursor: _Optional[str] = ...) -> None: ...

class WatchTransfersResponse(_message.Message):
    __slots__ = ("cursor", "chain", "kind", "block_number", "block_hash", "finality", "transfer")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    FINALITY_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    chain: str
    kind: EventKind
    block_number: int
    block_hash: str
    finality: Finality
    transfer: _log_pb2.TokenTransfer
    def __init__(self, cursor: _Optional[str] = ..., chain: _Optional[str] = ..., kind: _Optional[_Union[EventKind, str]] = ..., block_number: _Optional[int] = ..., block_hash: _Optional[str] = ..., finality: _Optional[_Union[Finality, str]] = ..., transfer: _Optional[_Union[_log_pb2.TokenTransfer, _Mapping]] = ...) -> None: ...
