from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetDexAV2QuoteRequest(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount: str
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount: _Optional[str] = ...) -> None: ...

class GetDexAV2QuoteResponse(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount_in", "amount_out", "block_height", "path", "amount_in_raw", "amount_out_raw")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_RAW_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_RAW_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount_in: str
    amount_out: str
    block_height: int
    path: _containers.RepeatedScalarFieldContainer[str]
    amount_in_raw: str
    amount_out_raw: str
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount_in: _Optional[str] = ..., amount_out: _Optional[str] = ..., block_height: _Optional[int] = ..., path: _Optional[_Iterable[str]] = ..., amount_in_raw: _Optional[str] = ..., amount_out_raw: _Optional[str] = ...) -> None: ...

class GetDexAV3QuoteRequest(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount", "fee", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount: str
    fee: int
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount: _Optional[str] = ..., fee: _Optional[int] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetDexAV3QuoteResponse(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount_in", "amount_out", "fee", "block_height", "gas_estimate", "amount_in_raw", "amount_out_raw")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    GAS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_RAW_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_RAW_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount_in: str
    amount_out: str
    fee: int
    block_height: int
    gas_estimate: str
    amount_in_raw: str
    amount_out_raw: str
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount_in: _Optional[str] = ..., amount_out: _Optional[str] = ..., fee: _Optional[int] = ..., block_height: _Optional[int] = ..., gas_estimate: _Optional[str] = ..., amount_in_raw: _Optional[str] = ..., amount_out_raw: _Optional[str] = ...) -> None: ...

class GetDexAV4QuoteRequest(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount", "fee", "tick_spacing", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    TICK_SPACING_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount: str
    fee: int
    tick_spacing: int
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount: _Optional[str] = ..., fee: _Optional[int] = ..., tick_spacing: _Optional[int] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetDexAV4QuoteResponse(_message.Message):
    __slots__ = ("chain", "token_in", "token_out", "amount_in", "amount_out", "fee", "tick_spacing", "block_height", "gas_estimate", "amount_in_raw", "amount_out_raw", "pool_id", "currency_in", "currency_out")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_OUT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    TICK_SPACING_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    GAS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_RAW_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_RAW_FIELD_NUMBER: _ClassVar[int]
    POOL_ID_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_IN_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_OUT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    token_in: str
    token_out: str
    amount_in: str
    amount_out: str
    fee: int
    tick_spacing: int
    block_height: int
    gas_estimate: str
    amount_in_raw: str
    amount_out_raw: str
    pool_id: str
    currency_in: str
    currency_out: str
    def __init__(self, chain: _Optional[str] = ..., token_in: _Optional[str] = ..., token_out: _Optional[str] = ..., amount_in: _Optional[str] = ..., amount_out: _Optional[str] = ..., fee: _Optional[int] = ..., tick_spacing: _Optional[int] = ..., block_height: _Optional[int] = ..., gas_estimate: _Optional[str] = ..., amount_in_raw: _Optional[str] = ..., amount_out_raw: _Optional[str] = ..., pool_id: _Optional[str] = ..., currency_in: _Optional[str] = ..., currency_out: _Optional[str] = ...) -> None: ...

class GetSolAggregatorQuoteRequest(_message.Message):
    __slots__ = ("input_mint", "output_mint", "amount", "slippage_bps")
    INPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_BPS_FIELD_NUMBER: _ClassVar[int]
    input_mint: str
    output_mint: str
    amount: str
    slippage_bps: int
    def __init__(self, input_mint: _Optional[str] = ..., output_mint: _Optional[str] = ..., amount: _Optional[str] = ..., slippage_bps: _Optional[int] = ...) -> None: ...

class GetSolAggregatorQuoteResponse(_message.Message):
    __slots__ = ("input_mint", "output_mint", "amount_in", "amount_out", "price_impact_pct", "route_plan", "other_amount_threshold")
    INPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_IN_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_OUT_FIELD_NUMBER: _ClassVar[int]
    PRICE_IMPACT_PCT_FIELD_NUMBER: _ClassVar[int]
    ROUTE_PLAN_FIELD_NUMBER: _ClassVar[int]
    OTHER_AMOUNT_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    input_mint: str
    output_mint: str
    amount_in: str
    amount_out: str
    price_impact_pct: str
    route_plan: _containers.RepeatedCompositeFieldContainer[SolRouteStep]
    other_amount_threshold: str
    def __init__(self, input_mint: _Optional[str] = ..., output_mint: _Optional[str] = ..., amount_in: _Optional[str] = ..., amount_out: _Optional[str] = ..., price_impact_pct: _Optional[str] = ..., route_plan: _Optional[_Iterable[_Union[SolRouteStep, _Mapping]]] = ..., other_amount_threshold: _Optional[str] = ...) -> None: ...

class SolRouteStep(_message.Message):
    __slots__ = ("swap_info", "percent", "bps")
    SWAP_INFO_FIELD_NUMBER: _ClassVar[int]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    BPS_FIELD_NUMBER: _ClassVar[int]
    swap_info: SolSwapInfo
    percent: int
    bps: int
    def __init__(self, swap_info: _Optional[_Union[SolSwapInfo, _Mapping]] = ..., percent: _Optional[int] = ..., bps: _Optional[int] = ...) -> None: ...

class SolSwapInfo(_message.Message):
    __slots__ = ("amm_key", "label", "input_mint", "output_mint")
    AMM_KEY_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    INPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    amm_key: str
    label: str
    input_mint: str
    output_mint: str
    def __init__(self, amm_key: _Optional[str] = ..., label: _Optional[str] = ..., input_mint: _Optional[str] = ..., output_mint: _Optional[str] = ...) -> None: ...

class GetSolAggregatorPriceRequest(_message.Message):
    __slots__ = ("input_mint", "output_mint")
    INPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_MINT_FIELD_NUMBER: _ClassVar[int]
    input_mint: str
    output_mint: str
    def __init__(self, input_mint: _Optional[str] = ..., output_mint: _Optional[str] = ...) -> None: ...

class GetSolAggregatorPriceResponse(_message.Message):
    __slots__ = ("price",)
    PRICE_FIELD_NUMBER: _ClassVar[int]
    price: float
    def __init__(self, price: _Optional[float] = ...) -> None: ...
