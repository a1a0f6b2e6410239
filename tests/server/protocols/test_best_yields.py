"""The comparison of all pools: what is compared, in which order, and what is missing of it."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2

from server.protocols.best_yields import BestYields, Comparison
from tests.server.protocols.scripted_pools import LENDING, NOON, STAKING, VAULT, Left, Sources, names, row

if TYPE_CHECKING:
    from server.protocols.yields import BestRow


async def compared(*rows: BestRow, left: Left | None = None) -> Comparison:
    sources = Sources({("lend", "ethereum"): list(rows)})
    return await BestYields(sources.listed(), sources, count=left or Left()).read()


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
        row("none", float("nan")),
        row("none too", -float("nan")),
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
        ("ethereum", "lend", "not_finite"): 2,
        ("ethereum", "lend", "too_high"): 2,
    }


async def test_a_size_that_is_none_is_unknown() -> None:
    found = await compared(*(row(str(tvl), 1.0, tvl) for tvl in (float("nan"), float("inf"), -1.0, 0.0)))
    sizes = {pool.row.pool: pool.tvl for pool in found.pools}
    assert {pool.row.pool for pool in found.pools if pool.row.HasField("tvl")} == {"0.0"}
    assert sizes == {"nan": None, "inf": None, "-1.0": None, "0.0": 0.0}


async def test_a_pool_listed_twice_is_answered_once_as_it_was_read_last() -> None:
    left = Left()
    later = NOON + timedelta(seconds=1)
    found = await compared(row("p", 1.0, at=NOON), row("q", 2.0), row("p", 3.0, at=later), row("p", 4.0), left=left)
    assert [(pool.row.pool, pool.row.apy) for pool in found.pools] == [("p", 3.0), ("q", 2.0)]
    assert left.out == {("ethereum", "lend", "duplicate"): 2}


async def test_rows_are_completed() -> None:
    found = await compared(row("p", 1.0, 2.0, "WETH", "USDC"))
    [pool] = found.pools
    expected = yield_pb2.BestYield(
        chain="ethereum", protocol="YIELD_PROTOCOL_LEND_A", type="YIELD_TYPE_LENDING", pool="p", apy=1.0, tvl=2.0
    )
    expected.symbol = "WETH-USDC"
    expected.updated_at.FromDatetime(NOON)
    assert pool.row == expected


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
