"""getPriceHistory over both faces and a scripted DefiLlama: every hour is asked for, what is missing is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import load_settings
from tests.e2e.gateway import run_gateway
from tests.recordings.hourly import Hourly, hourly_price
from tests.recordings.replay import replaying
from tests.server.rpc.conftest import OPERATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.settings import Settings
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.slow

OPERATION = OPERATIONS["getPriceHistory"]


def settings_of(replay: Hourly, folder: Path) -> Settings:
    overrides: dict[str, Any] = {
        "profile": "devnet",
        "storage": {"url": f"sqlite:///{folder}/waypost.db"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
        "chains": {"ethereum": {"endpoints": [{"label": "closed", "url": "http://127.0.0.1:9"}]}},
        "sources": {"defillama": {"endpoints": [{"label": "replay", "url": replay.url}]}},
    }
    return load_settings(environ={}, overrides=overrides)


async def points_of(gateway: RunningGateway, **params: Any) -> dict[str, tuple[float, bool]]:
    """Return price and completeness by date; both faces must say the same."""
    answer = await gateway.ask("getPriceHistory", params)
    points = answer["result"]["data"]["prices"]
    assert all(set(point) == {"date", "price", "complete"} for point in points)
    response: Any = await gateway.ask_grpc(OPERATION, OPERATION.request(**params))
    assert [(point.date, point.price, point.complete) for point in response.prices] == [
        (point["date"], point["price"], point["complete"]) for point in points
    ]
    return {point["date"]: (point["price"], point["complete"]) for point in points}


async def test_the_maximum_is_of_all_hours_and_days_known_in_part_say_so(tmp_path: Path):
    replay = Hourly()
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [midnight - timedelta(days=number) for number in range(30)]
    # Of two days ago 21 hours are known, of three days ago 22, of five days ago none.
    for back, count in ((2, 3), (3, 2), (5, 24)):
        start = int(days[back].timestamp())
        replay.missing |= {start + hour * 3600 for hour in range(count)}
    async with replaying(replay):
        async with run_gateway(settings_of(replay, tmp_path)) as gateway:
            points = await points_of(gateway, symbol="ETH")
            # The 90 days in requests of 20, once for both faces.
            assert len(replay.asked) == 5
        # Another process on the same database does not ask again either.
        async with run_gateway(settings_of(replay, tmp_path)) as gateway:
            asked = len(replay.asked)
            assert await points_of(gateway, symbol="ETH") == points
            assert len(replay.asked) == asked
    incomplete = {date for date, (_, complete) in points.items() if not complete}
    assert incomplete == {days[0].date().isoformat(), days[2].date().isoformat()}
    assert days[5].date().isoformat() not in points
    for day in days[1:]:
        start = int(day.timestamp())
        known = [start + hour * 3600 for hour in range(24) if start + hour * 3600 not in replay.missing]
        if known:
            assert points[day.date().isoformat()][0] == float(max(map(hourly_price, known)))
