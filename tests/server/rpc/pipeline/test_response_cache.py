"""Equal requests get equal answers without the reader, exactly as long as somebody vouches for them."""

from __future__ import annotations

from typing import Any

import pytest
from waypost.v1 import account_pb2

from runtime.operations import load_operations
from server.rpc.pipeline.call import Method, RequestState
from server.rpc.pipeline.response_cache import ResponseCache
from server.upstream.cache import Cache, CacheContext

OPERATIONS = {operation.name: operation for operation in load_operations()}
ROOM = 8 * 1024 * 1024


class Site:
    """A recalled operation whose answers are numbered, and which vouches for them as it is reported to."""

    def __init__(self, operation: str = "getBalance", room: int = ROOM) -> None:
        self.now, self.true, self.seconds, self.reads = 100.0, True, 10.0, 0
        self.fails = False
        self.is_found = True
        self.size = 100
        self.use: CacheContext = CacheContext()
        self.operation = OPERATIONS[operation]
        handler: Any = None
        self.cache = ResponseCache(Cache(room, clock=lambda: self.now), room, lambda _, address: address)
        self.repeats = self.cache.repeats(Method(self.operation.path, handler, self.operation))

    def answer(self) -> bytes:
        self.reads += 1
        state = self.state
        state.chain = "ethereum"
        if self.is_found:
            state.cache.hit()
        else:
            state.cache.miss()
        if self.fails:
            state.cache.stale()
        if self.seconds:
            state.cache.holds(self.now + self.seconds, lambda: self.true)
        return b"%d" % self.reads + b"." * self.size

    async def ask(self, request: bytes = b"a", *, bypass: bool = False) -> int:
        self.use = CacheContext(bypass=bypass)
        self.state = RequestState("id", self.operation, 0.0, {}, cache=self.use)
        assert self.repeats
        answer = self.cache.find(self.operation.path, request, self.state)
        if answer is None:
            answer = self.answer()
            self.cache.keep(self.operation.path, request, self.state, answer)
        return int(answer.rstrip(b"."))


async def test_the_same_bytes_are_answered_again_and_others_are_not() -> None:
    site = Site()
    assert [await site.ask(b"a"), await site.ask(b"a"), await site.ask(b"b"), await site.ask(b"a")] == [1, 1, 2, 1]
    assert site.use.status == "hit"
    assert site.state.chain == "ethereum"


async def test_an_answer_is_dropped_at_its_time_and_when_it_is_no_longer_true() -> None:
    site = Site()
    assert await site.ask() == 1
    site.now += 9.9
    assert await site.ask() == 1
    site.now += 0.1
    assert await site.ask() == 2
    site.true = False
    assert await site.ask() == 3
    site.true = True
    assert await site.ask() == 3


async def test_what_a_node_was_asked_for_is_not_kept_until_it_is_asked_again() -> None:
    site = Site()
    site.is_found = False
    assert [await site.ask(), await site.ask()] == [1, 2]
    site.is_found = True
    assert [await site.ask(), await site.ask()] == [3, 3]


async def test_nothing_is_kept_that_nobody_vouches_for() -> None:
    site = Site()
    site.seconds = 0
    assert [await site.ask(), await site.ask()] == [1, 2]


async def test_an_answer_given_in_the_place_of_failing_nodes_is_not_kept() -> None:
    site = Site()
    site.fails = True
    assert [await site.ask(), await site.ask()] == [1, 2]


async def test_a_caller_who_wants_no_cache_is_read_for_and_refreshes_it() -> None:
    site = Site()
    assert [await site.ask(), await site.ask(bypass=True), await site.ask(), await site.ask()] == [1, 2, 3, 3]


async def test_it_stays_within_its_room_and_the_oldest_goes_first() -> None:
    site = Site(room=8 * 7000)
    for name in (b"a", b"b", b"c", b"d"):
        site.size = 1000
        await site.ask(name)
    assert await site.ask(b"a") == 1
    for name in (b"e", b"f", b"g"):
        await site.ask(name)
    reads = site.reads
    assert await site.ask(b"a") == 1
    assert await site.ask(b"b") == reads + 1


async def test_a_large_answer_is_not_kept() -> None:
    site = Site()
    site.size = 20_000
    assert [await site.ask(), await site.ask()] == [1, 2]


@pytest.mark.parametrize("operation", ["getHealth", "getBlockByNumber", "compareGas", "getReceipt", "simulateCall"])
def test_only_reads_of_one_state_are_recalled(operation: str) -> None:
    site = Site(operation)
    assert not site.repeats


@pytest.mark.parametrize("operation", sorted(name for name, one in OPERATIONS.items() if one.cost > 1))
def test_what_costs_more_than_its_admission_is_charged_every_time(operation: str) -> None:
    site = Site(operation)
    assert not site.repeats


def test_the_request_of_the_example_is_what_it_says() -> None:
    assert {"chain", "block_height"} <= set(account_pb2.GetBalanceRequest.DESCRIPTOR.fields_by_name)
