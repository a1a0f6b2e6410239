from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import evm_pb2 as _evm_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetBlockHeightRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetBlockHeightResponse(_message.Message):
    __slots__ = ("chain", "height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    height: int
    def __init__(self, chain: _Optional[str] = ..., height: _Optional[int] = ...) -> None: ...

class GetBlockTransactionsRequest(_message.Message):
    __slots__ = ("chain", "block_number")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block_number: int
    def __init__(self, chain: _Optional[str] = ..., block_number: _Optional[int] = ...) -> None: ...

class GetBlockTransactionsResponse(_message.Message):
    __slots__ = ("chain", "evm", "starknet", "cosmos")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    EVM_FIELD_NUMBER: _ClassVar[int]
    STARKNET_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    evm: EvmBlockTransactions
    starknet: StarknetBlockTransactions
    cosmos: CosmosBlockTransactions
    def __init__(self, chain: _Optional[str] = ..., evm: _Optional[_Union[EvmBlockTransactions, _Mapping]] = ..., starknet: _Optional[_Union[StarknetBlockTransactions, _Mapping]] = ..., cosmos: _Optional[_Union[CosmosBlockTransactions, _Mapping]] = ...) -> None: ...

class EvmBlockTransactions(_message.Message):
    __slots__ = ("block_number", "hash", "timestamp", "transaction_count", "transactions")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    block_number: int
    hash: str
    timestamp: _timestamp_pb2.Timestamp
    transaction_count: int
    transactions: _containers.RepeatedCompositeFieldContainer[_evm_pb2.EvmTransaction]
    def __init__(self, block_number: _Optional[int] = ..., hash: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., transaction_count: _Optional[int] = ..., transactions: _Optional[_Iterable[_Union[_evm_pb2.EvmTransaction, _Mapping]]] = ...) -> None: ...

class StarknetBlockTransactions(_message.Message):
    __slots__ = ("block_number", "hash", "timestamp", "transaction_count", "transactions", "native")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    block_number: int
    hash: str
    timestamp: _timestamp_pb2.Timestamp
    transaction_count: int
    transactions: _containers.RepeatedCompositeFieldContainer[StarknetBlockTransaction]
    native: _common_pb2.NativeJson
    def __init__(self, block_number: _Optional[int] = ..., hash: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., transaction_count: _Optional[int] = ..., transactions: _Optional[_Iterable[_Union[StarknetBlockTransaction, _Mapping]]] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class StarknetBlockTransaction(_message.Message):
    __slots__ = ("hash", "native")
    HASH_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    hash: str
    native: _common_pb2.NativeJson
    def __init__(self, hash: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosBlockTransactions(_message.Message):
    __slots__ = ("block_number", "hash", "timestamp", "transaction_count", "transactions")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    block_number: int
    hash: str
    timestamp: _timestamp_pb2.Timestamp
    transaction_count: int
    transactions: _containers.RepeatedCompositeFieldContainer[CosmosTransactionOutcome]
    def __init__(self, block_number: _Optional[int] = ..., hash: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., transaction_count: _Optional[int] = ..., transactions: _Optional[_Iterable[_Union[CosmosTransactionOutcome, _Mapping]]] = ...) -> None: ...

class CosmosTransactionOutcome(_message.Message):
    __slots__ = ("txhash", "height", "code", "gas_wanted", "gas_used")
    TXHASH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    GAS_WANTED_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    txhash: str
    height: str
    code: int
    gas_wanted: str
    gas_used: str
    def __init__(self, txhash: _Optional[str] = ..., height: _Optional[str] = ..., code: _Optional[int] = ..., gas_wanted: _Optional[str] = ..., gas_used: _Optional[str] = ...) -> None: ...

class GetBlockByNumberRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[GetBlockByNumberItem]
    def __init__(self, items: _Optional[_Iterable[_Union[GetBlockByNumberItem, _Mapping]]] = ...) -> None: ...

class GetBlockByNumberItem(_message.Message):
    __slots__ = ("chain", "block")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block: int
    def __init__(self, chain: _Optional[str] = ..., block: _Optional[int] = ...) -> None: ...

class GetBlockByNumberResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[GetBlockByNumberResult]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[GetBlockByNumberResult, _Mapping]]] = ...) -> None: ...

class GetBlockByNumberResult(_message.Message):
    __slots__ = ("chain", "height", "value", "error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    height: str
    value: Block
    error: _common_pb2.RowError
    def __init__(self, chain: _Optional[str] = ..., height: _Optional[str] = ..., value: _Optional[_Union[Block, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class GetBlockByHashRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[GetBlockByHashItem]
    def __init__(self, items: _Optional[_Iterable[_Union[GetBlockByHashItem, _Mapping]]] = ...) -> None: ...

class GetBlockByHashItem(_message.Message):
    __slots__ = ("chain", "hash")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class GetBlockByHashResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[GetBlockByHashResult]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[GetBlockByHashResult, _Mapping]]] = ...) -> None: ...

class GetBlockByHashResult(_message.Message):
    __slots__ = ("chain", "hash", "value", "error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    value: Block
    error: _common_pb2.RowError
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ..., value: _Optional[_Union[Block, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class Block(_message.Message):
    __slots__ = ("evm", "solana", "bitcoin", "cosmos")
    EVM_FIELD_NUMBER: _ClassVar[int]
    SOLANA_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    evm: _evm_pb2.EvmBlock
    solana: SolanaBlock
    bitcoin: BitcoinBlock
    cosmos: CosmosBlock
    def __init__(self, evm: _Optional[_Union[_evm_pb2.EvmBlock, _Mapping]] = ..., solana: _Optional[_Union[SolanaBlock, _Mapping]] = ..., bitcoin: _Optional[_Union[BitcoinBlock, _Mapping]] = ..., cosmos: _Optional[_Union[CosmosBlock, _Mapping]] = ...) -> None: ...

class SolanaBlock(_message.Message):
    __slots__ = ("number", "hash", "native")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    number: str
    hash: str
    native: _common_pb2.NativeJson
    def __init__(self, number: _Optional[str] = ..., hash: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class BitcoinBlock(_message.Message):
    __slots__ = ("number", "hash", "native")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    number: str
    hash: str
    native: _common_pb2.NativeJson
    def __init__(self, number: _Optional[str] = ..., hash: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosBlock(_message.Message):
    __slots__ = ("number", "hash", "native")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    number: str
    hash: str
    native: _common_pb2.NativeJson
    def __init__(self, number: _Optional[str] = ..., hash: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...
