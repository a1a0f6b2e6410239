from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TotalsUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOTALS_UNIT_UNSPECIFIED: _ClassVar[TotalsUnit]
    TOTALS_UNIT_ETH: _ClassVar[TotalsUnit]
    TOTALS_UNIT_USD: _ClassVar[TotalsUnit]
TOTALS_UNIT_UNSPECIFIED: TotalsUnit
TOTALS_UNIT_ETH: TotalsUnit
TOTALS_UNIT_USD: TotalsUnit

class LendAV3Positions(_message.Message):
    __slots__ = ("total_collateral_usd", "total_debt_usd", "net_worth_usd", "health_factor", "ltv", "is_liquidatable", "reserves", "available_borrows_usd", "liquidation_threshold")
    TOTAL_COLLATERAL_USD_FIELD_NUMBER: _ClassVar[int]
    TOTAL_DEBT_USD_FIELD_NUMBER: _ClassVar[int]
    NET_WORTH_USD_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FACTOR_FIELD_NUMBER: _ClassVar[int]
    LTV_FIELD_NUMBER: _ClassVar[int]
    IS_LIQUIDATABLE_FIELD_NUMBER: _ClassVar[int]
    RESERVES_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_BORROWS_USD_FIELD_NUMBER: _ClassVar[int]
    LIQUIDATION_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    total_collateral_usd: float
    total_debt_usd: float
    net_worth_usd: float
    health_factor: float
    ltv: float
    is_liquidatable: bool
    reserves: _containers.RepeatedCompositeFieldContainer[LendAV3Reserve]
    available_borrows_usd: float
    liquidation_threshold: float
    def __init__(self, total_collateral_usd: _Optional[float] = ..., total_debt_usd: _Optional[float] = ..., net_worth_usd: _Optional[float] = ..., health_factor: _Optional[float] = ..., ltv: _Optional[float] = ..., is_liquidatable: bool = ..., reserves: _Optional[_Iterable[_Union[LendAV3Reserve, _Mapping]]] = ..., available_borrows_usd: _Optional[float] = ..., liquidation_threshold: _Optional[float] = ...) -> None: ...

class LendAV3Reserve(_message.Message):
    __slots__ = ("symbol", "address", "balance", "balance_usd", "is_collateral", "debt", "debt_usd")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BALANCE_USD_FIELD_NUMBER: _ClassVar[int]
    IS_COLLATERAL_FIELD_NUMBER: _ClassVar[int]
    DEBT_FIELD_NUMBER: _ClassVar[int]
    DEBT_USD_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    balance: str
    balance_usd: float
    is_collateral: bool
    debt: str
    debt_usd: float
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ..., balance: _Optional[str] = ..., balance_usd: _Optional[float] = ..., is_collateral: bool = ..., debt: _Optional[str] = ..., debt_usd: _Optional[float] = ...) -> None: ...

class LendAV2Positions(_message.Message):
    __slots__ = ("total_collateral_usd", "total_debt_usd", "health_factor", "ltv", "supplies", "borrows", "totals_unit")
    TOTAL_COLLATERAL_USD_FIELD_NUMBER: _ClassVar[int]
    TOTAL_DEBT_USD_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FACTOR_FIELD_NUMBER: _ClassVar[int]
    LTV_FIELD_NUMBER: _ClassVar[int]
    SUPPLIES_FIELD_NUMBER: _ClassVar[int]
    BORROWS_FIELD_NUMBER: _ClassVar[int]
    TOTALS_UNIT_FIELD_NUMBER: _ClassVar[int]
    total_collateral_usd: float
    total_debt_usd: float
    health_factor: float
    ltv: float
    supplies: _containers.RepeatedCompositeFieldContainer[LendAV2Balance]
    borrows: _containers.RepeatedCompositeFieldContainer[LendAV2Balance]
    totals_unit: TotalsUnit
    def __init__(self, total_collateral_usd: _Optional[float] = ..., total_debt_usd: _Optional[float] = ..., health_factor: _Optional[float] = ..., ltv: _Optional[float] = ..., supplies: _Optional[_Iterable[_Union[LendAV2Balance, _Mapping]]] = ..., borrows: _Optional[_Iterable[_Union[LendAV2Balance, _Mapping]]] = ..., totals_unit: _Optional[_Union[TotalsUnit, str]] = ...) -> None: ...

class LendAV2Balance(_message.Message):
    __slots__ = ("symbol", "address", "balance")
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    symbol: str
    address: str
    balance: str
    def __init__(self, symbol: _Optional[str] = ..., address: _Optional[str] = ..., balance: _Optional[str] = ...) -> None: ...

class LendBV3Positions(_message.Message):
    __slots__ = ("markets",)
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    markets: _containers.RepeatedCompositeFieldContainer[LendBV3Market]
    def __init__(self, markets: _Optional[_Iterable[_Union[LendBV3Market, _Mapping]]] = ...) -> None: ...

