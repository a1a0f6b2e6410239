from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import evm_pb2 as _evm_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReceiptStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECEIPT_STATUS_UNSPECIFIED: _ClassVar[ReceiptStatus]
    RECEIPT_STATUS_SUCCESS: _ClassVar[ReceiptStatus]
    RECEIPT_STATUS_FAILURE: _ClassVar[ReceiptStatus]
RECEIPT_STATUS_UNSPECIFIED: ReceiptStatus
RECEIPT_STATUS_SUCCESS: ReceiptStatus
RECEIPT_STATUS_FAILURE: ReceiptStatus

class EvmReceipt(_message.Message):
    __slots__ = ("transaction_hash", "block_number", "block_hash", "transaction_index", "from_address", "to", "status", "gas_used", "cumulative_gas_used", "effective_gas_price", "type", "contract_address", "logs", "decoded_logs", "extra")
    TRANSACTION_HASH_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HASH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_INDEX_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVE_GAS_USED_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_GAS_PRICE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    DECODED_LOGS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    transaction_hash: str
    block_number: int
    block_hash: str
    transaction_index: int
    from_address: str
    to: str
    status: ReceiptStatus
    gas_used: str
    cumulative_gas_used: str
    effective_gas_price: str
    type: int
    contract_address: str
    logs: _containers.RepeatedCompositeFieldContainer[_evm_pb2.EvmLog]
    decoded_logs: _containers.RepeatedCompositeFieldContainer[DecodedLog]
    extra: _common_pb2.NativeJson
    def __init__(self, transaction_hash: _Optional[str] = ..., block_number: _Optional[int] = ..., block_hash: _Optional[str] = ..., transaction_index: _Optional[int] = ..., from_address: _Optional[str] = ..., to: _Optional[str] = ..., status: _Optional[_Union[ReceiptStatus, str]] = ..., gas_used: _Optional[str] = ..., cumulative_gas_used: _Optional[str] = ..., effective_gas_price: _Optional[str] = ..., type: _Optional[int] = ..., contract_address: _Optional[str] = ..., logs: _Optional[_Iterable[_Union[_evm_pb2.EvmLog, _Mapping]]] = ..., decoded_logs: _Optional[_Iterable[_Union[DecodedLog, _Mapping]]] = ..., extra: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class DecodedLog(_message.Message):
    __slots__ = ("event", "address", "log_index", "args", "arg_names")
    class ArgsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ARG_NAMES_FIELD_NUMBER: _ClassVar[int]
    event: str
    address: str
    log_index: int
    args: _containers.ScalarMap[str, str]
    arg_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, event: _Optional[str] = ..., address: _Optional[str] = ..., log_index: _Optional[int] = ..., args: _Optional[_Mapping[str, str]] = ..., arg_names: _Optional[_Iterable[str]] = ...) -> None: ...

class StarknetReceipt(_message.Message):
    __slots__ = ("transaction_hash", "block_number", "native")
    TRANSACTION_HASH_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    transaction_hash: str
    block_number: int
    native: _common_pb2.NativeJson
    def __init__(self, transaction_hash: _Optional[str] = ..., block_number: _Optional[int] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosReceipt(_message.Message):
    __slots__ = ("tx", "tx_response")
    TX_FIELD_NUMBER: _ClassVar[int]
    TX_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    tx: CosmosTx
    tx_response: CosmosTxResponse
    def __init__(self, tx: _Optional[_Union[CosmosTx, _Mapping]] = ..., tx_response: _Optional[_Union[CosmosTxResponse, _Mapping]] = ...) -> None: ...

class CosmosTx(_message.Message):
    __slots__ = ("type", "body", "native")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    type: str
    body: CosmosTxBody
    native: _common_pb2.NativeJson
    def __init__(self, type: _Optional[str] = ..., body: _Optional[_Union[CosmosTxBody, _Mapping]] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosTxBody(_message.Message):
    __slots__ = ("messages", "native")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_common_pb2.NativeJson]
    native: _common_pb2.NativeJson
    def __init__(self, messages: _Optional[_Iterable[_Union[_common_pb2.NativeJson, _Mapping]]] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CosmosTxResponse(_message.Message):
    __slots__ = ("height", "txhash", "code", "gas_wanted", "gas_used", "timestamp", "raw_log", "native")
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TXHASH_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    GAS_WANTED_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    RAW_LOG_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    height: int
    txhash: str
    code: int
    gas_wanted: str
    gas_used: str
    timestamp: _timestamp_pb2.Timestamp
    raw_log: str
    native: _common_pb2.NativeJson
    def __init__(self, height: _Optional[int] = ..., txhash: _Optional[str] = ..., code: _Optional[int] = ..., gas_wanted: _Optional[str] = ..., gas_used: _Optional[str] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., raw_log: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...
