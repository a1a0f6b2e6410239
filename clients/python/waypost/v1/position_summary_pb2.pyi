from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import position_lending_pb2 as _position_lending_pb2
from waypost.v1 import position_pool_pb2 as _position_pool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SummaryProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_PROTOCOL_UNSPECIFIED: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_LEND_A_V2: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_LEND_A_V3: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_LEND_B_V2: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_LEND_B_V3: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_LEND_C: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_STAKE_A: _ClassVar[SummaryProtocol]
    SUMMARY_PROTOCOL_POOL_A_LEND: _ClassVar[SummaryProtocol]

class SummaryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_STATUS_UNSPECIFIED: _ClassVar[SummaryStatus]
    SUMMARY_STATUS_OK: _ClassVar[SummaryStatus]
    SUMMARY_STATUS_ERROR: _ClassVar[SummaryStatus]
    SUMMARY_STATUS_UNSUPPORTED: _ClassVar[SummaryStatus]
SUMMARY_PROTOCOL_UNSPECIFIED: SummaryProtocol
SUMMARY_PROTOCOL_LEND_A_V2: SummaryProtocol
SUMMARY_PROTOCOL_LEND_A_V3: SummaryProtocol
SUMMARY_PROTOCOL_LEND_B_V2: SummaryProtocol
SUMMARY_PROTOCOL_LEND_B_V3: SummaryProtocol
SUMMARY_PROTOCOL_LEND_C: SummaryProtocol
SUMMARY_PROTOCOL_STAKE_A: SummaryProtocol
SUMMARY_PROTOCOL_POOL_A_LEND: SummaryProtocol
SUMMARY_STATUS_UNSPECIFIED: SummaryStatus
SUMMARY_STATUS_OK: SummaryStatus
SUMMARY_STATUS_ERROR: SummaryStatus
SUMMARY_STATUS_UNSUPPORTED: SummaryStatus

class GetDefiSummaryRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetDefiSummaryResponse(_message.Message):
    __slots__ = ("address", "chain", "block_height", "timestamp", "protocols")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    address: str
    chain: str
    block_height: int
    timestamp: _timestamp_pb2.Timestamp
    protocols: _containers.RepeatedCompositeFieldContainer[ProtocolPositions]
    def __init__(self, address: _Optional[str] = ..., chain: _Optional[str] = ..., block_height: _Optional[int] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., protocols: _Optional[_Iterable[_Union[ProtocolPositions, _Mapping]]] = ...) -> None: ...

class ProtocolPositions(_message.Message):
    __slots__ = ("protocol", "status", "value", "error")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    protocol: SummaryProtocol
    status: SummaryStatus
    value: SummaryData
    error: _common_pb2.RowError
    def __init__(self, protocol: _Optional[_Union[SummaryProtocol, str]] = ..., status: _Optional[_Union[SummaryStatus, str]] = ..., value: _Optional[_Union[SummaryData, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.RowError, _Mapping]] = ...) -> None: ...

class SummaryData(_message.Message):
    __slots__ = ("lend_a_v2", "lend_a_v3", "lend_b_v2", "lend_b_v3", "lend_c", "stake_a", "pool_a_lend")
    LEND_A_V2_FIELD_NUMBER: _ClassVar[int]
    LEND_A_V3_FIELD_NUMBER: _ClassVar[int]
    LEND_B_V2_FIELD_NUMBER: _ClassVar[int]
    LEND_B_V3_FIELD_NUMBER: _ClassVar[int]
    LEND_C_FIELD_NUMBER: _ClassVar[int]
    STAKE_A_FIELD_NUMBER: _ClassVar[int]
    POOL_A_LEND_FIELD_NUMBER: _ClassVar[int]
    lend_a_v2: _position_lending_pb2.LendAV2Positions
    lend_a_v3: _position_lending_pb2.LendAV3Positions
    lend_b_v2: _position_lending_pb2.LendBV2Positions
    lend_b_v3: _position_lending_pb2.LendBV3Positions
    lend_c: _position_lending_pb2.LendCPositions
    stake_a: _position_pool_pb2.StakeAPositions
    pool_a_lend: _position_pool_pb2.PoolALendPositions
    def __init__(self, lend_a_v2: _Optional[_Union[_position_lending_pb2.LendAV2Positions, _Mapping]] = ..., lend_a_v3: _Optional[_Union[_position_lending_pb2.LendAV3Positions, _Mapping]] = ..., lend_b_v2: _Optional[_Union[_position_lending_pb2.LendBV2Positions, _Mapping]] = ..., lend_b_v3: _Optional[_Union[_position_lending_pb2.LendBV3Positions, _Mapping]] = ..., lend_c: _Optional[_Union[_position_lending_pb2.LendCPositions, _Mapping]] = ..., stake_a: _Optional[_Union[_position_pool_pb2.StakeAPositions, _Mapping]] = ..., pool_a_lend: _Optional[_Union[_position_pool_pb2.PoolALendPositions, _Mapping]] = ...) -> None: ...
