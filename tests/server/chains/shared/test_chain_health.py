"""Health by the heads that endpoints report, and the state that is known between two questions."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.view import NewestBlock, NewestCall
from server.errors import NotSupported, UpstreamUnavailable
from server.upstream.connector import ProbeResult
from server.upstream.failures import Trouble
from server.upstream.heads import HeadTracker


def parse(result: bytes) -> NewestBlock:
    return NewestBlock(*msgspec.json.decode(result))


CALL = NewestCall("newest", [], parse)
GONE = UpstreamUnavailable("gone")


class Endpoints:
    """What a pool is to health: endpoints that answer probes with prepared heads (height, age, whether they sync)."""

    def __init__(self, **heads: tuple[int, float, bool] | None) -> None:
        self.answers = heads
        self.labels = tuple(heads)
        self.heads = HeadTracker(self.labels or ("none",), 2.0)
        self.is_sound = True
        self.probed: list[str] = []

    async def probe(self, method: str, params: list[object]) -> list[ProbeResult]:
        self.probed.append(method)
        if method == "pace":
            return [ProbeResult(label, 0.1, b"1") for label in self.labels]
        return [self._answer(label) for label in self.labels]

    def observe_head(self, label: str, height: int, made_at: float | None) -> None:
        self.heads.observe(label, height, made_at)

    def _answer(self, label: str) -> ProbeResult:
        found = self.answers[label]
        if found is None:
            return ProbeResult(label, 0.1, error=GONE, trouble=Trouble.REFUSED)
        height, age, is_syncing = found
        return ProbeResult(label, 0.1, msgspec.json.encode((height, time.time() - age, is_syncing)))


def reader(*pools: Any, **options: Any) -> HeadReader:
    pace = options.pop("pace", None)
    return HeadReader(2.0, *(HeadSource(pool, CALL, pace=pace) for pool in pools), **options)


@pytest.mark.parametrize(
    ("heads", "state", "height", "trouble"),
    [
        ({"a": (9, 1, False)}, "ok", 9, None),
        ({"a": (9, 1, False), "b": (7, 500, False)}, "ok", 9, None),
        ({"a": (9, 500, False), "b": (7, 500, False)}, "degraded", 7, Trouble.BEHIND),
        ({"a": (9, 1, True)}, "degraded", 9, Trouble.BEHIND),
        ({"a": (9, -500, False)}, "degraded", 9, Trouble.BEHIND),
        ({"a": None, "b": (7, 1, False)}, "ok", 7, None),
        ({"a": None}, "down", None, Trouble.REFUSED),
        ({}, "down", None, Trouble.NO_ENDPOINT),
    ],
)
async def test_the_health_of_the_heads(heads: dict[str, Any], state: str, height: int, trouble: Trouble | None) -> None:
    read = reader(Endpoints(**heads))
    assert read.last_state() is None
    health = await read.read_health()
    assert (health.state, health.height, health.trouble, read.last_state()) == (state, height, trouble, state)


async def test_local_nodes_are_of_any_age_and_may_be_ahead_where_consensus_allows_it() -> None:
    assert (await reader(Endpoints(a=(9, 9_000, True)), judges_age=False).read_health()).state == "ok"
    assert (await reader(Endpoints(a=(9, -5_000, False)), most_ahead=7_200).read_health()).state == "ok"


async def test_later_sources_are_asked_where_the_earlier_ones_report_no_head() -> None:
    first, second = Endpoints(a=None), Endpoints(b=(7, 1, False))
    health = await reader(first, second).read_health()
    assert (health.state, health.height, second.probed) == ("ok", 7, ["newest"])
    whole, spare = Endpoints(a=(9, 1, False)), Endpoints(b=(7, 1, False))
    assert (await reader(whole, spare).read_health()).height == 9
    assert spare.probed == []


async def test_an_endpoint_that_does_not_keep_pace_is_not_fresh() -> None:
    pool = Endpoints(a=(9, 1, False))
    read = reader(pool, pace="pace")
    assert (await read.read_health()).state == "ok"
    assert pool.probed == ["newest", "pace"]


@pytest.mark.parametrize(("error", "state"), [(NotSupported("off"), "ok"), (GONE, "degraded")])
async def test_a_pace_that_is_switched_off_is_not_judged(error: Exception, state: str) -> None:
    class Slow(Endpoints):
        async def probe(self, method: str, params: list[object]) -> list[ProbeResult]:
            if method == "pace":
                return [ProbeResult("a", 0.1, error=error)]  # type: ignore[arg-type]
            return await super().probe(method, params)

    assert (await reader(Slow(a=(9, 1, False)), pace="pace").read_health()).state == state


@pytest.mark.parametrize(("is_syncing", "state"), [(False, "ok"), (True, "degraded")])
async def test_a_head_that_moves_heals_unless_the_node_catches_up(is_syncing: bool, state: str) -> None:
    pool = Endpoints(a=(9, 500, is_syncing))
    read = reader(pool)
    assert (await read.read_health()).state == "degraded"
    pool.observe_head("a", 10, time.time())
    assert read.last_state() == state


async def test_an_answer_after_down_heals_and_endpoints_that_all_rest_are_down() -> None:
    pool = Endpoints(a=None)
    read = reader(pool)
    assert (await read.read_health()).state == "down"
    pool.observe_head("a", 10, time.time())
    assert read.last_state() == "ok"
    pool.is_sound = False
    assert read.last_state() == "down"
