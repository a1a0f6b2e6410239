from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import marketplace_outcome_pb2 as _marketplace_outcome_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AbiType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABI_TYPE_UNSPECIFIED: _ClassVar[AbiType]
    ABI_TYPE_FUNCTION: _ClassVar[AbiType]
    ABI_TYPE_EVENT: _ClassVar[AbiType]

class MarketplaceOperation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MARKETPLACE_OPERATION_UNSPECIFIED: _ClassVar[MarketplaceOperation]
    MARKETPLACE_OPERATION_CALL: _ClassVar[MarketplaceOperation]
    MARKETPLACE_OPERATION_SIMULATE_CALL: _ClassVar[MarketplaceOperation]
    MARKETPLACE_OPERATION_GET_LOGS: _ClassVar[MarketplaceOperation]
ABI_TYPE_UNSPECIFIED: AbiType
ABI_TYPE_FUNCTION: AbiType
ABI_TYPE_EVENT: AbiType
MARKETPLACE_OPERATION_UNSPECIFIED: MarketplaceOperation
MARKETPLACE_OPERATION_CALL: MarketplaceOperation
MARKETPLACE_OPERATION_SIMULATE_CALL: MarketplaceOperation
MARKETPLACE_OPERATION_GET_LOGS: MarketplaceOperation

class ListMarketplaceMethodsRequest(_message.Message):
    __slots__ = ("chain", "app_id", "abi_type")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    ABI_TYPE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    app_id: str
    abi_type: AbiType
    def __init__(self, chain: _Optional[str] = ..., app_id: _Optional[str] = ..., abi_type: _Optional[_Union[AbiType, str]] = ...) -> None: ...

class ListMarketplaceMethodsResponse(_message.Message):
    __slots__ = ("methods",)
    METHODS_FIELD_NUMBER: _ClassVar[int]
    methods: _containers.RepeatedCompositeFieldContainer[MarketplaceMethod]
    def __init__(self, methods: _Optional[_Iterable[_Union[MarketplaceMethod, _Mapping]]] = ...) -> None: ...

class MarketplaceMethod(_message.Message):
    __slots__ = ("method", "abi_name", "abi_type", "params", "app_id", "deployment_name", "is_template", "chain", "address")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    ABI_NAME_FIELD_NUMBER: _ClassVar[int]
    ABI_TYPE_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    IS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    method: str
    abi_name: str
    abi_type: AbiType
    params: _containers.RepeatedCompositeFieldContainer[MarketplaceParam]
    app_id: str
    deployment_name: str
    is_template: bool
    chain: str
    address: str
    def __init__(self, method: _Optional[str] = ..., abi_name: _Optional[str] = ..., abi_type: _Optional[_Union[AbiType, str]] = ..., params: _Optional[_Iterable[_Union[MarketplaceParam, _Mapping]]] = ..., app_id: _Optional[str] = ..., deployment_name: _Optional[str] = ..., is_template: bool = ..., chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class MarketplaceParam(_message.Message):
    __slots__ = ("name", "type", "indexed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    indexed: bool
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., indexed: bool = ...) -> None: ...

class GetMarketplaceContractRequest(_message.Message):
    __slots__ = ("app_id",)
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    def __init__(self, app_id: _Optional[str] = ...) -> None: ...

class GetMarketplaceContractResponse(_message.Message):
    __slots__ = ("app_id", "name", "is_template", "deployments")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENTS_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    name: str
    is_template: bool
    deployments: _containers.RepeatedCompositeFieldContainer[MarketplaceDeployment]
    def __init__(self, app_id: _Optional[str] = ..., name: _Optional[str] = ..., is_template: bool = ..., deployments: _Optional[_Iterable[_Union[MarketplaceDeployment, _Mapping]]] = ...) -> None: ...

class MarketplaceDeployment(_message.Message):
    __slots__ = ("name", "chain", "address", "methods", "abi")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    ABI_FIELD_NUMBER: _ClassVar[int]
    name: str
    chain: str
    address: str
    methods: _containers.RepeatedCompositeFieldContainer[MarketplaceMethod]
    abi: _common_pb2.NativeJson
    def __init__(self, name: _Optional[str] = ..., chain: _Optional[str] = ..., address: _Optional[str] = ..., methods: _Optional[_Iterable[_Union[MarketplaceMethod, _Mapping]]] = ..., abi: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class CallMethodRequest(_message.Message):
    __slots__ = ("method", "chain", "address", "args", "from_address", "value", "height", "from_block", "to_block", "page_token", "page_size")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    FROM_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    FROM_BLOCK_FIELD_NUMBER: _ClassVar[int]
    TO_BLOCK_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    method: str
    chain: str
    address: str
    args: _common_pb2.NativeJson
    from_address: str
    value: str
    height: str
    from_block: str
    to_block: str
    page_token: str
    page_size: int
    def __init__(self, method: _Optional[str] = ..., chain: _Optional[str] = ..., address: _Optional[str] = ..., args: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ..., from_address: _Optional[str] = ..., value: _Optional[str] = ..., height: _Optional[str] = ..., from_block: _Optional[str] = ..., to_block: _Optional[str] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class CallMethodResponse(_message.Message):
    __slots__ = ("chain", "address", "method", "abi_name", "deployment_name", "operation", "abi_type", "call", "simulation", "events")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    ABI_NAME_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENT_NAME_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    ABI_TYPE_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    SIMULATION_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    method: str
    abi_name: str
    deployment_name: str
    operation: MarketplaceOperation
    abi_type: AbiType
    call: _marketplace_outcome_pb2.MarketplaceCall
    simulation: _marketplace_outcome_pb2.MarketplaceSimulation
    events: _marketplace_outcome_pb2.MarketplaceEvents
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., method: _Optional[str] = ..., abi_name: _Optional[str] = ..., deployment_name: _Optional[str] = ..., operation: _Optional[_Union[MarketplaceOperation, str]] = ..., abi_type: _Optional[_Union[AbiType, str]] = ..., call: _Optional[_Union[_marketplace_outcome_pb2.MarketplaceCall, _Mapping]] = ..., simulation: _Optional[_Union[_marketplace_outcome_pb2.MarketplaceSimulation, _Mapping]] = ..., events: _Optional[_Union[_marketplace_outcome_pb2.MarketplaceEvents, _Mapping]] = ...) -> None: ...
