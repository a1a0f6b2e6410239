"""DefiLlama's chart hour by hour, with a price for every hour that is not left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from aiohttp import web

from tests.recordings.replay import Replay


def hourly_price(seconds: int) -> Decimal:
    """Return what everything costs in the hour of this moment."""
    return Decimal(1000 + seconds // 3600 * 7919 % 997)


@dataclass
class Hourly(Replay):
    """Prices `shift` seconds off the hour. A request from the moment `failing` on fails `failures` times."""

    shift: int = 0
    failing: int | None = None
    failures: int = 0
    missing: set[int] = field(default_factory=set)
    """Full hours (unix seconds) that nothing is known of."""

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(str(request.rel_url))
        self.agents.append(request.headers.get("User-Agent", ""))
        start, span = int(request.query["start"]), int(request.query["span"])
        # An hour or finer; not more points than are known to be answered.
        assert request.query["period"] == "1h"
        assert span <= 500
        if start == self.failing and self.failures:
            self.failures -= 1
            return web.Response(status=500)
        points = [
            {"timestamp": moment + self.shift, "price": int(hourly_price(moment))}
            for moment in range(start, start + span * 3600, 3600)
            if moment not in self.missing
        ]
        coin = request.path.rpartition("/")[2]
        return web.json_response({"coins": {coin: {"symbol": "?", "confidence": 0.99, "prices": points}}})
