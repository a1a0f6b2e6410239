from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChainRpcRequest(_message.Message):
    __slots__ = ("chain", "method", "params", "node_errors", "rest_path")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    NODE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    REST_PATH_FIELD_NUMBER: _ClassVar[int]
    chain: str
    method: str
    params: _common_pb2.NativeJson
    node_errors: bool
    rest_path: str
    def __init__(self, chain: _Optional[str] = ..., method: _Optional[str] = ..., params: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., node_errors: bool = ..., rest_path: _Optional[str] = ...) -> None: ...

class NodeError(_message.Message):
    __slots__ = ("code", "message", "data")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    data: _common_pb2.NativeJson
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., data: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class NodeFailure(_message.Message):
    __slots__ = ("code", "message", "data", "http_status")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    data: _common_pb2.NativeJson
    http_status: int
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., data: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., http_status: _Optional[int] = ...) -> None: ...

class ChainRpcResponse(_message.Message):
    __slots__ = ("chain", "method", "result", "failure")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    method: str
    result: _common_pb2.NativeJson
    failure: NodeFailure
    def __init__(self, chain: _Optional[str] = ..., method: _Optional[str] = ..., result: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., failure: _Optional[_Union[NodeFailure, _Mapping]] = ...) -> None: ...
