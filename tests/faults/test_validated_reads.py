"""Results that cannot be the answer: as long as one endpoint answers soundly, that is what callers get."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from server.chains.shared.validated_reads import Doubtful, read_validated, read_validated_together
from server.errors import ArchiveRequired, NotFound, UpstreamUnavailable
from server.upstream import CallPolicy, Pool
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

METHOD, PARAMS = "eth_getBalance", ["0x" + "0" * 40, "latest"]


def says(result: Any) -> faults.Fault:
    return faults.spoil(METHOD, lambda one: one.update(result=result))


def balance(result: bytes) -> int:
    return int(msgspec.json.decode(result, type=str), 16)


async def read(pool: Pool, policy: CallPolicy | None = None) -> tuple[int, str]:
    return await read_validated(pool, METHOD, PARAMS, balance, policy or CallPolicy(), deadline=None)


@pytest.mark.parametrize("result", ["0xzz", 7, None, [], {"value": "0x0"}], ids=str)
@pytest.mark.parametrize("good", range(3))
async def test_one_sound_endpoint_of_three_is_enough(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, result: Any, good: int
) -> None:
    nodes = [await faulty() for _ in range(3)]
    for place, node in enumerate(nodes):
        node.fault = faults.honest if place == good else says(result)
    pool = make_pool(*(node.url for node in nodes))
    label = ("alpha", "beta", "gamma")[good]
    assert await read(pool) == (0, label)
    assert all(len(node.asked) <= 1 for node in nodes)
    assert {endpoint for endpoint, kind in tally.failures if kind == "unsound"} <= {"alpha", "beta", "gamma"} - {label}


async def test_a_preferred_or_passed_over_endpoint_is_no_exception(faulty: MakeFaulty, make_pool: MakePool) -> None:
    bad, good = await faulty(), await faulty()
    bad.fault = says("no number")
    pool = make_pool(bad.url, good.url)
    for policy in (CallPolicy(prefer="alpha"), CallPolicy(avoid=frozenset({"beta"}))):
        assert await read(pool, policy) == (0, "beta")


async def test_a_sound_endpoint_that_rests_is_asked_before_an_unsound_one_is_asked_again(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    bad, good = await faulty(), await faulty()
    pool = make_pool(bad.url, good.url)
    bad.fault, good.fault = says("no number"), faults.broken
    while ("beta", "open") not in tally.states:
        with pytest.raises(UpstreamUnavailable):
            await read(pool)
    good.fault = faults.honest
    assert await read(pool) == (0, "beta")


async def test_where_nobody_answers_soundly_each_is_asked_and_none_believed(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty() for _ in range(3)]
    for node in nodes:
        node.fault = says("no number")
    pool = make_pool(*(node.url for node in nodes))
    with pytest.raises(UpstreamUnavailable, match=r"of ethereum answered eth_getBalance with what cannot"):
        await read(pool)
    assert sorted(len(node.asked) for node in nodes) == [1, 1, 2]
    assert sum(tally.failures.values()) == 4


async def test_an_only_endpoint_gets_a_second_chance(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    node.fault = faults.first(1, says("no number"))
    assert await read(pool) == (0, "alpha")
    node.fault = says("no number")
    with pytest.raises(UpstreamUnavailable):
        await read(pool)
    assert len(node.asked) == 4


async def test_what_another_endpoint_says_that_it_lacks_is_the_better_reason(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    bad, pruned = await faulty(), await faulty()
    bad.fault, pruned.fault = says("no number"), faults.error(-32000, "missing trie node 0x00 (path ) state 0x00")
    with pytest.raises(ArchiveRequired):
        await read(make_pool(bad.url, pruned.url))


@pytest.mark.parametrize("other", ["sound", "doubtful", "unsound", "broken"])
async def test_a_doubtful_answer_counts_only_if_nobody_contradicts(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, other: str
) -> None:
    def careful(result: bytes) -> int:
        if result == b'"0x"':
            raise Doubtful(NotFound("there is nothing"))
        return balance(result)

    doubted, second = await faulty(), await faulty()
    doubted.fault = says("0x")
    second.fault = {
        "sound": faults.honest,
        "doubtful": says("0x"),
        "unsound": says("no number"),
        "broken": faults.broken,
    }[other]
    pool = make_pool(doubted.url, second.url)
    if other == "sound":
        assert await read_validated(pool, METHOD, PARAMS, careful, deadline=None) == (0, "beta")
        return
    with pytest.raises(NotFound, match="there is nothing"):
        await read_validated(pool, METHOD, PARAMS, careful, deadline=None)
    assert ("alpha", "unsound") not in tally.failures


async def test_a_bundle_is_sound_as_a_whole(faulty: MakeFaulty, make_pool: MakePool) -> None:
    bad, good = await faulty(), await faulty()
    bad.fault = says("no number")
    pool = make_pool(bad.url, good.url)
    calls = [("eth_blockNumber", []), (METHOD, PARAMS)]
    found, endpoint = await read_validated_together(
        pool, calls, lambda results: [balance(result) for result in results], deadline=None
    )
    assert (found, endpoint) == ([10, 0], "beta")
    bad.fault = good.fault = says("no number")
    with pytest.raises(UpstreamUnavailable, match=r"eth_blockNumber\+eth_getBalance"):
        await read_validated_together(pool, calls, lambda results: [balance(one) for one in results], deadline=None)
