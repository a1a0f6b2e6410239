from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_PARSE_ERROR: _ClassVar[Reason]
    REASON_INVALID_REQUEST: _ClassVar[Reason]
    REASON_BATCH_TOO_LARGE: _ClassVar[Reason]
    REASON_BODY_TOO_LARGE: _ClassVar[Reason]
    REASON_INVALID_ARGUMENT: _ClassVar[Reason]
    REASON_UNKNOWN_PARAMETER: _ClassVar[Reason]
    REASON_CHAIN_UNKNOWN: _ClassVar[Reason]
    REASON_CHAIN_UNSUPPORTED: _ClassVar[Reason]
    REASON_NOT_SUPPORTED: _ClassVar[Reason]
    REASON_ARCHIVE_REQUIRED: _ClassVar[Reason]
    REASON_RANGE_TOO_LARGE: _ClassVar[Reason]
    REASON_RESPONSE_TOO_LARGE: _ClassVar[Reason]
    REASON_REVERTED: _ClassVar[Reason]
    REASON_NOT_A_TOKEN: _ClassVar[Reason]
    REASON_NOT_ENUMERABLE: _ClassVar[Reason]
    REASON_OVERLOADED: _ClassVar[Reason]
    REASON_KEY_MISSING: _ClassVar[Reason]
    REASON_KEY_INVALID: _ClassVar[Reason]
    REASON_METHOD_UNKNOWN: _ClassVar[Reason]
    REASON_NOT_AVAILABLE: _ClassVar[Reason]
    REASON_NOT_FOUND: _ClassVar[Reason]
    REASON_PENDING: _ClassVar[Reason]
    REASON_RATE_LIMITED: _ClassVar[Reason]
    REASON_PRICE_UNAVAILABLE: _ClassVar[Reason]
    REASON_UPSTREAM_UNAVAILABLE: _ClassVar[Reason]
    REASON_UPSTREAM_DISAGREES: _ClassVar[Reason]
    REASON_DEADLINE_EXCEEDED: _ClassVar[Reason]
    REASON_INTERNAL: _ClassVar[Reason]
    REASON_KEY_NOT_ALLOWED: _ClassVar[Reason]
    REASON_CURSOR_TOO_OLD: _ClassVar[Reason]
    REASON_SLOW_CONSUMER: _ClassVar[Reason]
REASON_UNSPECIFIED: Reason
REASON_PARSE_ERROR: Reason
REASON_INVALID_REQUEST: Reason
REASON_BATCH_TOO_LARGE: Reason
REASON_BODY_TOO_LARGE: Reason
REASON_INVALID_ARGUMENT: Reason
REASON_UNKNOWN_PARAMETER: Reason
REASON_CHAIN_UNKNOWN: Reason
REASON_CHAIN_UNSUPPORTED: Reason
REASON_NOT_SUPPORTED: Reason
REASON_ARCHIVE_REQUIRED: Reason
REASON_RANGE_TOO_LARGE: Reason
REASON_RESPONSE_TOO_LARGE: Reason
REASON_REVERTED: Reason
REASON_NOT_A_TOKEN: Reason
REASON_NOT_ENUMERABLE: Reason
REASON_OVERLOADED: Reason
REASON_KEY_MISSING: Reason
REASON_KEY_INVALID: Reason
REASON_METHOD_UNKNOWN: Reason
REASON_NOT_AVAILABLE: Reason
REASON_NOT_FOUND: Reason
REASON_PENDING: Reason
REASON_RATE_LIMITED: Reason
REASON_PRICE_UNAVAILABLE: Reason
REASON_UPSTREAM_UNAVAILABLE: Reason
REASON_UPSTREAM_DISAGREES: Reason
REASON_DEADLINE_EXCEEDED: Reason
REASON_INTERNAL: Reason
REASON_KEY_NOT_ALLOWED: Reason
REASON_CURSOR_TOO_OLD: Reason
REASON_SLOW_CONSUMER: Reason

class NativeJson(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...

class RowError(_message.Message):
    __slots__ = ("code", "message", "reason", "status")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    reason: Reason
    status: int
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., reason: _Optional[_Union[Reason, str]] = ..., status: _Optional[int] = ...) -> None: ...

class TokenRef(_message.Message):
    __slots__ = ("symbol", "address", "decimals")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    decimals: int
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ..., decimals: _Optional[int] = ...) -> None: ...
