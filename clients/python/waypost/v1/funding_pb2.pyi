from google.protobuf import timestamp_pb2 as _timestamp_pb2
from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FundingVenue(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FUNDING_VENUE_UNSPECIFIED: _ClassVar[FundingVenue]
    FUNDING_VENUE_A: _ClassVar[FundingVenue]
    FUNDING_VENUE_B: _ClassVar[FundingVenue]
FUNDING_VENUE_UNSPECIFIED: FundingVenue
FUNDING_VENUE_A: FundingVenue
FUNDING_VENUE_B: FundingVenue

class GetFundingRatesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetFundingRatesResponse(_message.Message):
    __slots__ = ("venue_a", "venue_b", "timestamp", "unavailable")
    VENUE_A_FIELD_NUMBER: _ClassVar[int]
    VENUE_B_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    venue_a: _containers.RepeatedCompositeFieldContainer[VenueAFunding]
    venue_b: _containers.RepeatedCompositeFieldContainer[VenueBFunding]
    timestamp: _timestamp_pb2.Timestamp
    unavailable: _containers.RepeatedScalarFieldContainer[FundingVenue]
    def __init__(self, venue_a: _Optional[_Iterable[_Union[VenueAFunding, _Mapping]]] = ..., venue_b: _Optional[_Iterable[_Union[VenueBFunding, _Mapping]]] = ..., timestamp: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., unavailable: _Optional[_Iterable[_Union[FundingVenue, str]]] = ...) -> None: ...

class VenueAFunding(_message.Message):
    __slots__ = ("coin", "funding_rate", "annualized_rate", "mark_price", "open_interest")
    COIN_FIELD_NUMBER: _ClassVar[int]
    FUNDING_RATE_FIELD_NUMBER: _ClassVar[int]
    ANNUALIZED_RATE_FIELD_NUMBER: _ClassVar[int]
    MARK_PRICE_FIELD_NUMBER: _ClassVar[int]
    OPEN_INTEREST_FIELD_NUMBER: _ClassVar[int]
    coin: str
    funding_rate: str
    annualized_rate: float
    mark_price: str
    open_interest: str
    def __init__(self, coin: _Optional[str] = ..., funding_rate: _Optional[str] = ..., annualized_rate: _Optional[float] = ..., mark_price: _Optional[str] = ..., open_interest: _Optional[str] = ...) -> None: ...

class VenueBFunding(_message.Message):
    __slots__ = ("ticker", "funding_rate", "annualized_rate", "next_funding_at")
    TICKER_FIELD_NUMBER: _ClassVar[int]
    FUNDING_RATE_FIELD_NUMBER: _ClassVar[int]
    ANNUALIZED_RATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_FUNDING_AT_FIELD_NUMBER: _ClassVar[int]
    ticker: str
    funding_rate: str
    annualized_rate: float
    next_funding_at: _timestamp_pb2.Timestamp
    def __init__(self, ticker: _Optional[str] = ..., funding_rate: _Optional[str] = ..., annualized_rate: _Optional[float] = ..., next_funding_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetVenueAFundingRequest(_message.Message):
    __slots__ = ("coin",)
    COIN_FIELD_NUMBER: _ClassVar[int]
    coin: str
    def __init__(self, coin: _Optional[str] = ...) -> None: ...

class GetVenueAFundingResponse(_message.Message):
    __slots__ = ("rates",)
    RATES_FIELD_NUMBER: _ClassVar[int]
    rates: _containers.RepeatedCompositeFieldContainer[VenueAFunding]
    def __init__(self, rates: _Optional[_Iterable[_Union[VenueAFunding, _Mapping]]] = ...) -> None: ...

class GetVenueBFundingRequest(_message.Message):
    __slots__ = ("ticker",)
    TICKER_FIELD_NUMBER: _ClassVar[int]
    ticker: str
    def __init__(self, ticker: _Optional[str] = ...) -> None: ...

class GetVenueBFundingResponse(_message.Message):
    __slots__ = ("rates",)
    RATES_FIELD_NUMBER: _ClassVar[int]
    rates: _containers.RepeatedCompositeFieldContainer[VenueBFunding]
    def __init__(self, rates: _Optional[_Iterable[_Union[VenueBFunding, _Mapping]]] = ...) -> None: ...
