from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UsageGroup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USAGE_GROUP_UNSPECIFIED: _ClassVar[UsageGroup]
    USAGE_GROUP_HOUR: _ClassVar[UsageGroup]
    USAGE_GROUP_DAY: _ClassVar[UsageGroup]
    USAGE_GROUP_OPERATION: _ClassVar[UsageGroup]
    USAGE_GROUP_CHAIN: _ClassVar[UsageGroup]
USAGE_GROUP_UNSPECIFIED: UsageGroup
USAGE_GROUP_HOUR: UsageGroup
USAGE_GROUP_DAY: UsageGroup
USAGE_GROUP_OPERATION: UsageGroup
USAGE_GROUP_CHAIN: UsageGroup

class GetUsageRequest(_message.Message):
    __slots__ = ("from_date", "to_date", "group_by", "page_size", "page_token")
    FROM_DATE_FIELD_NUMBER: _ClassVar[int]
    TO_DATE_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    from_date: str
    to_date: str
    group_by: UsageGroup
    page_size: int
    page_token: str
    def __init__(self, from_date: _Optional[str] = ..., to_date: _Optional[str] = ..., group_by: _Optional[_Union[UsageGroup, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetUsageResponse(_message.Message):
    __slots__ = ("account", "from_date", "to_date", "group_by", "rows", "total", "next_page_token")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    FROM_DATE_FIELD_NUMBER: _ClassVar[int]
    TO_DATE_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    account: str
    from_date: str
    to_date: str
    group_by: UsageGroup
    rows: _containers.RepeatedCompositeFieldContainer[UsageRow]
    total: UsageFigures
    next_page_token: str
    def __init__(self, account: _Optional[str] = ..., from_date: _Optional[str] = ..., to_date: _Optional[str] = ..., group_by: _Optional[_Union[UsageGroup, str]] = ..., rows: _Optional[_Iterable[_Union[UsageRow, _Mapping]]] = ..., total: _Optional[_Union[UsageFigures, _Mapping]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UsageRow(_message.Message):
    __slots__ = ("start", "operation", "chain", "figures")
    START_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    start: _timestamp_pb2.Timestamp
    operation: str
    chain: str
    figures: UsageFigures
    def __init__(self, start: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., operation: _Optional[str] = ..., chain: _Optional[str] = ..., figures: _Optional[_Union[UsageFigures, _Mapping]] = ...) -> None: ...

class UsageFigures(_message.Message):
    __slots__ = ("requests", "items", "units", "cache_hits", "errors", "upstream_requests", "upstream_bytes_sent", "upstream_bytes_received", "joined", "folded")
    class ErrorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    CACHE_HITS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_BYTES_SENT_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_BYTES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    FOLDED_FIELD_NUMBER: _ClassVar[int]
    requests: int
    items: int
    units: int
    cache_hits: int
    errors: _containers.ScalarMap[str, int]
    upstream_requests: int
    upstream_bytes_sent: int
    upstream_bytes_received: int
    joined: int
    folded: int
    def __init__(self, requests: _Optional[int] = ..., items: _Optional[int] = ..., units: _Optional[int] = ..., cache_hits: _Optional[int] = ..., errors: _Optional[_Mapping[str, int]] = ..., upstream_requests: _Optional[int] = ..., upstream_bytes_sent: _Optional[int] = ..., upstream_bytes_received: _Optional[int] = ..., joined: _Optional[int] = ..., folded: _Optional[int] = ...) -> None: ...
