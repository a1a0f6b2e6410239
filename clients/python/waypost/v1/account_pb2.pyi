from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GetBalanceRequest(_message.Message):
    __slots__ = ("chain", "address", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetBalanceResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "token", "balance", "balance_raw", "decimals")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_RAW_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    token: str
    balance: str
    balance_raw: str
    decimals: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., token: _Optional[str] = ..., balance: _Optional[str] = ..., balance_raw: _Optional[str] = ..., decimals: _Optional[int] = ...) -> None: ...
