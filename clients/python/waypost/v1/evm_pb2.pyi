from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EvmBlock(_message.Message):
    __slots__ = ("number", "hash", "parent_hash", "timestamp", "miner", "gas_limit", "gas_used", "base_fee_per_gas", "size", "difficulty", "nonce", "mix_hash", "extra_data", "state_root", "transactions_root", "receipts_root", "sha3_uncles", "logs_bloom", "uncles", "withdrawals_root", "blob_gas_used", "excess_blob_gas", "parent_beacon_block_root", "requests_hash", "transaction_count", "transactions", "extra")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    PARENT_HASH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    MINER_FIELD_NUMBER: _ClassVar[int]
    GAS_LIMIT_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    BASE_FEE_PER_GAS_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DIFFICULTY_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    MIX_HASH_FIELD_NUMBER: _ClassVar[int]
    EXTRA_DATA_FIELD_NUMBER: _ClassVar[int]
    STATE_ROOT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_ROOT_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_ROOT_FIELD_NUMBER: _ClassVar[int]
    SHA3_UNCLES_FIELD_NUMBER: _ClassVar[int]
    LOGS_BLOOM_FIELD_NUMBER: _ClassVar[int]
    UNCLES_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWALS_ROOT_FIELD_NUMBER: _ClassVar[int]
    BLOB_GAS_USED_FIELD_NUMBER: _ClassVar[int]
    EXCESS_BLOB_GAS_FIELD_NUMBER: _ClassVar[int]
    PARENT_BEACON_BLOCK_ROOT_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_HASH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    number: int
    hash: str
    parent_hash: str
    timestamp: _timestamp_pb2.Timestamp
    miner: str
    gas_limit: str
    gas_used: str
    base_fee_per_gas: str
    size: int
    difficulty: str
    nonce: str
    mix_hash: str
    extra_data: str
    state_root: str
    transactions_root: str
    receipts_root: str
    sha3_uncles: str
    logs_bloom: str
    uncles: _containers.RepeatedScalarFieldContainer[str]
    withdrawals_root: str
    blob_gas_used: str
    excess_blob_gas: str
    parent_beacon_block_root: str
    requests_hash: str
    transaction_count: int
    transactions: _containers.RepeatedScalarFieldContainer[str]
    extra: _common_pb2.NativeJson
    def __init__(self, number: _Optional[int] = ..., hash: _Optional[str] = ..., parent_hash: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., miner: _Optional[str] = ..., gas_limit: _Optional[str] = ..., gas_used: _Optional[str] = ..., base_fee_per_gas: _Optional[str] = ..., size: _Optional[int] = ..., difficulty: _Optional[str] = ..., nonce: _Optional[str] = ..., mix_hash: _Optional[str] = ..., extra_data: _Optional[str] = ..., state_root: _Optional[str] = ..., transactions_root: _Optional[str] = ..., receipts_root: _Optional[str] = ..., sha3_uncles: _Optional[str] = ..., logs_bloom: _Optional[str] = ..., uncles: _Optional[_Iterable[str]] = ..., withdrawals_root: _Optional[str] = ..., blob_gas_used: _Optional[str] = ..., excess_blob_gas: _Optional[str] = ..., parent_beacon_block_root: _Optional[str] = ..., requests_hash: _Optional[str] = ..., transaction_count: _Optional[int] = ..., transactions: _Optional[_Iterable[str]] = ..., extra: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class EvmTransaction(_message.Message):
    __slots__ = ("hash", "from_address", "to", "value", "gas_price", "gas", "input", "nonce", "type", "transaction_index", "max_fee_per_gas", "max_priority_fee_per_gas", "max_fee_per_blob_gas", "chain_id", "extra")
    HASH_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    GAS_PRICE_FIELD_NUMBER: _ClassVar[int]
    GAS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_INDEX_FIELD_NUMBER: _ClassVar[int]
    MAX_FEE_PER_GAS_FIELD_NUMBER: _ClassVar[int]
    MAX_PRIORITY_FEE_PER_GAS_FIELD_NUMBER: _ClassVar[int]
    MAX_FEE_PER_BLOB_GAS_FIELD_NUMBER: _ClassVar[int]
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    hash: str
    from_address: str
    to: str
    value: str
    gas_price: str
    gas: str
    input: str
    nonce: int
    type: int
    transaction_index: int
    max_fee_per_gas: str
    max_priority_fee_per_gas: str
    max_fee_per_blob_gas: str
    chain_id: str
    extra: _common_pb2.NativeJson
    def __init__(self, hash: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., value: _Optional[str] = ..., gas_price: _Optional[str] = ..., gas: _Optional[str] = ..., input: _Optional[str] = ..., nonce: _Optional[int] = ..., type: _Optional[int] = ..., transaction_index: _Optional[int] = ..., max_fee_per_gas: _Optional[str] = ..., max_priority_fee_per_gas: _Optional[str] = ..., max_fee_per_blob_gas: _Optional[str] = ..., chain_id: _Optional[str] = ..., extra: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class EvmLog(_message.Message):
    __slots__ = ("address", "topics", "data", "block_number", "transaction_hash", "log_index", "removed", "transaction_index")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_HASH_FIELD_NUMBER: _ClassVar[int]
    LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_INDEX_FIELD_NUMBER: _ClassVar[int]
    address: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    data: str
    block_number: int
    transaction_hash: str
    log_index: int
    removed: bool
    transaction_index: int
    def __init__(self, address: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., data: _Optional[str] = ..., block_number: _Optional[int] = ..., transaction_hash: _Optional[str] = ..., log_index: _Optional[int] = ..., removed: bool = ..., transaction_index: _Optional[int] = ...) -> None: ...
