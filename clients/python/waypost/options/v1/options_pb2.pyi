from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResultShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESULT_SHAPE_UNSPECIFIED: _ClassVar[ResultShape]
    RESULT_SHAPE_DATA_OBJECT: _ClassVar[ResultShape]
    RESULT_SHAPE_DATA_FIELD: _ClassVar[ResultShape]

class ParamsShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARAMS_SHAPE_UNSPECIFIED: _ClassVar[ParamsShape]
    PARAMS_SHAPE_OBJECT: _ClassVar[ParamsShape]
    PARAMS_SHAPE_ITEMS: _ClassVar[ParamsShape]

class Family(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAMILY_UNSPECIFIED: _ClassVar[Family]
    FAMILY_CHAINLESS: _ClassVar[Family]
    FAMILY_EVM: _ClassVar[Family]
    FAMILY_SOLANA: _ClassVar[Family]
    FAMILY_BITCOIN: _ClassVar[Family]
    FAMILY_STARKNET: _ClassVar[Family]
    FAMILY_COSMOS: _ClassVar[Family]

class Format(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORMAT_UNSPECIFIED: _ClassVar[Format]
    FORMAT_CHAIN: _ClassVar[Format]
    FORMAT_ADDRESS: _ClassVar[Format]
    FORMAT_EVM_ADDRESS: _ClassVar[Format]
    FORMAT_HASH: _ClassVar[Format]
    FORMAT_EVM_HASH: _ClassVar[Format]
    FORMAT_HEX_DATA: _ClassVar[Format]
    FORMAT_HEX_QUANTITY: _ClassVar[Format]
    FORMAT_DECIMAL: _ClassVar[Format]
    FORMAT_UINT: _ClassVar[Format]
    FORMAT_BLOCK: _ClassVar[Format]
    FORMAT_HEX_BLOCK: _ClassVar[Format]
    FORMAT_CURSOR: _ClassVar[Format]
    FORMAT_RFC3339: _ClassVar[Format]
    FORMAT_UNIX_SECONDS: _ClassVar[Format]
    FORMAT_SYMBOL: _ClassVar[Format]
    FORMAT_DATE: _ClassVar[Format]
    FORMAT_BASE58: _ClassVar[Format]
    FORMAT_COSMOS_HASH: _ClassVar[Format]
    FORMAT_BECH32: _ClassVar[Format]
    FORMAT_URL: _ClassVar[Format]
    FORMAT_TREE: _ClassVar[Format]
RESULT_SHAPE_UNSPECIFIED: ResultShape
RESULT_SHAPE_DATA_OBJECT: ResultShape
RESULT_SHAPE_DATA_FIELD: ResultShape
PARAMS_SHAPE_UNSPECIFIED: ParamsShape
PARAMS_SHAPE_OBJECT: ParamsShape
PARAMS_SHAPE_ITEMS: ParamsShape
FAMILY_UNSPECIFIED: Family
FAMILY_CHAINLESS: Family
FAMILY_EVM: Family
FAMILY_SOLANA: Family
FAMILY_BITCOIN: Family
FAMILY_STARKNET: Family
FAMILY_COSMOS: Family
FORMAT_UNSPECIFIED: Format
FORMAT_CHAIN: Format
FORMAT_ADDRESS: Format
FORMAT_EVM_ADDRESS: Format
FORMAT_HASH: Format
FORMAT_EVM_HASH: Format
FORMAT_HEX_DATA: Format
FORMAT_HEX_QUANTITY: Format
FORMAT_DECIMAL: Format
FORMAT_UINT: Format
FORMAT_BLOCK: Format
FORMAT_HEX_BLOCK: Format
FORMAT_CURSOR: Format
FORMAT_RFC3339: Format
FORMAT_UNIX_SECONDS: Format
FORMAT_SYMBOL: Format
FORMAT_DATE: Format
FORMAT_BASE58: Format
FORMAT_COSMOS_HASH: Format
FORMAT_BECH32: Format
FORMAT_URL: Format
FORMAT_TREE: Format
OPERATION_FIELD_NUMBER: _ClassVar[int]
operation: _descriptor.FieldDescriptor
MEMBER_FIELD_NUMBER: _ClassVar[int]
member: _descriptor.FieldDescriptor
LITERAL_FIELD_NUMBER: _ClassVar[int]
literal: _descriptor.FieldDescriptor

class Operation(_message.Message):
    __slots__ = ("name", "aliases", "result", "params", "families", "chains", "available", "cost", "cache_seconds", "http_status_from", "deadline_ms", "group")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    CACHE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FROM_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    name: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    result: ResultShape
    params: ParamsShape
    families: _containers.RepeatedScalarFieldContainer[Family]
    chains: _containers.RepeatedScalarFieldContainer[str]
    available: _containers.RepeatedScalarFieldContainer[Family]
    cost: int
    cache_seconds: int
    http_status_from: str
    deadline_ms: int
    group: str
    def __init__(self, name: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., result: _Optional[_Union[ResultShape, str]] = ..., params: _Optional[_Union[ParamsShape, str]] = ..., families: _Optional[_Iterable[_Union[Family, str]]] = ..., chains: _Optional[_Iterable[str]] = ..., available: _Optional[_Iterable[_Union[Family, str]]] = ..., cost: _Optional[int] = ..., cache_seconds: _Optional[int] = ..., http_status_from: _Optional[str] = ..., deadline_ms: _Optional[int] = ..., group: _Optional[str] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("format", "required", "min", "max", "max_length", "default_value", "nullable", "inline", "csv", "one_of", "min_length", "example", "children", "subject", "order", "mainnet_example", "grpc_only")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    CSV_FIELD_NUMBER: _ClassVar[int]
    ONE_OF_FIELD_NUMBER: _ClassVar[int]
    MIN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MAINNET_EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    GRPC_ONLY_FIELD_NUMBER: _ClassVar[int]
    format: Format
    required: bool
    min: int
    max: int
    max_length: int
    default_value: str
    nullable: bool
    inline: bool
    csv: bool
    one_of: _containers.RepeatedScalarFieldContainer[str]
    min_length: int
    example: str
    children: str
    subject: bool
    order: str
    mainnet_example: str
    grpc_only: bool
    def __init__(self, format: _Optional[_Union[Format, str]] = ..., required: bool = ..., min: _Optional[int] = ..., max: _Optional[int] = ..., max_length: _Optional[int] = ..., default_value: _Optional[str] = ..., nullable: bool = ..., inline: bool = ..., csv: bool = ..., one_of: _Optional[_Iterable[str]] = ..., min_length: _Optional[int] = ..., example: _Optional[str] = ..., children: _Optional[str] = ..., subject: bool = ..., order: _Optional[str] = ..., mainnet_example: _Optional[str] = ..., grpc_only: bool = ...) -> None: ...

class Literal(_message.Message):
    __slots__ = ("wire", "aliases", "http_status")
    WIRE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    wire: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    http_status: int
    def __init__(self, wire: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., http_status: _Optional[int] = ...) -> None: ...
