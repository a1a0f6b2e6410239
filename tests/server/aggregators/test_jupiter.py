"""The quotes of the Solana aggregator: which answers are believed, which errors mean what, and the quota."""

from __future__ import annotations

import asyncio
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.settings import RemoteSettings
from server.aggregators.jupiter import NAME, Budget, Jupiter, Quote, Swap, _Info, _Step, _step, quota
from server.errors import InvalidArgument, NotFound, UpstreamUnavailable
from server.upstream.cache import CacheContext
from server.upstream.connector import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

SOL, USDC, OTHER = "So1", "USDC1", "Other1"
SWAP = Swap(SOL, USDC, 1000, 50)


def step(**members: Any) -> dict[str, Any]:
    info = {"ammKey": "pool", "inputMint": SOL, "outputMint": USDC, "label": "Pool"}
    return {"swapInfo": info, "percent": 100, "bps": 10_000} | members


def answer(**members: Any) -> dict[str, Any]:
    return {
        "inputMint": SOL,
        "inAmount": "1000",
        "outputMint": USDC,
        "outAmount": "143210",
        "otherAmountThreshold": "142493",
        "swapMode": "ExactIn",
        "slippageBps": 50,
        "platformFee": None,
        "priceImpactPct": "0.0001",
        "routePlan": [step()],
    } | members


class Source:
    """Stands where the pool does: answers what a test says, and keeps what it was asked."""

    def __init__(self, members: Any) -> None:
        self.members = members
        self.asked: list[dict[str, str]] = []

    async def get(self, path: str, query: Any, headers: Any, *, name: str, deadline: float) -> Reply:
        self.asked.append(dict(query))
        await asyncio.sleep(0)
        if isinstance(self.members, Exception):
            raise self.members
        return Reply(msgspec.json.encode(self.members), "source", 0.0)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def jupiter(source: Any, clock: Callable[[], float] | None = None, **options: Any) -> Jupiter:
    moved = clock or Clock()
    return Jupiter(source, Budget(NAME, 1000.0, moved), clock=moved, **options)


async def ask(members: Any, swap: Swap = SWAP) -> Quote:
    return await jupiter(Source(members)).quote(swap, deadline=None, use=None)


async def test_a_quote_is_read_whole():
    quote = await ask(answer())
    assert quote[:3] == (143210, 142493, "0.0001")
    [only] = quote.steps
    assert only == ("pool", "Pool", SOL, USDC, 100, 10_000)


@pytest.mark.parametrize(
    ("members", "percent", "bps"),
    [
        ({"percent": 30, "bps": 2951}, 30, 2951),
        ({"percent": None, "bps": 0}, 0, 0),
        ({"percent": None, "bps": 49}, 0, 49),
        ({"percent": None, "bps": 50}, 1, 50),
        ({"percent": None, "bps": 149}, 1, 149),
        ({"percent": None, "bps": 250}, 3, 250),
        ({"percent": None, "bps": 10_000}, 100, 10_000),
        ({"percent": 7, "bps": None}, 7, None),
    ],
)
async def test_percent_comes_of_basis_points_rounded_half_up(members: dict[str, Any], percent: int, bps: int | None):
    [only] = (await ask(answer(routePlan=[step(**members)]))).steps
    assert (only.percent, only.bps) == (percent, bps)


async def test_a_pool_may_have_no_label_and_members_may_be_added():
    info = {"ammKey": "pool", "inputMint": SOL, "outputMint": USDC, "new": [1]}
    quote = await ask(answer(routePlan=[{"swapInfo": info, "bps": 10_000}], another={"deep": None}))
    assert quote.steps == (("pool", None, SOL, USDC, 100, 10_000),)


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"outAmount": None}, "$.outAmount"),
        ({"outAmount": 143210}, "$.outAmount"),
        ({"outAmount": "-1"}, "$.outAmount"),
        ({"outAmount": "1.5"}, "$.outAmount"),
        ({"outAmount": "0143210"}, "$.outAmount"),
        ({"outAmount": str(2**64)}, "$.outAmount"),
        ({"outAmount": "9" * 5000}, "$.outAmount"),
        ({"otherAmountThreshold": ""}, "$.otherAmountThreshold"),
        ({"otherAmountThreshold": "143211"}, "$.otherAmountThreshold"),
        ({"inAmount": "1e3"}, "$.inAmount"),
        ({"priceImpactPct": 0.1}, "$.priceImpactPct"),
        ({"slippageBps": "50"}, "$.slippageBps"),
        ({"routePlan": []}, "$.routePlan"),
        ({"routePlan": {}}, "$.routePlan"),
        ({"routePlan": [{"percent": 100}]}, "swapInfo"),
        ({"routePlan": [step(percent=None, bps=None)]}, "$.routePlan[0].percent"),
        ({"routePlan": [step(), step(percent=101)]}, "$.routePlan[1].percent"),
        ({"routePlan": [step(percent=-1)]}, "$.routePlan[0].percent"),
        ({"routePlan": [step(bps=10_001)]}, "$.routePlan[0].bps"),
        ({"routePlan": [step(bps=2**40)]}, "$.routePlan[0].bps"),
    ],
    ids=str,
)
async def test_another_shape_is_an_error_that_names_the_member(members: dict[str, Any], member: str):
    with pytest.raises(UpstreamUnavailable, match="in a shape that this build does not know") as caught:
        await ask(answer(**members))
    assert member in caught.value.message
    assert "143210" not in caught.value.message


