"""WatchPrices: tokens' prices as they are, then each one that changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import stream_state_pb2

from server.errors import GatewayError, PriceUnavailable
from server.prices import EURO, Price, convert
from server.streams.events import Event
from server.streams.values import Moment, Reading, WatchedValues, read_looks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from waypost.v1 import common_pb2

    from server.prices import Prices
    from server.streams.values import Charge, Seen

EVERY_SECONDS = 15.0
"""How long after a look at the prices the next one is made.

Most feeds are on a chain with a block every 12 seconds; the APIs are asked once a minute, however often it is looked.
"""

READ_SECONDS = 10.0
"""How long the sources have for a look."""


class _Quote(NamedTuple):
    dollars: Price
    euros: Price | None


class PriceWatches:
    """The prices that streams watch, all of them read at once for all streams, `every` so many seconds."""

    def __init__(
        self,
        prices: Prices,
        row_error: Callable[[GatewayError], common_pb2.RowError],
        *,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._prices = prices
        self._row_error = row_error
        self._every = every
        self._values: WatchedValues[str, _Quote] = WatchedValues(self._moments, self._read, pace=0.0)

    async def watch(self, request: stream_state_pb2.WatchPricesRequest, charge: Charge) -> AsyncGenerator[Event]:
        """Yield the present price of every item, then each one that changes; `charge` is paid an item looked at."""
        watch = self._values.watch([item.symbol for item in request.items], asyncio.Event())
        sent: dict[int, object] = {}
        async with aclosing(read_looks((watch,), charge)) as looks:
            async for _, seen in looks:
                for place, item in enumerate(request.items):
                    found = seen[item.symbol]
                    content = _content(found.outcome)
                    if sent.get(place) != content:
                        sent[place] = content
                        yield Event(found.payload(place, partial(self._write, place, item.symbol, found)))

    async def close(self) -> None:
        """Read nothing any more."""
        await self._values.close()

    async def _moments(self) -> AsyncGenerator[Moment]:
        while True:
            yield Moment()
            await asyncio.sleep(self._every)

    async def _read(
        self, symbols: Sequence[str], moment: Moment, known: Mapping[str, _Quote | GatewayError]
    ) -> Reading[str, _Quote]:
        prices = await self._prices.read({*symbols, EURO}, deadline=time.monotonic() + READ_SECONDS)
        return Reading({symbol: _quote(symbol, prices) for symbol in symbols})

    def _write(self, place: int, symbol: str, seen: Seen[_Quote]) -> bytes:
        response = stream_state_pb2.WatchPricesResponse(item=place, symbol=symbol)
        outcome = seen.outcome
        if isinstance(outcome, GatewayError):
            response.error.CopyFrom(self._row_error(outcome))
        else:
            dollars, euros = outcome
            response.value.usd = float(dollars.value)
            if euros is not None:
                response.value.eur = float(euros.value)
            response.value.last_updated.FromDatetime((euros or dollars).updated_at)
        return response.SerializeToString()


def _quote(symbol: str, prices: Mapping[str, Price]) -> _Quote | GatewayError:
    price, euro = prices.get(symbol), prices.get(EURO)
    if price is None:
        return PriceUnavailable(f"no live price of {symbol} is known: its sources are silent, stale or disagree")
    return _Quote(price, None if euro is None else convert(price, euro))


def _content(outcome: _Quote | GatewayError) -> object:
    """Return what makes two prices the same for their readers: when they were reported does not."""
    if isinstance(outcome, GatewayError):
        return outcome.reason
    return outcome.dollars.value, None if outcome.euros is None else outcome.euros.value
