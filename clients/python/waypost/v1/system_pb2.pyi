from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HealthStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEALTH_STATUS_UNSPECIFIED: _ClassVar[HealthStatus]
    HEALTH_STATUS_OK: _ClassVar[HealthStatus]
    HEALTH_STATUS_DEGRADED: _ClassVar[HealthStatus]

class ChainKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHAIN_KIND_UNSPECIFIED: _ClassVar[ChainKind]
    CHAIN_KIND_EVM: _ClassVar[ChainKind]
    CHAIN_KIND_SVM: _ClassVar[ChainKind]
    CHAIN_KIND_UTXO: _ClassVar[ChainKind]
    CHAIN_KIND_CAIRO_VM: _ClassVar[ChainKind]
    CHAIN_KIND_COSMOS_SDK: _ClassVar[ChainKind]

class ChainTrouble(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHAIN_TROUBLE_UNSPECIFIED: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_WRONG_CHAIN: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_HANGS: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_REFUSED: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_THROTTLED: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_FAILS: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_BEHIND: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_NO_ENDPOINT: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_FORKED: _ClassVar[ChainTrouble]
    CHAIN_TROUBLE_AHEAD: _ClassVar[ChainTrouble]

class ChainStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHAIN_STATUS_UNSPECIFIED: _ClassVar[ChainStatus]
    CHAIN_STATUS_OK: _ClassVar[ChainStatus]
    CHAIN_STATUS_DEGRADED: _ClassVar[ChainStatus]
    CHAIN_STATUS_DOWN: _ClassVar[ChainStatus]

class CalendarKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALENDAR_KIND_UNSPECIFIED: _ClassVar[CalendarKind]
    CALENDAR_KIND_RELEASE: _ClassVar[CalendarKind]
    CALENDAR_KIND_UPGRADE: _ClassVar[CalendarKind]
HEALTH_STATUS_UNSPECIFIED: HealthStatus
HEALTH_STATUS_OK: HealthStatus
HEALTH_STATUS_DEGRADED: HealthStatus
CHAIN_KIND_UNSPECIFIED: ChainKind
CHAIN_KIND_EVM: ChainKind
CHAIN_KIND_SVM: ChainKind
CHAIN_KIND_UTXO: ChainKind
CHAIN_KIND_CAIRO_VM: ChainKind
CHAIN_KIND_COSMOS_SDK: ChainKind
CHAIN_TROUBLE_UNSPECIFIED: ChainTrouble
CHAIN_TROUBLE_WRONG_CHAIN: ChainTrouble
CHAIN_TROUBLE_HANGS: ChainTrouble
CHAIN_TROUBLE_REFUSED: ChainTrouble
CHAIN_TROUBLE_THROTTLED: ChainTrouble
CHAIN_TROUBLE_FAILS: ChainTrouble
CHAIN_TROUBLE_BEHIND: ChainTrouble
CHAIN_TROUBLE_NO_ENDPOINT: ChainTrouble
CHAIN_TROUBLE_FORKED: ChainTrouble
CHAIN_TROUBLE_AHEAD: ChainTrouble
CHAIN_STATUS_UNSPECIFIED: ChainStatus
CHAIN_STATUS_OK: ChainStatus
CHAIN_STATUS_DEGRADED: ChainStatus
CHAIN_STATUS_DOWN: ChainStatus
CALENDAR_KIND_UNSPECIFIED: CalendarKind
CALENDAR_KIND_RELEASE: CalendarKind
CALENDAR_KIND_UPGRADE: CalendarKind

class GetHealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetHealthResponse(_message.Message):
    __slots__ = ("status", "version", "uptime_seconds", "chains")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPTIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    status: HealthStatus
    version: str
    uptime_seconds: int
    chains: ChainsByState
    def __init__(self, status: _Optional[_Union[HealthStatus, str]] = ..., version: _Optional[str] = ..., uptime_seconds: _Optional[int] = ..., chains: _Optional[_Union[ChainsByState, _Mapping]] = ...) -> None: ...

class ChainsByState(_message.Message):
    __slots__ = ("ok", "degraded", "down", "unknown")
    OK_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DOWN_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    ok: _containers.RepeatedScalarFieldContainer[str]
    degraded: _containers.RepeatedScalarFieldContainer[str]
    down: _containers.RepeatedScalarFieldContainer[str]
    unknown: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ok: _Optional[_Iterable[str]] = ..., degraded: _Optional[_Iterable[str]] = ..., down: _Optional[_Iterable[str]] = ..., unknown: _Optional[_Iterable[str]] = ...) -> None: ...

class GetChainHealthRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetChainHealthResponse(_message.Message):
    __slots__ = ("chain", "status", "type", "block_height", "timestamp", "latency_ms", "reason")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    chain: str
    status: ChainStatus
    type: ChainKind
    block_height: int
    timestamp: _timestamp_pb2.Timestamp
    latency_ms: float
    reason: ChainTrouble
    def __init__(self, chain: _Optional[str] = ..., status: _Optional[_Union[ChainStatus, str]] = ..., type: _Optional[_Union[ChainKind, str]] = ..., block_height: _Optional[int] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., latency_ms: _Optional[float] = ..., reason: _Optional[_Union[ChainTrouble, str]] = ...) -> None: ...

class GetNetworkCalendarRequest(_message.Message):
    __slots__ = ("chain", "kind", "from_date", "to_date")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FROM_DATE_FIELD_NUMBER: _ClassVar[int]
    TO_DATE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    kind: CalendarKind
    from_date: str
    to_date: str
    def __init__(self, chain: _Optional[str] = ..., kind: _Optional[_Union[CalendarKind, str]] = ..., from_date: _Optional[str] = ..., to_date: _Optional[str] = ...) -> None: ...

class GetNetworkCalendarResponse(_message.Message):
    __slots__ = ("count", "entries")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    count: int
    entries: _containers.RepeatedCompositeFieldContainer[CalendarEntry]
    def __init__(self, count: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[CalendarEntry, _Mapping]]] = ...) -> None: ...

class CalendarEntry(_message.Message):
    __slots__ = ("chain", "kind", "name", "description", "scheduled_at", "block_height", "url")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    chain: str
    kind: CalendarKind
    name: str
    description: str
    scheduled_at: _timestamp_pb2.Timestamp
    block_height: int
    url: str
    def __init__(self, chain: _Optional[str] = ..., kind: _Optional[_Union[CalendarKind, str]] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., scheduled_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., block_height: _Optional[int] = ..., url: _Optional[str] = ...) -> None: ...
