"""How long a chain's answers are given again: by finality, by block time, by what is seen of reorganisations."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref

import pytest

from server.chains.shared.cache import CachedDocument, ChainCache
from server.chains.shared.finality import FAILURE_SECONDS, FINALITY_SECONDS
from server.chains.view import ReadView
from server.errors import ArchiveRequired, DeadlineExceeded, UpstreamUnavailable
from server.upstream.cache import Cache, CacheContext
from tests.server.chains.shared.scripted_node import BLOCK_TIME, Node


@pytest.fixture
def node(clock):
    return Node(clock)


async def test_the_same_at_the_same_head_asks_no_node_and_names_the_block_it_was_read_at(node):
    assert await node.read() == b"answer"
    view = ReadView()
    assert await node.read(view) == b"answer"
    assert (node.asked, view.block, view.endpoint) == (1, 1000, "a")


async def test_another_question_is_another_answer(node):
    await node.read()
    node.answer = b"other"
    assert await node.read(body=b"p") == b"other"
    assert await node.read() == b"answer"


async def test_near_the_head_an_answer_lives_one_block_time(node, clock):
    await node.read()
    clock.pass_seconds(BLOCK_TIME - 0.01)
    await node.read()
    assert node.asked == 1
    clock.pass_seconds(0.01)
    await node.read()
    assert node.asked == 2


async def test_the_operators_bound_shortens_that(clock):
    node = Node(clock)
    node.cache = Cache(1 << 20, near_seconds=2, clock=clock)
    node.chain_cache = ChainCache("ethereum", node.cache, node.heads, block_time=BLOCK_TIME)
    await node.read()
    clock.pass_seconds(2)
    await node.read()
    assert node.asked == 2


async def test_a_head_that_moved_on_is_read_again_at_once(node):
    await node.read()
    node.head = 1001
    node.heads.observe("a", 1001)
    view = ReadView()
    await node.read(view)
    assert (node.asked, view.block) == (2, 1001)


async def test_a_head_that_only_one_of_three_endpoints_reached_is_still_found_again(node):
    for label in ("a", "b", "c"):
        node.heads.observe(label, 999)
    await node.read()
    assert node.heads.head() == 999
    view = ReadView()
    await node.read(view)
    assert (node.asked, view.block) == (1, 1000)


async def test_nobody_who_was_reported_a_block_is_reported_an_older_one_out_of_memory(node, clock):
    for label in ("a", "b", "c"):
        node.heads.observe(label, 999)
    node.label, node.head = "b", 999
    await node.read()
    node.label, node.head = "a", 1000
    await node.read(body=b"other")
    view = ReadView()
    await node.read(view)
    assert (node.asked, view.block) == (3, 1000)


async def test_an_endpoint_that_fell_back_far_takes_everything_near_the_head_with_it(node):
    await node.read()
    await node.read(block=998)
    node.head = 995
    await node.read(body=b"fresh")
    assert node.asked == 3
    await node.read(block=998)
    assert node.asked == 4


async def test_a_label_with_machines_one_block_apart_drops_nothing(node):
    await node.read()
    node.head = 999
    await node.read(body=b"behind")
    view = ReadView()
    await node.read(view)
    assert (node.asked, view.block) == (2, 1000)


async def test_another_hash_of_a_block_drops_what_is_near_the_head_and_keeps_what_is_final(node):
    node.chain_cache.see_hash(999, "0xaa")
    await node.read()
    await node.read(block=800)
    await node.chain_cache.finality.settled()
    node.chain_cache.see_hash(999, "0xbb")
    await node.read()
    assert node.asked == 3
    await node.read(block=800)
    assert node.asked == 3


async def test_an_answer_that_was_under_way_during_a_reorganisation_is_not_kept(node):
    node.delay = 0.3
    reading = asyncio.create_task(node.read(block=998))
    await asyncio.sleep(0.005)
    node.chain_cache.see_hash(998, "0xaa")
    node.chain_cache.see_hash(998, "0xbb")
    await reading
    await node.read(block=998)
    assert node.asked == 2


async def test_a_final_answer_is_kept_for_good(node, clock):
    await node.read()
    await node.read(block=800)
    await node.chain_cache.finality.settled()
    clock.pass_seconds(1e7)
    await node.read(block=800)
    assert node.asked == 2
    assert node.asked_final == 1


async def test_what_is_not_final_yet_is_not_kept_for_good(node, clock):
    await node.read()
    await node.read(block=950)
    await node.chain_cache.finality.settled()
    clock.pass_seconds(BLOCK_TIME)
    await node.read(block=950)
    assert node.asked == 3


async def test_finality_is_not_asked_for_near_the_head_nor_all_the_time(node, clock):
    await node.read()
    for block in range(985, 1000):
        await node.read(block=block)
    assert node.asked_final == 0
    for block in range(920, 950):
        await node.read(block=block)
    await node.chain_cache.finality.settled()
    assert node.asked_final == 1
    clock.pass_seconds(FINALITY_SECONDS)
    await node.read(block=930)
    await node.chain_cache.finality.settled()
    assert node.asked_final == 2


async def test_where_nodes_do_not_tell_finality_nothing_is_final(clock):
    node = Node(clock, tells_final=False)
    await node.read(block=1)
    clock.pass_seconds(BLOCK_TIME)
    await node.read(block=1)
    assert node.asked == 2


async def test_a_node_that_calls_the_future_final_is_not_believed(node):
    await node.read()
    node.final = 10**9
    await node.read(block=800)
    await node.chain_cache.finality.settled()
    assert node.chain_cache.finality.block == -1


async def test_that_something_is_not_there_is_believed_for_seconds_only(node, clock):
    node.answer = b"nothing"
    await node.read()
    await node.read(block=800)
    await node.chain_cache.finality.settled()
    await node.read(block=800)
    assert node.asked == 2
    clock.pass_seconds(FAILURE_SECONDS)
    await node.read(block=800)
    assert node.asked == 3


async def test_failures_are_never_kept(node):
    node.answer = UpstreamUnavailable("down")
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable):
            await node.read()
    assert node.asked == 2
    node.answer = b"answer"
    assert await node.read() == b"answer"


async def test_the_same_question_at_once_is_asked_once_and_answered_to_all(node):
    node.delay = 0.3
    views = [ReadView(cache=CacheContext()) for _ in range(20)]
    answers = await asyncio.gather(*(node.read(view) for view in views))
    assert set(answers) == {b"answer"}
    assert node.asked == 1
    assert {view.block for view in views} == {1000}
    assert {view.cache.status for view in views if view.cache} == {"miss"}


async def test_a_failure_reaches_all_who_asked_the_same_each_with_an_error_of_its_own(node):
    node.delay = 0.3
    node.answer = ArchiveRequired("gone", oldest_block=5)
    failures = await asyncio.gather(*(node.read(block=5) for _ in range(5)), return_exceptions=True)
    assert node.asked == 1
    assert all(isinstance(failure, ArchiveRequired) for failure in failures)
    assert len({id(failure) for failure in failures}) == 5
    assert {failure.oldest_block for failure in failures if isinstance(failure, ArchiveRequired)} == {5}


@pytest.mark.parametrize("ends", ["cancelled", "late"])
async def test_who_asked_first_may_leave_without_taking_the_others_along(node, ends):
    node.delay = 0.3
    first = asyncio.create_task(node.read(block=5))
    await asyncio.sleep(0)
    node.answer = DeadlineExceeded("late") if ends == "late" else node.answer
    second = asyncio.create_task(node.read(block=5))
    await asyncio.sleep(0.001)
    if ends == "cancelled":
        first.cancel()
    with pytest.raises((asyncio.CancelledError, DeadlineExceeded)):
        await first
    node.answer = b"answer"
    assert await second == b"answer"
    assert node.asked == 2
    assert not node.chain_cache._in_flight


async def test_a_failure_is_not_held_by_the_frames_that_it_passed(node):
    """Nothing of a call waits for the garbage collector (decision 0018)."""

    async def failing() -> weakref.ref[ArchiveRequired]:
        error = node.answer = ArchiveRequired("gone")
        followers = [asyncio.create_task(node.read(block=5)) for _ in range(2)]
        await asyncio.wait(followers)
        assert all(isinstance(one.exception(), ArchiveRequired) for one in followers)
        node.answer = b"answer"
        return weakref.ref(error)

    gc.disable()
    try:
        seen = await failing()
        await asyncio.sleep(0)
        assert seen() is None
    finally:
        gc.enable()


async def test_who_follows_waits_no_longer_than_to_its_own_deadline(node):
    node.delay = 0.2
    first = asyncio.create_task(node.read(block=5))
    await asyncio.sleep(0)
    hasty = ReadView(block=5, deadline=time.monotonic() + 0.01)
    with pytest.raises(DeadlineExceeded, match="ethereum did not answer before the deadline"):
        await node.read(hasty)
    assert not first.done(), "it had more time"
    patient = ReadView(block=5, deadline=time.monotonic() + 60)
    assert await node.read(patient) == b"answer"
    assert await first == b"answer"
    assert node.asked == 1
    assert not node.chain_cache._in_flight


async def test_two_reads_of_one_view_are_of_one_block_even_if_memory_holds_an_older_one(node):
    await node.read(body=b"kept")
    node.head = 1001
    node.delay = 0.3
    view = ReadView()
    first = asyncio.create_task(node.read(view, body=b"fresh"))
    await asyncio.sleep(0.001)
    node.answer = b"newer"
    assert await node.read(view, body=b"kept") == b"newer"
    await first
    assert view.block == 1001


async def test_who_wants_no_cache_gets_a_nodes_answer_which_is_kept_for_the_others(node):
    await node.read()
    node.answer = b"newer"
    use = CacheContext(bypass=True)
    assert await node.read(ReadView(cache=use)) == b"newer"
    assert use.status == "bypass"
    assert await node.read() == b"newer"
    assert node.asked == 2


async def test_without_a_cache_every_read_is_asked(clock):
    node = Node(clock)
    node.chain_cache = ChainCache("ethereum", None, node.heads, block_time=BLOCK_TIME)
    use = CacheContext()
    for _ in range(2):
        await node.read(ReadView(cache=use))
    assert node.asked == 2
    assert use.status is None


async def test_documents_of_one_hash_are_kept_for_good_and_others_once_they_are_final(node, clock):
    asked: list[str] = []

    async def document(name: str, block: int | None) -> bytes:
        async def ask() -> bytes:
            asked.append(name)
            return name.encode()

        kind = CachedDocument("doc", bytes, bytes, block_of=None if block is None else lambda _: block)
        return await node.chain_cache.read_document(ReadView(), kind, name.encode(), ask)

    await node.read()
    for _ in range(2):
        await document("by hash", None)
        await document("final", 800)
        await document("fresh", 999)
        await node.chain_cache.finality.settled()
    assert asked == ["by hash", "final", "fresh"]
    clock.pass_seconds(BLOCK_TIME)
    for name, block in (("by hash", None), ("final", 800), ("fresh", 999)):
        await document(name, block)
    assert asked == ["by hash", "final", "fresh", "fresh"]


def test_the_status_of_a_request_says_the_worst_that_happened():
    use = CacheContext()
    assert use.status is None
    use.hit()
    assert use.status == "hit"
    use.miss()
    assert use.status == "miss"
    use.stale()
    assert use.status == "stale"
    bypassing = CacheContext(bypass=True)
    assert bypassing.status is None
    bypassing.miss()
    assert bypassing.status == "bypass"


async def test_without_a_cache_equal_reads_of_one_moment_are_one_and_nothing_is_kept(clock):
    node = Node(clock)
    node.chain_cache = ChainCache("ethereum", None, node.heads, block_time=BLOCK_TIME)
    node.delay = 0.3
    views = [ReadView(cache=CacheContext()) for _ in range(3)]
    assert await asyncio.gather(*(node.read(view) for view in views)) == [b"answer"] * 3
    assert node.asked == 1
    assert [(view.block, view.cache.status) for view in views] == [(1000, None)] * 3
    await node.read()
    assert node.asked == 2


async def test_facts_of_contracts_hold_until_an_endpoint_proves_wrong_and_are_bounded(node):
    decimals = node.chain_cache.facts("decimals")
    decimals["0xa"] = 6
    assert node.chain_cache.facts("decimals")["0xa"] == 6
    assert node.chain_cache.facts("selector") == {}
    node.chain_cache.drop_recent()
    assert decimals == {"0xa": 6}, "no block changes them"
    node.chain_cache.forget()
    assert node.chain_cache.facts("decimals") == decimals == {}
    for number in range(20_000):
        decimals[str(number)] = number
    assert 1000 < len(decimals) < 20_000
    assert decimals["19999"] == 19_999
