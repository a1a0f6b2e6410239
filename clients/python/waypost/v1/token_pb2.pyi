from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import token_discovery_pb2 as _token_discovery_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetTokenBalanceRequest(_message.Message):
    __slots__ = ("chain", "address", "token", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    token: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., token: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetTokenBalanceResponse(_message.Message):
    __slots__ = ("chain", "address", "token", "block_height", "balance", "balance_raw", "decimals")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_RAW_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    token: str
    block_height: int
    balance: str
    balance_raw: str
    decimals: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., token: _Optional[str] = ..., block_height: _Optional[int] = ..., balance: _Optional[str] = ..., balance_raw: _Optional[str] = ..., decimals: _Optional[int] = ...) -> None: ...

class GetTokenMetadataRequest(_message.Message):
    __slots__ = ("chain", "address", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetTokenMetadataResponse(_message.Message):
    __slots__ = ("chain", "address", "evm", "solana", "cosmos")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    EVM_FIELD_NUMBER: _ClassVar[int]
    SOLANA_FIELD_NUMBER: _ClassVar[int]
    COSMOS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    evm: EvmTokenMetadata
    solana: SolanaTokenMetadata
    cosmos: CosmosTokenMetadata
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., evm: _Optional[_Union[EvmTokenMetadata, _Mapping]] = ..., solana: _Optional[_Union[SolanaTokenMetadata, _Mapping]] = ..., cosmos: _Optional[_Union[CosmosTokenMetadata, _Mapping]] = ...) -> None: ...

class EvmTokenMetadata(_message.Message):
    __slots__ = ("block_height", "name", "symbol", "decimals", "total_supply")
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUPPLY_FIELD_NUMBER: _ClassVar[int]
    block_height: int
    name: str
    symbol: str
    decimals: int
    total_supply: str
    def __init__(self, block_height: _Optional[int] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., decimals: _Optional[int] = ..., total_supply: _Optional[str] = ...) -> None: ...

class SolanaTokenMetadata(_message.Message):
    __slots__ = ("block_height", "name", "symbol", "uri", "decimals", "total_supply")
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUPPLY_FIELD_NUMBER: _ClassVar[int]
    block_height: int
    name: str
    symbol: str
    uri: str
    decimals: int
    total_supply: str
    def __init__(self, block_height: _Optional[int] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., uri: _Optional[str] = ..., decimals: _Optional[int] = ..., total_supply: _Optional[str] = ...) -> None: ...

class CosmosTokenMetadata(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: DenomMetadata
    def __init__(self, metadata: _Optional[_Union[DenomMetadata, _Mapping]] = ...) -> None: ...

class DenomMetadata(_message.Message):
    __slots__ = ("description", "denom_units", "base", "display", "name", "symbol", "uri", "uri_hash")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DENOM_UNITS_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    URI_HASH_FIELD_NUMBER: _ClassVar[int]
    description: str
    denom_units: _containers.RepeatedCompositeFieldContainer[DenomUnit]
    base: str
    display: str
    name: str
    symbol: str
    uri: str
    uri_hash: str
    def __init__(self, description: _Optional[str] = ..., denom_units: _Optional[_Iterable[_Union[DenomUnit, _Mapping]]] = ..., base: _Optional[str] = ..., display: _Optional[str] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., uri: _Optional[str] = ..., uri_hash: _Optional[str] = ...) -> None: ...

class DenomUnit(_message.Message):
    __slots__ = ("denom", "exponent", "aliases")
    DENOM_FIELD_NUMBER: _ClassVar[int]
    EXPONENT_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    denom: str
    exponent: int
    aliases: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, denom: _Optional[str] = ..., exponent: _Optional[int] = ..., aliases: _Optional[_Iterable[str]] = ...) -> None: ...

class GetDenomSupplyRequest(_message.Message):
    __slots__ = ("chain", "denom")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DENOM_FIELD_NUMBER: _ClassVar[int]
    chain: str
    denom: str
    def __init__(self, chain: _Optional[str] = ..., denom: _Optional[str] = ...) -> None: ...

class GetDenomSupplyResponse(_message.Message):
    __slots__ = ("chain", "denom", "amount")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    DENOM_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    denom: str
    amount: DenomSupply
    def __init__(self, chain: _Optional[str] = ..., denom: _Optional[str] = ..., amount: _Optional[_Union[DenomSupply, _Mapping]] = ...) -> None: ...

class DenomSupply(_message.Message):
    __slots__ = ("denom", "amount")
    DENOM_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    denom: str
    amount: str
    def __init__(self, denom: _Optional[str] = ..., amount: _Optional[str] = ...) -> None: ...

class GetTokenAllowanceRequest(_message.Message):
    __slots__ = ("chain", "address", "owner", "spender", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SPENDER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    owner: str
    spender: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., owner: _Optional[str] = ..., spender: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetTokenAllowanceResponse(_message.Message):
    __slots__ = ("chain", "token", "symbol", "owner", "spender", "block_height", "allowance", "allowance_raw", "is_unlimited")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SPENDER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    ALLOWANCE_FIELD_NUMBER: _ClassVar[int]
    ALLOWANCE_RAW_FIELD_NUMBER: _ClassVar[int]
    IS_UNLIMITED_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token: str
    symbol: str
    owner: str
    spender: str
    block_height: int
    allowance: str
    allowance_raw: str
    is_unlimited: bool
    def __init__(self, chain: _Optional[str] = ..., token: _Optional[str] = ..., symbol: _Optional[str] = ..., owner: _Optional[str] = ..., spender: _Optional[str] = ..., block_height: _Optional[int] = ..., allowance: _Optional[str] = ..., allowance_raw: _Optional[str] = ..., is_unlimited: bool = ...) -> None: ...
