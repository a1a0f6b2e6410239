from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class AdmitRequest(_message.Message):
    __slots__ = ("api_key", "demo", "client_address", "items")
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    DEMO_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    api_key: str
    demo: bool
    client_address: str
    items: int
    def __init__(self, api_key: _Optional[str] = ..., demo: bool = ..., client_address: _Optional[str] = ..., items: _Optional[int] = ...) -> None: ...

class AdmitResponse(_message.Message):
    __slots__ = ("principal", "admitted", "policy", "limit", "remaining", "window_seconds", "retry_after_ms", "reset_seconds", "holder")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    WINDOW_SECONDS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    RESET_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    principal: str
    admitted: int
    policy: str
    limit: int
    remaining: int
    window_seconds: int
    retry_after_ms: int
    reset_seconds: int
    holder: str
    def __init__(self, principal: _Optional[str] = ..., admitted: _Optional[int] = ..., policy: _Optional[str] = ..., limit: _Optional[int] = ..., remaining: _Optional[int] = ..., window_seconds: _Optional[int] = ..., retry_after_ms: _Optional[int] = ..., reset_seconds: _Optional[int] = ..., holder: _Optional[str] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ("principal", "items")
    class ItemsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    principal: str
    items: _containers.ScalarMap[str, int]
    def __init__(self, principal: _Optional[str] = ..., items: _Optional[_Mapping[str, int]] = ...) -> None: ...

class ReportResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class IssueTicketRequest(_message.Message):
    __slots__ = ("api_key",)
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    api_key: str
    def __init__(self, api_key: _Optional[str] = ...) -> None: ...

class IssueTicketResponse(_message.Message):
    __slots__ = ("ticket", "expires_in")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_FIELD_NUMBER: _ClassVar[int]
    ticket: str
    expires_in: int
    def __init__(self, ticket: _Optional[str] = ..., expires_in: _Optional[int] = ...) -> None: ...

class GetReadinessRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetReadinessResponse(_message.Message):
    __slots__ = ("ready", "chains")
    class ChainsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    READY_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    chains: _containers.ScalarMap[str, str]
    def __init__(self, ready: bool = ..., chains: _Optional[_Mapping[str, str]] = ...) -> None: ...
