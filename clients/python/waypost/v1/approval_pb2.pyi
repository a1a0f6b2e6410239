from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetApprovalsRequest(_message.Message):
    __slots__ = ("chain", "address", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetApprovalsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "approvals")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("token", "spender", "allowance", "allowance_raw", "is_unlimited")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SPENDER_FIELD_NUMBER: _ClassVar[int]
    ALLOWANCE_FIELD_NUMBER: _ClassVar[int]
    ALLOWANCE_RAW_FIELD_NUMBER: _ClassVar[int]
    IS_UNLIMITED_FIELD_NUMBER: _ClassVar[int]
    token: ApprovalToken
    spender: ApprovalSpender
    allowance: str
    allowance_raw: str
    is_unlimited: bool
    def __init__(self, token: _Optional[_Union[ApprovalToken, _Mapping]] = ..., spender: _Optional[_Union[ApprovalSpender, _Mapping]] = ..., allowance: _Optional[str] = ..., allowance_raw: _Optional[str] = ..., is_unlimited: bool = ...) -> None: ...

class ApprovalToken(_message.Message):
    __slots__ = ("symbol", "address")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class ApprovalSpender(_message.Message):
    __slots__ = ("name", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetApprovalsRevokeRequest(_message.Message):
    __slots__ = ("chain", "address", "token", "spender")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SPENDER_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    token: str
    spender: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., token: _Optional[str] = ..., spender: _Optional[str] = ...) -> None: ...

class GetApprovalsRevokeResponse(_message.Message):
    __slots__ = ("to", "from_address", "data", "value")
    TO_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    to: str
    from_address: str
    data: str
    value: str
    def __init__(self, to: _Optional[str] = ..., from_address: _Optional[str] = ..., data: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
