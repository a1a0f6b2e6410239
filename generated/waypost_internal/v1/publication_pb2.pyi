from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListPublicationsRequest(_message.Message):
    __slots__ = ("known_version",)
    KNOWN_VERSION_FIELD_NUMBER: _ClassVar[int]
    known_version: str
    def __init__(self, known_version: _Optional[str] = ...) -> None: ...

class ListPublicationsResponse(_message.Message):
    __slots__ = ("version", "publications")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLICATIONS_FIELD_NUMBER: _ClassVar[int]
    version: str
    publications: _containers.RepeatedCompositeFieldContainer[Publication]
    def __init__(self, version: _Optional[str] = ..., publications: _Optional[_Iterable[_Union[Publication, _Mapping]]] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("method", "operation", "app_name", "is_template", "chain", "address", "abi_item", "is_overloaded")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    APP_NAME_FIELD_NUMBER: _ClassVar[int]
    IS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ABI_ITEM_FIELD_NUMBER: _ClassVar[int]
    IS_OVERLOADED_FIELD_NUMBER: _ClassVar[int]
    method: str
    operation: str
    app_name: str
    is_template: bool
    chain: str
    address: str
    abi_item: bytes
    is_overloaded: bool
    def __init__(self, method: _Optional[str] = ..., operation: _Optional[str] = ..., app_name: _Optional[str] = ..., is_template: bool = ..., chain: _Optional[str] = ..., address: _Optional[str] = ..., abi_item: _Optional[bytes] = ..., is_overloaded: bool = ...) -> None: ...
