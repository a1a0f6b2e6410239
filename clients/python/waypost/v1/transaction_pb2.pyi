from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import evm_pb2 as _evm_pb2
from waypost.v1 import receipt_pb2 as _receipt_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetReceiptRequest(_message.Message):
    __slots__ = ("chain", "hash")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class GetReceiptResponse(_message.Message):
    __slots__ = ("chain", "evm", "starknet", "cosmos")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    EVM_FIELD_NUMBER: _ClassVar[int]
    STARKNET_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    evm: _receipt_pb2.EvmReceipt
    starknet: _receipt_pb2.StarknetReceipt
    cosmos: _receipt_pb2.CosmosReceipt
    def __init__(self, chain: _Optional[str] = ..., evm: _Optional[_Union[_receipt_pb2.EvmReceipt, _Mapping]] = ..., starknet: _Optional[_Union[_receipt_pb2.StarknetReceipt, _Mapping]] = ..., cosmos: _Optional[_Union[_receipt_pb2.CosmosReceipt, _Mapping]] = ...) -> None: ...

class GetTransactionByHashRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[GetTransactionByHashItem]
    def __init__(self, items: _Optional[_Iterable[_Union[GetTransactionByHashItem, _Mapping]]] = ...) -> None: ...

class GetTransactionByHashItem(_message.Message):
    __slots__ = ("chain", "hash")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class GetTransactionByHashResponse(_message.Message):
    __slots__ = ("count", "results")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    results: _containers.RepeatedCompositeFieldContainer[GetTransactionByHashResult]
    def __init__(self, count: _Optional[int] = ..., results: _Optional[_Iterable[_Union[GetTransactionByHashResult, _Mapping]]] = ...) -> None: ...

class GetTransactionByHashResult(_message.Message):
    __slots__ = ("chain", "hash", "value", "error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    value: Transaction
    error: _common_pb2.RowError
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ..., value: _Optional[_Union[Transaction, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class Transaction(_message.Message):
    __slots__ = ("evm", "solana", "starknet", "cosmos")
    EVM_FIELD_NUMBER: _ClassVar[int]
    SOLANA_FIELD_NUMBER: _ClassVar[int]
    STARKNET_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    evm: EvmMinedTransaction
    solana: SolanaTransaction
    starknet: StarknetTransaction
    cosmos: CosmosTransaction
    def __init__(self, evm: _Optional[_Union[EvmMinedTransaction, _Mapping]] = ..., solana: _Optional[_Union[SolanaTransaction, _Mapping]] = ..., starknet: _Optional[_Union[StarknetTransaction, _Mapping]] = ..., cosmos: _Optional[_Union[CosmosTransaction, _Mapping]] = ...) -> None: ...

class EvmMinedTransaction(_message.Message):
    __slots__ = ("block_number", "block_hash", "transaction")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    block_number: str
    block_hash: str
    transaction: _evm_pb2.EvmTransaction
    def __init__(self, block_number: _Optional[str] = ..., block_hash: _Optional[str] = ..., transaction: _Optional[_Union[_evm_pb2.EvmTransaction, _Mapping]] = ...) -> None: ...

class SolanaTransaction(_message.Message):
    __slots__ = ("block_number", "from_address", "to", "native")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    block_number: str
    from_address: str
    to: str
    native: _common_pb2.NativeJson
    def __init__(self, block_number: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class StarknetTransaction(_message.Message):
    __slots__ = ("block_number", "from_address", "to", "native")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    block_number: str
    from_address: str
    to: str
    native: _common_pb2.NativeJson
    def __init__(self, block_number: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosTransaction(_message.Message):
    __slots__ = ("block_number", "from_address", "to", "receipt")
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    block_number: str
    from_address: str
    to: str
    receipt: _receipt_pb2.CosmosReceipt
    def __init__(self, block_number: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., receipt: _Optional[_Union[_receipt_pb2.CosmosReceipt, _Mapping]] = ...) -> None: ...

class TraceTransactionRequest(_message.Message):
    __slots__ = ("chain", "hash")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class TraceTransactionResponse(_message.Message):
    __slots__ = ("chain", "hash", "tracer", "trace")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    TRACER_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    hash: str
    tracer: str
    trace: _containers.RepeatedCompositeFieldContainer[TraceFrame]
    def __init__(self, chain: _Optional[str] = ..., hash: _Optional[str] = ..., tracer: _Optional[str] = ..., trace: _Optional[_Iterable[_Union[TraceFrame, _Mapping]]] = ...) -> None: ...

class TraceFrame(_message.Message):
    __slots__ = ("parent", "type", "from_address", "to", "value", "gas", "gas_used", "input", "output", "error", "revert_reason")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    GAS_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REVERT_REASON_FIELD_NUMBER: _ClassVar[int]
    parent: int
    type: str
    from_address: str
    to: str
    value: str
    gas: str
    gas_used: str
    input: str
    output: str
    error: str
    revert_reason: str
    def __init__(self, parent: _Optional[int] = ..., type: _Optional[str] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., value: _Optional[str] = ..., gas: _Optional[str] = ..., gas_used: _Optional[str] = ..., input: _Optional[str] = ..., output: _Optional[str] = ..., error: _Optional[str] = ..., revert_reason: _Optional[str] = ...) -> None: ...
