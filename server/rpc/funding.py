"""FundingService."""

from __future__ import annotations

import asyncio
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import funding_pb2, funding_pb2_grpc

from server.errors import GatewayError, InvalidArgument, UpstreamUnavailable
from server.rpc.pipeline.call import current
from server.rpc.rows import row_deadline
from server.venues import dydx, hyperliquid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.protobuf.message import Message

    from server.apis.documents import Document, DocumentRequest, DocumentStore
    from server.venues.rates import FundingRate

_HOUR = 3600
_QUOTED_IN = "-USD"
_VENUES = (
    (hyperliquid.RATES, funding_pb2.FUNDING_VENUE_A),
    (dydx.RATES, funding_pb2.FUNDING_VENUE_B),
)


class FundingServicer(funding_pb2_grpc.FundingServiceServicer):
    """Funding of perpetual contracts (contract section 4.15).

    Whole documents are serialised once and answered as these bytes until one changes; filtered answers are messages.
    """

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._both, self._of_a, self._of_b = _Serialised(), _Serialised(), _Serialised()

    async def GetFundingRates(self, request: funding_pb2.GetFundingRatesRequest, context: Any) -> bytes:
        """Return the rates of both venues, read side by side; one that fails has no rows and is named.

        Raises:
            UpstreamUnavailable: both fail.
        """
        until = row_deadline(current().deadline)
        found = await asyncio.gather(*(self._read(venue, until) for venue, _ in _VENUES))
        documents = [one for one in found if not isinstance(one, GatewayError)]
        if not documents:
            raise _none_of([one for one in found if isinstance(one, GatewayError)])
        of_a, of_b = (() if isinstance(one, GatewayError) else one.value for one in found)
        read_at, pays_at = min(document.read_at for document in documents), _next_hour()

        def make() -> Message:
            response = funding_pb2.GetFundingRatesResponse(
                venue_a=map(_row_of_a, of_a),
                venue_b=_rows_of_b(of_b, pays_at),
                unavailable=[
                    name for (_, name), one in zip(_VENUES, found, strict=True) if isinstance(one, GatewayError)
                ],
            )
            response.timestamp.FromDatetime(read_at)
            return response

        return self._both.bytes_of(_Parts(of_a, of_b, (read_at, pays_at)), make)

    async def GetVenueAFunding(
        self, request: funding_pb2.GetVenueAFundingRequest, context: Any
    ) -> funding_pb2.GetVenueAFundingResponse | bytes:
        """Return the rates of venue-a, or those of one coin."""
        if request.HasField("coin") and not request.coin.isprintable():
            raise InvalidArgument("coin: write a coin's name as the venue does, for example BTC", field="coin")
        rates = (await self._document(hyperliquid.RATES)).value
        if request.HasField("coin"):
            return funding_pb2.GetVenueAFundingResponse(rates=map(_row_of_a, _named(rates, request.coin)))
        return self._of_a.bytes_of(
            _Parts(rates), lambda: funding_pb2.GetVenueAFundingResponse(rates=map(_row_of_a, rates))
        )

    async def GetVenueBFunding(
        self, request: funding_pb2.GetVenueBFundingRequest, context: Any
    ) -> funding_pb2.GetVenueBFundingResponse | bytes:
        """Return the rates of venue-b, or those of one market."""
        if request.HasField("ticker"):
            _check_ticker(request.ticker)
        rates, pays_at = (await self._document(dydx.RATES)).value, _next_hour()
        if request.HasField("ticker"):
            found = _named(rates, request.ticker)
            return funding_pb2.GetVenueBFundingResponse(rates=_rows_of_b(found, pays_at))
        return self._of_b.bytes_of(
            _Parts(rates, None, (pays_at,)),
            lambda: funding_pb2.GetVenueBFundingResponse(rates=_rows_of_b(rates, pays_at)),
        )

    async def _document(self, request: DocumentRequest) -> Document:
        state = current()
        return await self._documents.read(request, deadline=row_deadline(state.deadline), cache=state.cache)

    async def _read(self, request: DocumentRequest, until: float | None) -> Document | GatewayError:
        try:
            return await self._documents.read(request, deadline=until, cache=current().cache)
        except GatewayError as error:
            return error


class _Parts(NamedTuple):
    """What an answer is made of: documents, which are compared as objects, and what else differs."""

    first: object
    second: object = None
    others: tuple[object, ...] = ()


class _Serialised:
    """The last answer, as bytes."""

    __slots__ = ("_answer", "_parts")

    def __init__(self) -> None:
        self._parts = _Parts(object())
        self._answer = b""

    def bytes_of(self, parts: _Parts, make: Callable[[], Message]) -> bytes:
        """Return the answer that `make` makes of these parts, which is called if they differ from the last ones."""
        last = self._parts
        if parts.first is not last.first or parts.second is not last.second or parts.others != last.others:
            self._answer = make().SerializeToString()
            self._parts = parts
        return self._answer


def _row_of_a(one: FundingRate) -> funding_pb2.VenueAFunding:
    return funding_pb2.VenueAFunding(
        coin=one.name,
        funding_rate=one.rate,
        annualized_rate=one.annualized,
        mark_price=one.mark_price,
        open_interest=one.open_interest,
    )


def _rows_of_b(rates: Sequence[FundingRate], pays_at: int) -> list[funding_pb2.VenueBFunding]:
    at = Timestamp(seconds=pays_at)
    return [
        funding_pb2.VenueBFunding(
            ticker=one.name, funding_rate=one.rate, annualized_rate=one.annualized, next_funding_at=at
        )
        for one in rates
    ]


def _named(rates: Sequence[FundingRate], name: str) -> list[FundingRate]:
    """Return the rates of that name, in whatever case it is written."""
    wanted = name.casefold()
    return [one for one in rates if one.name.casefold() == wanted]


def _check_ticker(text: str) -> None:
    """Raise InvalidArgument for what cannot be a market."""
    base = text[: -len(_QUOTED_IN)]
    if not base or not text.isprintable() or text[len(base) :].upper() != _QUOTED_IN:
        raise InvalidArgument("ticker: write a market as <BASE>-USD, for example BTC-USD", field="ticker")


def _next_hour() -> int:
    """Return the next full hour of UTC, in unix seconds: when venue-b pays next, which its API does not state."""
    return (int(time()) // _HOUR + 1) * _HOUR


def _none_of(failures: Sequence[GatewayError]) -> UpstreamUnavailable:
    waits = [error.retry_after_ms for error in failures if error.retry_after_ms is not None]
    message = "no venue answers: " + "; ".join(error.message for error in failures)
    return UpstreamUnavailable(message, retry_after_ms=min(waits, default=None))