@pytest.mark.parametrize("member", sorted(answer().keys() - {"platformFee"}))
async def test_a_member_that_is_gone_is_named(member: str):
    members = answer()
    del members[member]
    with pytest.raises(UpstreamUnavailable, match=member):
        await ask(members)


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"inputMint": OTHER}, "inputMint"),
        ({"outputMint": OTHER}, "outputMint"),
        ({"inAmount": "1001"}, "inAmount"),
        ({"slippageBps": 51}, "slippageBps"),
        ({"swapMode": "ExactOut"}, "swapMode"),
        ({"routePlan": [step(), step(swapInfo={"ammKey": "a", "inputMint": SOL, "outputMint": OTHER})]}, "routePlan"),
    ],
)
async def test_an_answer_to_another_question_is_none(members: dict[str, Any], member: str):
    with pytest.raises(UpstreamUnavailable, match=f"another question.*{member}"):
        await ask(answer(**members))


async def test_equal_mints_are_refused_before_any_request():
    source = Source(answer())
    with pytest.raises(InvalidArgument, match="two mints") as caught:
        await jupiter(source).quote(Swap(SOL, SOL, 1), deadline=None, use=None)
    assert (caught.value.field, source.asked) == ("outputMint", [])


async def test_equal_questions_of_two_seconds_are_one_request():
    source, clock = Source(answer()), Clock()
    asked = jupiter(source, clock)
    quotes = await asyncio.gather(*(asked.quote(SWAP, deadline=None, use=None) for _ in range(20)))
    assert len(set(quotes)) == 1
    clock.now += 1.99
    use = CacheContext()
    await asked.quote(SWAP, deadline=None, use=use)
    assert (len(source.asked), use.status) == (1, "hit")
    clock.now += 0.02
    use = CacheContext()
    await asked.quote(SWAP, deadline=None, use=use)
    assert (len(source.asked), use.status) == (2, "miss")
    await asked.quote(SWAP, deadline=None, use=CacheContext(bypass=True))
    assert len(source.asked) == 3


async def test_refusals_are_kept_as_long_and_failures_are_not():
    for members, requests in ((NotFound("no route"), 1), (UpstreamUnavailable("down"), 2)):
        source = Source(members)
        asked = jupiter(source)
        for _ in range(2):
            with pytest.raises(type(members)):
                await asked.quote(SWAP, deadline=None, use=None)
        assert len(source.asked) == requests


async def test_without_a_cache_nothing_is_given_twice():
    source = Source(answer())
    asked = jupiter(source, kept_seconds=0.0)
    for _ in range(2):
        await asked.quote(SWAP, deadline=None, use=None)
    assert len(source.asked) == 2


async def test_what_is_kept_does_not_grow():
    source, clock = Source(answer()), Clock()
    asked = jupiter(source, clock)
    for amount in range(1, 50):
        source.members = answer(inAmount=str(amount))
        await asked.quote(SWAP._replace(amount=amount), deadline=None, use=None)
        clock.now += 1.0
    assert len(asked._kept) <= 3


def test_the_quota_is_the_configured_one_else_the_documented(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGGREGATOR_KEY", "secret")
    url = "https://aggregator.test"
    keyless = RemoteSettings.model_validate({"label": "a", "url": url})
    keyed = RemoteSettings.model_validate({"label": "b", "url": url, "headers_env": {"x-api-key": "AGGREGATOR_KEY"}})
    paid = RemoteSettings.model_validate({"label": "c", "url": url, "rate": 50})
    assert [quota([one]) for one in (keyless, keyed, paid)] == [0.5, 1.0, 50.0]
    assert quota([keyless, keyed]) == 1.5
    assert quota([]) == 0.5


@given(st.integers(0, 10_000))
def test_the_rounding_is_that_of_a_decimal_half_up(bps: int):
    members = _Step(_Info("a", SOL, USDC), None, bps)
    assert _step(members, 0).percent == (Decimal(bps) / 100).quantize(Decimal(1), ROUND_HALF_UP)
