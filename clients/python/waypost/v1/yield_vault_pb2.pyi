from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import yield_protocol_pb2 as _yield_protocol_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LendCVaultVersion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEND_C_VAULT_VERSION_UNSPECIFIED: _ClassVar[LendCVaultVersion]
    LEND_C_VAULT_VERSION_V1: _ClassVar[LendCVaultVersion]
    LEND_C_VAULT_VERSION_V2: _ClassVar[LendCVaultVersion]

class LendCVaultSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEND_C_VAULT_SOURCE_UNSPECIFIED: _ClassVar[LendCVaultSource]
    LEND_C_VAULT_SOURCE_API: _ClassVar[LendCVaultSource]
    LEND_C_VAULT_SOURCE_CHAIN: _ClassVar[LendCVaultSource]
LEND_C_VAULT_VERSION_UNSPECIFIED: LendCVaultVersion
LEND_C_VAULT_VERSION_V1: LendCVaultVersion
LEND_C_VAULT_VERSION_V2: LendCVaultVersion
LEND_C_VAULT_SOURCE_UNSPECIFIED: LendCVaultSource
LEND_C_VAULT_SOURCE_API: LendCVaultSource
LEND_C_VAULT_SOURCE_CHAIN: LendCVaultSource

class GetLendCVaultsRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetLendCVaultsResponse(_message.Message):
    __slots__ = ("chain", "count", "vaults")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    VAULTS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    count: int
    vaults: _containers.RepeatedCompositeFieldContainer[LendCVault]
    def __init__(self, chain: _Optional[str] = ..., count: _Optional[int] = ..., vaults: _Optional[_Iterable[_Union[LendCVault, _Mapping]]] = ...) -> None: ...

class LendCVault(_message.Message):
    __slots__ = ("address", "name", "symbol", "chain_id", "chain", "version", "whitelisted")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WHITELISTED_FIELD_NUMBER: _ClassVar[int]
    address: str
    name: str
    symbol: str
    chain_id: int
    chain: LendCChain
    version: LendCVaultVersion
    whitelisted: bool
    def __init__(self, address: _Optional[str] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., chain_id: _Optional[int] = ..., chain: _Optional[_Union[LendCChain, _Mapping]] = ..., version: _Optional[_Union[LendCVaultVersion, str]] = ..., whitelisted: bool = ...) -> None: ...

class LendCChain(_message.Message):
    __slots__ = ("id", "network")
    ID_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    id: int
    network: str
    def __init__(self, id: _Optional[int] = ..., network: _Optional[str] = ...) -> None: ...

class GetLendCVaultDataRequest(_message.Message):
    __slots__ = ("chain", "vaults")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    VAULTS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    vaults: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, chain: _Optional[str] = ..., vaults: _Optional[_Iterable[str]] = ...) -> None: ...

class GetLendCVaultDataResponse(_message.Message):
    __slots__ = ("chain", "count", "vaults")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    VAULTS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    count: int
    vaults: _containers.RepeatedCompositeFieldContainer[LendCVaultData]
    def __init__(self, chain: _Optional[str] = ..., count: _Optional[int] = ..., vaults: _Optional[_Iterable[_Union[LendCVaultData, _Mapping]]] = ...) -> None: ...

class LendCVaultData(_message.Message):
    __slots__ = ("address", "name", "symbol", "chain_id", "total_assets", "total_assets_usd", "total_supply", "fee", "apy", "net_apy", "avg_apy", "avg_net_apy", "last_updated", "source", "basis", "block_height")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ASSETS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ASSETS_USD_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUPPLY_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    APY_FIELD_NUMBER: _ClassVar[int]
    NET_APY_FIELD_NUMBER: _ClassVar[int]
    AVG_APY_FIELD_NUMBER: _ClassVar[int]
    AVG_NET_APY_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    BASIS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    address: str
    name: str
    symbol: str
    chain_id: int
    total_assets: str
    total_assets_usd: float
    total_supply: str
    fee: float
    apy: float
    net_apy: float
    avg_apy: float
    avg_net_apy: float
    last_updated: _timestamp_pb2.Timestamp
    source: LendCVaultSource
    basis: _yield_protocol_pb2.YieldBasis
    block_height: int
    def __init__(self, address: _Optional[str] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., chain_id: _Optional[int] = ..., total_assets: _Optional[str] = ..., total_assets_usd: _Optional[float] = ..., total_supply: _Optional[str] = ..., fee: _Optional[float] = ..., apy: _Optional[float] = ..., net_apy: _Optional[float] = ..., avg_apy: _Optional[float] = ..., avg_net_apy: _Optional[float] = ..., last_updated: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[_Union[LendCVaultSource, str]] = ..., basis: _Optional[_Union[_yield_protocol_pb2.YieldBasis, str]] = ..., block_height: _Optional[int] = ...) -> None: ...
