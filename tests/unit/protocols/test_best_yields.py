"""The comparison of all pools: what is compared, in which order, when it is built, and what is missing of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import yield_protocol_pb2

from server.errors import ArchiveRequired, DeadlineExceeded, GatewayError, Internal, UpstreamUnavailable
from server.protocols import best_yields
from server.protocols.best_yields import BestYields, Comparison, Source
from server.protocols.runner import Reading
from server.protocols.yields import BestRow
from server.upstream.cache import CacheUse

if TYPE_CHECKING:
    from server.protocols.reader import ChainQuestion

LENDING = yield_protocol_pb2.YIELD_TYPE_LENDING
VAULT = yield_protocol_pb2.YIELD_TYPE_VAULT
STAKING = yield_protocol_pb2.YIELD_TYPE_STAKING
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def row(pool: str, apy: float | None, tvl: float | None = 1.0, *symbols: str, at: datetime = NOON) -> BestRow:
    return BestRow(pool, symbols or ("USDC",), apy, tvl, at)


@dataclass
class Sources:
    """Readers that answer as a test has them answer: rows, a failure, or a future that never is done."""

    answers: dict[tuple[str, str], Any]
    types: dict[str, int] = field(default_factory=lambda: {"lend": LENDING, "vault": VAULT, "stake": STAKING})
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    stale: set[tuple[str, str]] = field(default_factory=set)
    turns: list[list[tuple[str, str]]] = field(default_factory=list)

    async def answer(self, reader: Any, question: ChainQuestion, view: Any) -> Reading:
        """Answer as the runner does."""
        key = reader, question.chain
        self.asked[key] += 1
        if not self.turns:
            self.turns.append([])
            asyncio.get_running_loop().call_soon(self.turns.append, [])
        self.turns[-1].append(key)
        await asyncio.sleep(0)
        if key in self.stale:
            view.cache.stale()
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, asyncio.Future):
            answer = await answer
        return Reading(answer, 7)

    def listed(self) -> list[Source]:
        numbers = {name: number for number, name in enumerate(self.types, 1)}
        return [
            Source(numbers[name], name, self.types[name], chain, name)  # type: ignore[arg-type]
            for name, chain in self.answers
        ]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Left:
    out: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def __call__(self, chain: str, protocol: str, why: str, rows: int) -> None:
        self.out[chain, protocol, why] += rows


async def compared(*rows: BestRow, left: Left | None = None) -> Comparison:
    sources = Sources({("lend", "ethereum"): list(rows)})
    return await BestYields(sources.listed(), sources, count=left or Left()).read()


def names(comparison: Comparison, **filters: Any) -> list[str]:
    return [pool.row.pool for pool in comparison.select(limit=1000, **filters)]


async def test_the_highest_rate_stands_first_then_the_largest_then_the_name() -> None:
    found = await compared(
        row("b", 3.0, 5.0),
        row("unknown", 3.0, None),
        row("A", 3.0, 5.0),
        row("large", 3.0, 50.0),
        row("best", 900.0, 0.0),
        row("loss", -4.0, 9.0),
        row("nothing", 0.0, 9.0),
        row("zero size", 3.0, 0.0),
    )
    assert names(found) == ["best", "large", "A", "b", "zero size", "unknown", "nothing", "loss"]


async def test_ties_over_chains_and_protocols_stand_in_one_order() -> None:
    answers = {(name, chain): [row("pool", 3.0)] for name in ("lend", "vault") for chain in ("polygon", "base")}
    shuffled = list(answers.items())
    orders = set()
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        sources = Sources(dict(shuffled), types={"lend": LENDING, "vault": VAULT})
        pools = (await BestYields(sources.listed(), sources).read()).pools
        orders.add(tuple((pool.source.chain, pool.source.name) for pool in pools))
    assert orders == {(("base", "lend"), ("base", "vault"), ("polygon", "lend"), ("polygon", "vault"))}


async def test_what_has_no_rate_or_an_impossible_one_is_left_out_and_counted() -> None:
    left = Left()
    found = await compared(
        row("none", None),
        row("none too", None),
        row("nan", float("nan")),
        row("inf", float("inf")),
        row("minus", float("-inf")),
        row("beyond", 1000.0000001),
        row("at the bound", 1000.0),
        row("huge", 1e300),
        left=left,
    )
    assert names(found) == ["at the bound"]
    assert left.out == {
        ("ethereum", "lend", "no_rate"): 2,
        ("ethereum", "lend", "not_finite"): 3,
        ("ethereum", "lend", "too_high"): 2,
    }


async def test_a_size_that_is_none_is_unknown() -> None:
    found = await compared(*(row(str(tvl), 1.0, tvl) for tvl in (float("nan"), float("inf"), -1.0, 0.0)))
    sizes = {pool.row.pool: pool.row.tvl for pool in found.pools}
    assert sizes == {"nan": None, "inf": None, "-1.0": None, "0.0": 0.0}


async def test_a_pool_listed_twice_is_answered_once_as_it_was_read_last() -> None:
    left = Left()
    later = NOON + timedelta(seconds=1)
    found = await compared(row("p", 1.0, at=NOON), row("q", 2.0), row("p", 3.0, at=later), row("p", 4.0), left=left)
    assert [(pool.row.pool, pool.row.apy) for pool in found.pools] == [("p", 3.0), ("q", 2.0)]
    assert left.out == {("ethereum", "lend", "duplicate"): 2}


async def test_one_pool_on_two_chains_is_two_pools() -> None:
    sources = Sources({("lend", "base"): [row("p", 1.0)], ("lend", "polygon"): [row("p", 1.0)]})
    assert len((await BestYields(sources.listed(), sources).read()).pools) == 2


async def test_a_token_is_matched_whole_in_any_casing_against_every_asset() -> None:
    found = await compared(
        row("one", 1.0, 1.0, "USDC"),
        row("bridged", 2.0, 1.0, "USDC.e"),
        row("pair", 3.0, 1.0, "WETH", "usdc"),
        row("twice", 4.0, 1.0, "USDC", "USDC"),
        row("other", 5.0, 1.0, "USDCx"),
    )
    assert names(found, token="uSdC") == ["twice", "pair", "one"]
    assert names(found, token="usdc.E") == ["bridged"]
    assert names(found, token="USD") == []
    assert names(found, token="weth-usdc") == []


async def test_filters_combine() -> None:
    answers = {
        ("lend", "base"): [row("small", 9.0, 5.0), row("unknown", 8.0, None), row("large", 7.0, 50.0)],
        ("vault", "base"): [row("vault", 6.0, 50.0), row("eth", 5.0, 50.0, "ETH")],
        ("stake", "ethereum"): [row("staked", 3.0, 1e9, "ETH")],
    }
    sources = Sources(answers)
    found = await BestYields(sources.listed(), sources).read()
    assert names(found) == ["small", "unknown", "large", "vault", "eth", "staked"]
    assert names(found, min_tvl=0.0) == ["small", "large", "vault", "eth", "staked"]
    assert names(found, min_tvl=50.0) == ["large", "vault", "eth", "staked"]
    assert names(found, kind=VAULT) == ["vault", "eth"]
    assert names(found, kind=STAKING, token="eth", min_tvl=1e9) == ["staked"]
    assert names(found, token="ETH", min_tvl=1.0) == ["eth", "staked"]
    assert [pool.row.pool for pool in found.select(limit=2, min_tvl=6.0)] == ["large", "vault"]
    assert [pool.row.pool for pool in found.select(limit=2)] == ["small", "unknown"]


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
    await _settled()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    slow.set_result([row("p", 1.0)])
    assert names(await best.read()) == ["p"]
    assert sources.asked["lend", "base"] == 1


async def test_a_warm_call_asks_no_source_and_a_later_one_does_not_wait() -> None:
    clock = Clock()
    sources = Sources({("lend", "base"): [row("old", 1.0)]})
    best = BestYields(sources.listed(), sources, clock=clock)
    use = CacheUse()
    first = await best.read(use)
    assert use.status == "miss"
    clock.now += best_yields.BUILT_EVERY - 0.001
    use = CacheUse()
    assert await best.read(use) is first
    assert use.status == "hit"
    await _settled()
    assert sources.asked.total() == 1

    clock.now += 0.001
    sources.answers["lend", "base"] = [row("new", 1.0)]
    for _ in range(50):
        assert await best.read() is first, "the build goes on behind its callers"
        if sources.asked.total() == 2:
            break
    await _settled()
    assert names(await best.read()) == ["new"]
    assert sources.asked.total() == 2


async def test_what_nobody_asked_for_in_two_minutes_is_built_anew() -> None:
    clock = Clock()
    sources = Sources({("lend", "base"): [row("old", 1.0)]})
    best = BestYields(sources.listed(), sources, clock=clock)
    await best.read()
    await _settled()
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
        await _settled()
    assert sources.asked.total() == 2, "a failing source is not asked by every caller"
    clock.now += 6.0
    assert names(await best.read()) == ["p"]
    await _settled()
    assert sources.asked.total() == 3
    clock.now += 60.0
    with pytest.raises(UpstreamUnavailable):
        await best.read()


async def test_where_all_of_a_type_failed_the_others_are_no_answer() -> None:
    sources = Sources({("lend", "base"): [row("p", 1.0)], ("stake", "ethereum"): UpstreamUnavailable("down")})
    best = BestYields(sources.listed(), sources)
    found = await best.read()
    best.check(found, 0)
    best.check(found, LENDING)
    best.check(found, VAULT)
    with pytest.raises(GatewayError, match="stake on ethereum"):
        best.check(found, STAKING)


async def test_an_empty_list_is_an_answer() -> None:
    sources = Sources({("lend", "base"): []})
    best = BestYields(sources.listed(), sources)
    found = await best.read()
    best.check(found, LENDING)
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
    assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)
    await best.close()


async def test_choosing_among_thousands_is_cheap() -> None:
    dice = random.Random(13)
    symbols = [f"T{number}" for number in range(300)]
    rows = [
        row(f"pool {n}", dice.uniform(0, 50), dice.choice([None, dice.uniform(0, 1e9)]), *dice.sample(symbols, 2))
        for n in range(5000)
    ]
    found = await compared(*rows)
    assert len(found.pools) == 5000
    begun = time.process_time()
    for _ in range(200):
        found.select(token="t7", min_tvl=1e8, limit=10)
    assert (time.process_time() - begun) / 200 < 0.001


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
