"""When the comparison of all pools is built, by whom it is waited for, and what failures cost."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import pytest

from server.errors import ArchiveRequired, DeadlineExceeded, GatewayError, Internal, UpstreamUnavailable
from server.protocols import best_yields
from server.protocols.best_yields import BestYields
from server.upstream.cache import CacheContext
from tests.server.protocols.scripted_pools import LENDING, STAKING, VAULT, Clock, Left, Sources, names, row, settle


async def test_a_hundred_callers_at_once_are_one_build() -> None:
    sources = Sources({("lend", chain): [row("p", 1.0)] for chain in ("base", "polygon")})
    best = BestYields(sources.listed(), sources)
    found = await asyncio.gather(*(best.read() for _ in range(100)))
    assert set(sources.asked.values()) == {1}
    assert len({id(comparison) for comparison in found}) == 1


async def test_every_source_is_asked_in_the_same_turn() -> None:
    sources = Sources({(name, chain): [] for name in ("lend", "vault") for chain in ("base", "polygon")})
    await BestYields(sources.listed(), sources).read()
    assert len(sources.turns[0]) == 4


async def test_the_build_outlives_the_caller_that_began_it() -> None:
    slow: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    sources = Sources({("lend", "base"): slow})
    best = BestYields(sources.listed(), sources)
    first = asyncio.create_task(best.read())
    await settle()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    slow.set_result([row("p", 1.0)])
    assert names(await best.read()) == ["p"]
    assert sources.asked["lend", "base"] == 1


async def test_a_warm_call_asks_no_source_and_a_later_one_does_not_wait() -> None:
    clock = Clock()
    sources = Sources({("lend", "base"): [row("old", 1.0)]})
    best = BestYields(sources.listed(), sources, clock=clock)
    use = CacheContext()
    first = await best.read(use)
    assert use.status == "miss"
    clock.now += best_yields.BUILT_EVERY - 0.001
    use = CacheContext()
    assert await best.read(use) is first
    assert use.status == "hit"
    await settle()
    assert sources.asked.total() == 1

    clock.now += 0.001
    sources.answers["lend", "base"] = [row("new", 1.0)]
    for _ in range(50):
        assert await best.read() is first, "the build goes on behind its callers"
        if sources.asked.total() == 2:
            break
    await settle()
    assert names(await best.read()) == ["new"]
    assert sources.asked.total() == 2


async def test_what_nobody_asked_for_in_two_minutes_is_built_anew() -> None:
    clock = Clock()
    sources = Sources({("lend", "base"): [row("old", 1.0)]})
    best = BestYields(sources.listed(), sources, clock=clock)
    await best.read()
    await settle()
    assert sources.asked.total() == 1, "an idle gateway asks nothing"
    clock.now += 120.0
    sources.answers["lend", "base"] = [row("new", 1.0)]
    assert names(await best.read()) == ["new"]


async def test_what_came_is_answered_and_the_rest_named() -> None:
    answers: dict[tuple[str, str], Any] = {
        ("lend", "base"): [row("p", 1.0)],
        ("lend", "polygon"): UpstreamUnavailable("polygon does not answer"),
        ("vault", "base"): ArchiveRequired("too old"),
        ("stake", "ethereum"): TypeError("a defect"),
    }
    sources = Sources(answers)
    found = await BestYields(sources.listed(), sources).read()
    assert names(found) == ["p"]
    failures = [(one.source.name, one.source.chain, one.error.reason) for one in found.failures]
    assert failures == [
        ("lend", "polygon", "UPSTREAM_UNAVAILABLE"),
        ("vault", "base", "ARCHIVE_REQUIRED"),
        ("stake", "ethereum", "INTERNAL"),
    ]
    assert isinstance(found.failures[-1].error, Internal)
    assert "a defect" not in found.failures[-1].error.message
    assert [one.source.name for one in found.failures_of(VAULT)] == ["vault"]
    assert all(one.error.__traceback__ is None for one in found.failures)


async def test_rows_that_cannot_be_read_cost_their_source_alone() -> None:
    sources = Sources({("lend", "base"): [row("p", 1.0)], ("vault", "base"): [None]})
    found = await BestYields(sources.listed(), sources).read()
    assert names(found) == ["p"]
    assert [(one.source.name, one.error.reason) for one in found.failures] == [("vault", "INTERNAL")]


async def test_a_source_that_hangs_costs_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_yields, "_READ_SECONDS", 0.05)
    monkeypatch.setattr(best_yields, "_SLACK_SECONDS", 0.05)
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    sources = Sources({("lend", "base"): [row("p", 1.0)], ("vault", "base"): never})
    found = await BestYields(sources.listed(), sources).read()
    assert names(found) == ["p"]
    [failure] = found.failures
    assert isinstance(failure.error, DeadlineExceeded)
    assert "vault on base" in failure.error.message


async def test_a_caller_in_a_hurry_gets_what_came() -> None:
    slow: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    sources = Sources({("lend", "base"): [row("p", 1.0), row("none", math.nan)], ("vault", "base"): slow})
    left = Left()
    best = BestYields(sources.listed(), sources, count=left)
    found = await best.read(deadline=time.monotonic() + 0.2)
    assert names(found) == ["p"]
    [failure] = found.failures
    assert (failure.source.name, failure.error.reason) == ("vault", "DEADLINE_EXCEEDED")
    assert left.out == {}, "counted once, at the end"
    patient = asyncio.create_task(best.read(deadline=time.monotonic() + 30))
    await settle()
    slow.set_result([row("q", 2.0)])
    assert names(await patient) == ["q", "p"]
    assert left.out == {("base", "lend", "no_rate"): 1}
    assert sources.asked.total() == 2, "one build"


async def test_a_caller_in_a_hurry_of_whom_nothing_came_is_unavailable() -> None:
    never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    sources = Sources({("lend", "base"): never})
    best = BestYields(sources.listed(), sources)
    with pytest.raises(UpstreamUnavailable, match="is still being read"):
        await best.read(deadline=time.monotonic() + 0.05)
    await best.close()


def test_a_cold_call_has_twenty_seconds_in_all() -> None:
    assert best_yields._READ_SECONDS + best_yields._SLACK_SECONDS <= 19.5


async def test_where_nothing_came_it_is_a_failure_and_tried_again_after_seconds() -> None:
    clock = Clock()
    failing: dict[tuple[str, str], Any] = {
        ("lend", "base"): UpstreamUnavailable("base does not answer"),
        ("vault", "polygon"): UpstreamUnavailable("polygon does not answer"),
    }
    sources = Sources(failing)
    best = BestYields(sources.listed(), sources, clock=clock)
    outcomes = await asyncio.gather(*(best.read() for _ in range(10)), return_exceptions=True)
    assert all(isinstance(one, UpstreamUnavailable) and one.retry_after_ms == 5000 for one in outcomes)
    assert len({id(one) for one in outcomes}) == 10, "each caller has a failure of its own"
    assert sources.asked.total() == 2
    clock.now += 2.0
    with pytest.raises(UpstreamUnavailable, match="lend on base: base does not answer") as caught:
        await best.read()
    assert caught.value.retry_after_ms == 3000
    assert sources.asked.total() == 2
    clock.now += 3.0
    sources.answers["lend", "base"] = [row("p", 1.0)]
    assert names(await best.read()) == ["p"]


async def test_a_build_that_fails_leaves_what_is_kept_for_its_time() -> None:
    clock = Clock()
    sources = Sources({("lend", "base"): [row("p", 1.0)]})
    best = BestYields(sources.listed(), sources, clock=clock)
    await best.read()
    sources.answers["lend", "base"] = UpstreamUnavailable("down")
    clock.now += 61.0
    for _ in range(20):
        assert names(await best.read()) == ["p"]
        await settle()
    assert sources.asked.total() == 2, "a failing source is not asked by every caller"
    clock.now += 6.0
    assert names(await best.read()) == ["p"]
    await settle()
    assert sources.asked.total() == 3
    clock.now += 60.0
    with pytest.raises(UpstreamUnavailable):
        await best.read()


async def test_where_all_of_a_type_failed_the_others_are_no_answer() -> None:
    sources = Sources({("lend", "base"): [row("p", 1.0)], ("stake", "ethereum"): UpstreamUnavailable("down")})
    best = BestYields(sources.listed(), sources)
    found = await best.read()
    found.check(0)
    found.check(LENDING)
    found.check(VAULT)
    with pytest.raises(GatewayError, match="stake on ethereum"):
        found.check(STAKING)


async def test_sources_with_nothing_do_not_make_up_for_those_that_failed() -> None:
    sources = Sources({("lend", "base"): UpstreamUnavailable("down"), ("lend", "bsc"): [], ("vault", "base"): []})
    with pytest.raises(UpstreamUnavailable, match="lend on base"):
        await BestYields(sources.listed(), sources).read()


async def test_an_empty_list_is_an_answer() -> None:
    sources = Sources({("lend", "base"): []})
    best = BestYields(sources.listed(), sources)
    found = await best.read()
    found.check(LENDING)
    assert (list(found.pools), list(found.failures)) == ([], [])


async def test_pools_of_a_source_past_its_lifetime_are_stale() -> None:
    sources = Sources(
        {("lend", "base"): [row("p", 1.0)], ("vault", "base"): [row("q", 2.0)]}, stale={("vault", "base")}
    )
    found = await BestYields(sources.listed(), sources).read()
    assert found.is_stale(found.select(limit=10))
    assert not found.is_stale(found.select(limit=10, kind=LENDING))


async def test_closing_ends_the_build() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    sources = Sources({("lend", "base"): never})
    best = BestYields(sources.listed(), sources)
    waiting = asyncio.create_task(best.read())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await best.close()
    assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], UpstreamUnavailable)
    await best.close()
