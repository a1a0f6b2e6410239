from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SimulationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIMULATION_STATUS_UNSPECIFIED: _ClassVar[SimulationStatus]
    SIMULATION_STATUS_SUCCESS: _ClassVar[SimulationStatus]
    SIMULATION_STATUS_FAILURE: _ClassVar[SimulationStatus]
SIMULATION_STATUS_UNSPECIFIED: SimulationStatus
SIMULATION_STATUS_SUCCESS: SimulationStatus
SIMULATION_STATUS_FAILURE: SimulationStatus

class MarketplaceCall(_message.Message):
    __slots__ = ("outputs", "block_height")
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    outputs: _common_pb2.NativeJson
    block_height: int
    def __init__(self, outputs: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., block_height: _Optional[int] = ...) -> None: ...

class MarketplaceSimulation(_message.Message):
    __slots__ = ("outputs", "status", "gas_used", "logs", "logs_available", "reason", "block_height", "gas_used_available")
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    LOGS_AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    GAS_USED_AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    outputs: _common_pb2.NativeJson
    status: SimulationStatus
    gas_used: str
    logs: _containers.RepeatedCompositeFieldContainer[SimulatedLog]
    logs_available: bool
    reason: str
    block_height: int
    gas_used_available: bool
    def __init__(self, outputs: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., status: _Optional[_Union[SimulationStatus, str]] = ..., gas_used: _Optional[str] = ..., logs: _Optional[_Iterable[_Union[SimulatedLog, _Mapping]]] = ..., logs_available: bool = ..., reason: _Optional[str] = ..., block_height: _Optional[int] = ..., gas_used_available: bool = ...) -> None: ...

class SimulatedLog(_message.Message):
    __slots__ = ("address", "topics", "data")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    address: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    data: str
    def __init__(self, address: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., data: _Optional[str] = ...) -> None: ...

class MarketplaceEvents(_message.Message):
    __slots__ = ("count", "page_size", "has_more", "next_page_token", "logs")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    count: int
    page_size: int
    has_more: bool
    next_page_token: str
    logs: _containers.RepeatedCompositeFieldContainer[MarketplaceEvent]
    def __init__(self, count: _Optional[int] = ..., page_size: _Optional[int] = ..., has_more: bool = ..., next_page_token: _Optional[str] = ..., logs: _Optional[_Iterable[_Union[MarketplaceEvent, _Mapping]]] = ...) -> None: ...

class MarketplaceEvent(_message.Message):
    __slots__ = ("address", "block_number", "transaction_hash", "log_index", "args")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_HASH_FIELD_NUMBER: _ClassVar[int]
    LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    address: str
    block_number: int
    transaction_hash: str
    log_index: int
    args: _common_pb2.NativeJson
    def __init__(self, address: _Optional[str] = ..., block_number: _Optional[int] = ..., transaction_hash: _Optional[str] = ..., log_index: _Optional[int] = ..., args: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...
