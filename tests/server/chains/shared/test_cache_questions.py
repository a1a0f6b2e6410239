"""Several questions about one block: each kept by itself, each asked once, all answers of the view's block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from server.chains.shared.cache import ChainCache, Question
from server.chains.view import ReadView
from server.errors import ArchiveRequired, DeadlineExceeded
from server.upstream.cache import CacheContext
from tests.server.chains.shared.scripted_node import BLOCK_TIME, STATE, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.server.upstream.cache.conftest import Clock


class Nodes(Node):
    """Answers each question with its name and the block; lists what was asked, and of which block."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.questions: list[tuple[str, int | None]] = []
        self.failure: Exception | None = None
        self.heads.observe(self.label, self.head)

    async def under_way(self, count: int) -> None:
        """Wait until so many reads were asked."""
        for _ in range(1000):
            if len(self.questions) >= count:
                return
            await asyncio.sleep(0)
        raise AssertionError("the read did not begin")

    async def ask(self, names: str, view: ReadView | None = None, *, until: asyncio.Event | None = None) -> list[str]:
        view = view or ReadView()

        async def read(places: Sequence[int]) -> list[bytes]:
            async with view.turn():
                self.questions.append(("".join(names[place] for place in places), view.block))
                head, failure = self.head, self.failure
                await (asyncio.sleep(self.delay) if until is None else until.wait())
                if failure is not None:
                    raise failure
                if view.block is None:
                    self.heads.observe(self.label, head)
                    view.settle(head, self.label)
                return [f"{names[place]}{view.block}".encode() for place in places]

        questions = [Question(STATE, name.encode()) for name in names]
        return [answer.decode() for answer in await self.chain_cache.read_states(view, questions, read)]


@pytest.fixture
def nodes(clock: Clock) -> Nodes:
    return Nodes(clock)


def at(block: int, names: str) -> list[str]:
    return [f"{name}{block}" for name in names]


async def test_what_is_kept_is_not_asked_and_the_rest_at_its_block(nodes):
    assert await nodes.ask("ab") == at(1000, "ab")
    nodes.head = 1001
    view = ReadView()
    assert await nodes.ask("xay", view) == at(1000, "xay")
    assert view.block == 1000
    assert await nodes.ask("yxba") == at(1000, "yxba")
    assert nodes.questions == [("ab", None), ("xy", 1000)]


async def test_once_a_newer_block_is_known_nothing_is_kept_of_it(nodes):
    await nodes.ask("ab")
    nodes.head = 1001
    await nodes.ask("c", ReadView(cache=CacheContext(bypass=True)))
    assert await nodes.ask("abc") == at(1001, "abc")
    assert nodes.questions[-1] == ("ab", 1001)


async def test_what_is_kept_of_a_block_time_ago_is_asked_again(nodes, clock):
    await nodes.ask("ab")
    clock.pass_seconds(BLOCK_TIME)
    nodes.head = 1001
    assert await nodes.ask("ab") == at(1001, "ab")


async def test_a_chosen_block_is_looked_up_and_kept_by_itself(nodes):
    await nodes.ask("ab", ReadView(block=990))
    assert await nodes.ask("bc", ReadView(block=990)) == at(990, "bc")
    assert await nodes.ask("b", ReadView(block=991)) == at(991, "b")
    assert nodes.questions == [("ab", 990), ("c", 990), ("b", 991)]


async def test_equal_questions_of_one_moment_are_asked_once(nodes):
    nodes.delay = 0.01
    views = [ReadView(cache=CacheContext()) for _ in range(3)]
    answers = await asyncio.gather(*(nodes.ask(f"a{name}", view) for name, view in zip("xyz", views, strict=True)))
    assert answers == [at(1000, f"a{name}") for name in "xyz"]
    assert sorted(nodes.questions) == [("ax", None), ("y", None), ("z", None)]
    assert {view.cache.status for view in views if view.cache} == {"miss"}
    assert not nodes.chain_cache._in_flight


async def test_what_another_request_learns_of_another_block_is_asked_again_at_ones_own(nodes):
    until = asyncio.Event()
    first = asyncio.create_task(nodes.ask("a", until=until))
    await nodes.under_way(1)
    nodes.head = 1001
    second = asyncio.create_task(nodes.ask("ab"))
    await nodes.under_way(2)
    until.set()
    assert await second == at(1001, "ab")
    assert await first == at(1000, "a")
    assert nodes.questions == [("a", None), ("b", None), ("a", 1001)]


