from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProtocolCategory(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTOCOL_CATEGORY_UNSPECIFIED: _ClassVar[ProtocolCategory]
    PROTOCOL_CATEGORY_LENDING: _ClassVar[ProtocolCategory]
    PROTOCOL_CATEGORY_DEX: _ClassVar[ProtocolCategory]
    PROTOCOL_CATEGORY_STAKING: _ClassVar[ProtocolCategory]
    PROTOCOL_CATEGORY_AGGREGATOR: _ClassVar[ProtocolCategory]
    PROTOCOL_CATEGORY_DERIVATIVES: _ClassVar[ProtocolCategory]
PROTOCOL_CATEGORY_UNSPECIFIED: ProtocolCategory
PROTOCOL_CATEGORY_LENDING: ProtocolCategory
PROTOCOL_CATEGORY_DEX: ProtocolCategory
PROTOCOL_CATEGORY_STAKING: ProtocolCategory
PROTOCOL_CATEGORY_AGGREGATOR: ProtocolCategory
PROTOCOL_CATEGORY_DERIVATIVES: ProtocolCategory

class GetProtocolsRequest(_message.Message):
    __slots__ = ("category", "chain")
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    category: ProtocolCategory
    chain: str
    def __init__(self, category: _Optional[_Union[ProtocolCategory, str]] = ..., chain: _Optional[str] = ...) -> None: ...

class GetProtocolsResponse(_message.Message):
    __slots__ = ("protocols",)
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    protocols: _containers.RepeatedCompositeFieldContainer[ProtocolSummary]
    def __init__(self, protocols: _Optional[_Iterable[_Union[ProtocolSummary, _Mapping]]] = ...) -> None: ...

class ProtocolSummary(_message.Message):
    __slots__ = ("name", "slug", "url", "category", "description", "version", "chains")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    name: str
    slug: str
    url: str
    category: ProtocolCategory
    description: str
    version: str
    chains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., slug: _Optional[str] = ..., url: _Optional[str] = ..., category: _Optional[_Union[ProtocolCategory, str]] = ..., description: _Optional[str] = ..., version: _Optional[str] = ..., chains: _Optional[_Iterable[str]] = ...) -> None: ...

class GetProtocolRequest(_message.Message):
    __slots__ = ("slug",)
    SLUG_FIELD_NUMBER: _ClassVar[int]
    slug: str
    def __init__(self, slug: _Optional[str] = ...) -> None: ...

class GetProtocolResponse(_message.Message):
    __slots__ = ("summary", "deployments")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENTS_FIELD_NUMBER: _ClassVar[int]
    summary: ProtocolSummary
    deployments: _containers.RepeatedCompositeFieldContainer[ProtocolDeployment]
    def __init__(self, summary: _Optional[_Union[ProtocolSummary, _Mapping]] = ..., deployments: _Optional[_Iterable[_Union[ProtocolDeployment, _Mapping]]] = ...) -> None: ...

class ProtocolDeployment(_message.Message):
    __slots__ = ("chain", "contracts")
    class ContractsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ProtocolContract
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ProtocolContract, _Mapping]] = ...) -> None: ...
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACTS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contracts: _containers.MessageMap[str, ProtocolContract]
    def __init__(self, chain: _Optional[str] = ..., contracts: _Optional[_Mapping[str, ProtocolContract]] = ...) -> None: ...

class ProtocolContract(_message.Message):
    __slots__ = ("name", "address", "abi")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ABI_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    abi: _common_pb2.NativeJson
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., abi: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class GetRegistryContractsRequest(_message.Message):
    __slots__ = ("slug", "chain")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    slug: str
    chain: str
    def __init__(self, slug: _Optional[str] = ..., chain: _Optional[str] = ...) -> None: ...

class GetRegistryContractsResponse(_message.Message):
    __slots__ = ("protocol", "chain", "contracts")
    class ContractsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: RegistryContract
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[RegistryContract, _Mapping]] = ...) -> None: ...
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACTS_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    chain: str
    contracts: _containers.MessageMap[str, RegistryContract]
    def __init__(self, protocol: _Optional[str] = ..., chain: _Optional[str] = ..., contracts: _Optional[_Mapping[str, RegistryContract]] = ...) -> None: ...

class RegistryContract(_message.Message):
    __slots__ = ("name", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetRegistryAddressRequest(_message.Message):
    __slots__ = ("slug", "contract", "chain")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    slug: str
    contract: str
    chain: str
    def __init__(self, slug: _Optional[str] = ..., contract: _Optional[str] = ..., chain: _Optional[str] = ...) -> None: ...

class GetRegistryAddressResponse(_message.Message):
    __slots__ = ("protocol", "contract", "chain", "address")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    contract: str
    chain: str
    address: str
    def __init__(self, protocol: _Optional[str] = ..., contract: _Optional[str] = ..., chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetRegistryCategoriesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRegistryCategoriesResponse(_message.Message):
    __slots__ = ("categories",)
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    categories: _containers.RepeatedScalarFieldContainer[ProtocolCategory]
    def __init__(self, categories: _Optional[_Iterable[_Union[ProtocolCategory, str]]] = ...) -> None: ...

class GetRegistryChainsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRegistryChainsResponse(_message.Message):
    __slots__ = ("chains",)
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    chains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, chains: _Optional[_Iterable[str]] = ...) -> None: ...
