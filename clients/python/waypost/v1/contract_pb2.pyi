from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class SimulateCallRequest(_message.Message):
    __slots__ = ("chain", "to", "data", "from_address", "value", "block")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    chain: str
    to: str
    data: str
    from_address: str
    value: str
    block: int
    def __init__(self, chain: _Optional[str] = ..., to: _Optional[str] = ..., data: _Optional[str] = ..., from_address: _Optional[str] = ..., value: _Optional[str] = ..., block: _Optional[int] = ...) -> None: ...

class SimulateCallResponse(_message.Message):
    __slots__ = ("chain", "result", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    result: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., result: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetCodeRequest(_message.Message):
    __slots__ = ("chain", "address", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetCodeResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "is_contract", "bytecode_size", "bytecode", "delegated_to")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    IS_CONTRACT_FIELD_NUMBER: _ClassVar[int]
    BYTECODE_SIZE_FIELD_NUMBER: _ClassVar[int]
    BYTECODE_FIELD_NUMBER: _ClassVar[int]
    DELEGATED_TO_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    is_contract: bool
    bytecode_size: int
    bytecode: str
    delegated_to: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., is_contract: bool = ..., bytecode_size: _Optional[int] = ..., bytecode: _Optional[str] = ..., delegated_to: _Optional[str] = ...) -> None: ...