async def test_two_reads_of_others_that_differ_are_brought_to_the_newer_block(nodes):
    until = asyncio.Event()
    older = asyncio.create_task(nodes.ask("a", until=until))
    await nodes.under_way(1)
    nodes.head = 1001
    newer = asyncio.create_task(nodes.ask("b", until=until))
    await nodes.under_way(2)
    mine = asyncio.create_task(nodes.ask("ab"))
    for _ in range(5):
        await asyncio.sleep(0)
    until.set()
    assert await mine == at(1001, "ab")
    assert (await older, await newer) == (at(1000, "a"), at(1001, "b"))
    assert nodes.questions[2:] == [("a", 1001)]


async def test_a_question_asked_twice_is_answered_twice(nodes):
    assert await nodes.ask("aba") == at(1000, "aba")
    assert await nodes.ask("aab") == at(1000, "aab")
    assert not nodes.chain_cache._in_flight


async def test_who_wants_no_cache_gets_a_nodes_answers_which_are_kept(nodes):
    await nodes.ask("ab")
    nodes.head = 1001
    view = ReadView(cache=CacheContext(bypass=True))
    assert await nodes.ask("ab", view) == at(1001, "ab")
    assert view.cache is not None
    assert view.cache.status == "bypass"
    assert await nodes.ask("ba") == at(1001, "ba")
    assert len(nodes.questions) == 2


async def test_the_status_and_how_long_an_answer_holds(nodes):
    await nodes.ask("ab")
    uses = [CacheContext() for _ in range(2)]
    await nodes.ask("ab", ReadView(cache=uses[0]))
    await nodes.ask("abc", ReadView(cache=uses[1]))
    assert [use.status for use in uses] == ["hit", "miss"]
    assert uses[0].holding is not None
    assert uses[0].holding.is_true()
    assert uses[1].holding is None
    nodes.chain_cache.drop_recent()
    assert not uses[0].holding.is_true()


async def test_a_replaced_block_is_read_again(nodes):
    await nodes.ask("ab")
    nodes.chain_cache.drop_recent()
    await nodes.ask("ab")
    assert nodes.questions == [("ab", None)] * 2


async def test_a_read_under_way_of_the_same_view_is_waited_for(nodes):
    await nodes.ask("a")
    nodes.head = 1001
    view, until = ReadView(), asyncio.Event()
    first = asyncio.create_task(nodes.ask("b", view, until=until))
    await nodes.under_way(2)
    second = asyncio.create_task(nodes.ask("a", view))
    for _ in range(5):
        await asyncio.sleep(0)
    until.set()
    # What is kept is of 1000, which this view will not be of.
    assert await second == at(1001, "a")
    assert await first == at(1001, "b")


async def test_a_failure_reaches_all_who_asked_the_same_each_with_an_error_of_its_own(nodes):
    nodes.delay = 0.01
    nodes.failure = ArchiveRequired("gone")
    reads = (nodes.ask("ab", ReadView(block=5)) for _ in range(3))
    failures = await asyncio.gather(*reads, return_exceptions=True)
    assert all(isinstance(failure, ArchiveRequired) for failure in failures)
    assert len({id(failure) for failure in failures}) == 3
    await asyncio.sleep(0.02)
    assert not nodes.chain_cache._in_flight


@pytest.mark.parametrize("ends", ["cancelled", "late"])
async def test_who_asked_first_may_leave_without_taking_the_others_along(nodes, ends):
    until = asyncio.Event()
    nodes.failure = DeadlineExceeded("late") if ends == "late" else None
    first = asyncio.create_task(nodes.ask("ab", ReadView(block=5), until=until))
    await nodes.under_way(1)
    nodes.failure = None
    second = asyncio.create_task(nodes.ask("bc", ReadView(block=5)))
    await nodes.under_way(2)
    if ends == "cancelled":
        first.cancel()
    else:
        until.set()
    with pytest.raises((asyncio.CancelledError, DeadlineExceeded)):
        await first
    assert await second == at(5, "bc")
    assert nodes.questions == [("ab", 5), ("c", 5), ("b", 5)]
    assert not nodes.chain_cache._in_flight


async def test_without_a_cache_equal_questions_of_one_moment_are_one_and_nothing_is_kept(clock):
    nodes = Nodes(clock)
    nodes.chain_cache = ChainCache("ethereum", None, nodes.heads, block_time=BLOCK_TIME)
    nodes.delay = 0.01
    views = [ReadView(cache=CacheContext()) for _ in range(2)]
    answers = await asyncio.gather(nodes.ask("ab", views[0]), nodes.ask("cb", views[1]))
    assert answers == [at(1000, "ab"), at(1000, "cb")]
    assert nodes.questions == [("ab", None), ("c", None)]
    assert [view.cache.status for view in views if view.cache] == [None, None]
    await nodes.ask("a")
    assert len(nodes.questions) == 3
