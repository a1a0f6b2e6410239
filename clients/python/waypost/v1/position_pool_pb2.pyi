from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StakeAPositions(_message.Message):
    __slots__ = ("st_eth", "wst_eth", "exchange_rates", "total_eth_equivalent", "staking_apr", "rate_block_height")
    ST_ETH_FIELD_NUMBER: _ClassVar[int]
    WST_ETH_FIELD_NUMBER: _ClassVar[int]
    EXCHANGE_RATES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ETH_EQUIVALENT_FIELD_NUMBER: _ClassVar[int]
    STAKING_APR_FIELD_NUMBER: _ClassVar[int]
    RATE_BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    st_eth: StakeARebasing
    wst_eth: StakeAWrapped
    exchange_rates: StakeARates
    total_eth_equivalent: str
    staking_apr: float
    rate_block_height: int
    def __init__(self, st_eth: _Optional[_Union[StakeARebasing, _Mapping]] = ..., wst_eth: _Optional[_Union[StakeAWrapped, _Mapping]] = ..., exchange_rates: _Optional[_Union[StakeARates, _Mapping]] = ..., total_eth_equivalent: _Optional[str] = ..., staking_apr: _Optional[float] = ..., rate_block_height: _Optional[int] = ...) -> None: ...

class StakeARebasing(_message.Message):
    __slots__ = ("balance", "balance_eth")
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_ETH_FIELD_NUMBER: _ClassVar[int]
    balance: str
    balance_eth: str
    def __init__(self, balance: _Optional[str] = ..., balance_eth: _Optional[str] = ...) -> None: ...

class StakeAWrapped(_message.Message):
    __slots__ = ("balance", "balance_st_eth", "balance_eth")
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_ST_ETH_FIELD_NUMBER: _ClassVar[int]
    BALANCE_ETH_FIELD_NUMBER: _ClassVar[int]
    balance: str
    balance_st_eth: str
    balance_eth: str
    def __init__(self, balance: _Optional[str] = ..., balance_st_eth: _Optional[str] = ..., balance_eth: _Optional[str] = ...) -> None: ...

class StakeARates(_message.Message):
    __slots__ = ("st_eth_per_wst_eth", "wst_eth_per_st_eth")
    ST_ETH_PER_WST_ETH_FIELD_NUMBER: _ClassVar[int]
    WST_ETH_PER_ST_ETH_FIELD_NUMBER: _ClassVar[int]
    st_eth_per_wst_eth: str
    wst_eth_per_st_eth: str
    def __init__(self, st_eth_per_wst_eth: _Optional[str] = ..., wst_eth_per_st_eth: _Optional[str] = ...) -> None: ...

class PoolAPool(_message.Message):
    __slots__ = ("name", "address", "virtual_price", "coins", "amplification", "fee")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VIRTUAL_PRICE_FIELD_NUMBER: _ClassVar[int]
    COINS_FIELD_NUMBER: _ClassVar[int]
    AMPLIFICATION_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    virtual_price: str
    coins: _containers.RepeatedCompositeFieldContainer[PoolACoin]
    amplification: str
    fee: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., virtual_price: _Optional[str] = ..., coins: _Optional[_Iterable[_Union[PoolACoin, _Mapping]]] = ..., amplification: _Optional[str] = ..., fee: _Optional[str] = ...) -> None: ...

class PoolACoin(_message.Message):
    __slots__ = ("address", "balance")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    address: str
    balance: str
    def __init__(self, address: _Optional[str] = ..., balance: _Optional[str] = ...) -> None: ...

class PoolALendMarket(_message.Message):
    __slots__ = ("vault_address", "name", "symbol", "asset_address", "total_assets", "total_supply")
    VAULT_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ASSET_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ASSETS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUPPLY_FIELD_NUMBER: _ClassVar[int]
    vault_address: str
    name: str
    symbol: str
    asset_address: str
    total_assets: str
    total_supply: str
    def __init__(self, vault_address: _Optional[str] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., asset_address: _Optional[str] = ..., total_assets: _Optional[str] = ..., total_supply: _Optional[str] = ...) -> None: ...

class PoolALendPositions(_message.Message):
    __slots__ = ("markets", "positions")
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    markets: _containers.RepeatedCompositeFieldContainer[PoolALendMarket]
    positions: _containers.RepeatedCompositeFieldContainer[PoolALendPosition]
    def __init__(self, markets: _Optional[_Iterable[_Union[PoolALendMarket, _Mapping]]] = ..., positions: _Optional[_Iterable[_Union[PoolALendPosition, _Mapping]]] = ...) -> None: ...

class PoolALendPosition(_message.Message):
    __slots__ = ("vault_address", "name", "shares", "assets")
    VAULT_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    ASSETS_FIELD_NUMBER: _ClassVar[int]
    vault_address: str
    name: str
    shares: str
    assets: str
    def __init__(self, vault_address: _Optional[str] = ..., name: _Optional[str] = ..., shares: _Optional[str] = ..., assets: _Optional[str] = ...) -> None: ...

class GetPoolAPoolsRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetPoolAPoolsResponse(_message.Message):
    __slots__ = ("chain", "block_height", "pools")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POOLS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block_height: int
    pools: _containers.RepeatedCompositeFieldContainer[PoolAPool]
    def __init__(self, chain: _Optional[str] = ..., block_height: _Optional[int] = ..., pools: _Optional[_Iterable[_Union[PoolAPool, _Mapping]]] = ...) -> None: ...

class GetPoolALendMarketsRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetPoolALendMarketsResponse(_message.Message):
    __slots__ = ("chain", "block_height", "markets")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    block_height: int
    markets: _containers.RepeatedCompositeFieldContainer[PoolALendMarket]
    def __init__(self, chain: _Optional[str] = ..., block_height: _Optional[int] = ..., markets: _Optional[_Iterable[_Union[PoolALendMarket, _Mapping]]] = ...) -> None: ...

class GetPoolALendRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetPoolALendResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: PoolALendPositions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[PoolALendPositions, _Mapping]] = ...) -> None: ...

class GetYieldAV2InfoRequest(_message.Message):
    __slots__ = ("chain",)
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    chain: str
    def __init__(self, chain: _Optional[str] = ...) -> None: ...

class GetYieldAV2InfoResponse(_message.Message):
    __slots__ = ("chain", "router_address", "router_static_address", "supported_chains")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ROUTER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ROUTER_STATIC_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_CHAINS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    router_address: str
    router_static_address: str
    supported_chains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, chain: _Optional[str] = ..., router_address: _Optional[str] = ..., router_static_address: _Optional[str] = ..., supported_chains: _Optional[_Iterable[str]] = ...) -> None: ...