class LendBV3Market(_message.Message):
    __slots__ = ("market_name", "market_address", "base_token", "supply_balance", "borrow_balance", "collateral", "is_liquidatable")
    MARKET_NAME_FIELD_NUMBER: _ClassVar[int]
    MARKET_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BASE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_BALANCE_FIELD_NUMBER: _ClassVar[int]
    BORROW_BALANCE_FIELD_NUMBER: _ClassVar[int]
    COLLATERAL_FIELD_NUMBER: _ClassVar[int]
    IS_LIQUIDATABLE_FIELD_NUMBER: _ClassVar[int]
    market_name: str
    market_address: str
    base_token: _common_pb2.TokenRef
    supply_balance: str
    borrow_balance: str
    collateral: _containers.RepeatedCompositeFieldContainer[LendBV3Collateral]
    is_liquidatable: bool
    def __init__(self, market_name: _Optional[str] = ..., market_address: _Optional[str] = ..., base_token: _Optional[_Union[_common_pb2.TokenRef, _Mapping]] = ..., supply_balance: _Optional[str] = ..., borrow_balance: _Optional[str] = ..., collateral: _Optional[_Iterable[_Union[LendBV3Collateral, _Mapping]]] = ..., is_liquidatable: bool = ...) -> None: ...

class LendBV3Collateral(_message.Message):
    __slots__ = ("token", "balance")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    token: _common_pb2.TokenRef
    balance: str
    def __init__(self, token: _Optional[_Union[_common_pb2.TokenRef, _Mapping]] = ..., balance: _Optional[str] = ...) -> None: ...

class LendBV2Positions(_message.Message):
    __slots__ = ("markets",)
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    markets: _containers.RepeatedCompositeFieldContainer[LendBV2Market]
    def __init__(self, markets: _Optional[_Iterable[_Union[LendBV2Market, _Mapping]]] = ...) -> None: ...

class LendBV2Market(_message.Message):
    __slots__ = ("c_token_symbol", "c_token_address", "underlying_symbol", "underlying_address", "underlying_decimals", "supply_balance", "borrow_balance")
    C_TOKEN_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    C_TOKEN_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    UNDERLYING_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    UNDERLYING_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    UNDERLYING_DECIMALS_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_BALANCE_FIELD_NUMBER: _ClassVar[int]
    BORROW_BALANCE_FIELD_NUMBER: _ClassVar[int]
    c_token_symbol: str
    c_token_address: str
    underlying_symbol: str
    underlying_address: str
    underlying_decimals: int
    supply_balance: str
    borrow_balance: str
    def __init__(self, c_token_symbol: _Optional[str] = ..., c_token_address: _Optional[str] = ..., underlying_symbol: _Optional[str] = ..., underlying_address: _Optional[str] = ..., underlying_decimals: _Optional[int] = ..., supply_balance: _Optional[str] = ..., borrow_balance: _Optional[str] = ...) -> None: ...

class LendCPositions(_message.Message):
    __slots__ = ("markets",)
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    markets: _containers.RepeatedCompositeFieldContainer[LendCMarket]
    def __init__(self, markets: _Optional[_Iterable[_Union[LendCMarket, _Mapping]]] = ...) -> None: ...

class LendCMarket(_message.Message):
    __slots__ = ("market_id", "loan_token", "collateral_token", "supply_shares", "supply_assets", "borrow_shares", "borrow_assets", "collateral", "lltv", "supply_assets_raw", "borrow_assets_raw", "collateral_raw")
    MARKET_ID_FIELD_NUMBER: _ClassVar[int]
    LOAN_TOKEN_FIELD_NUMBER: _ClassVar[int]
    COLLATERAL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_SHARES_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_ASSETS_FIELD_NUMBER: _ClassVar[int]
    BORROW_SHARES_FIELD_NUMBER: _ClassVar[int]
    BORROW_ASSETS_FIELD_NUMBER: _ClassVar[int]
    COLLATERAL_FIELD_NUMBER: _ClassVar[int]
    LLTV_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_ASSETS_RAW_FIELD_NUMBER: _ClassVar[int]
    BORROW_ASSETS_RAW_FIELD_NUMBER: _ClassVar[int]
    COLLATERAL_RAW_FIELD_NUMBER: _ClassVar[int]
    market_id: str
    loan_token: _common_pb2.TokenRef
    collateral_token: _common_pb2.TokenRef
    supply_shares: str
    supply_assets: str
    borrow_shares: str
    borrow_assets: str
    collateral: str
    lltv: int
    supply_assets_raw: str
    borrow_assets_raw: str
    collateral_raw: str
    def __init__(self, market_id: _Optional[str] = ..., loan_token: _Optional[_Union[_common_pb2.TokenRef, _Mapping]] = ..., collateral_token: _Optional[_Union[_common_pb2.TokenRef, _Mapping]] = ..., supply_shares: _Optional[str] = ..., supply_assets: _Optional[str] = ..., borrow_shares: _Optional[str] = ..., borrow_assets: _Optional[str] = ..., collateral: _Optional[str] = ..., lltv: _Optional[int] = ..., supply_assets_raw: _Optional[str] = ..., borrow_assets_raw: _Optional[str] = ..., collateral_raw: _Optional[str] = ...) -> None: ...
