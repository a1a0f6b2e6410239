"""Values of a chain are looked at with every newest block, and where none comes for long."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import Link
from server.errors import UpstreamUnavailable
from server.streams import chain_values
from server.streams.chain_values import chain_moments, stalled_after
from server.streams.values import Moment
from tests.each import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONG = 3600.0


def link(number: int) -> Link:
    return Link(number, hex(number), number - 1, hex(number - 1), stream_pb2.BlockHeader())


class Chain:
    """A chain that has the blocks that the test makes; a failure instead of one ends who follows it."""

    def __init__(self) -> None:
        self.is_down = False
        self._news: asyncio.Queue[int | Exception] = asyncio.Queue()

    def make(self, news: int | Exception) -> None:
        self._news.put_nowait(news)

    async def heads(self) -> AsyncIterator[Link]:
        while True:
            news = await self._news.get()
            if isinstance(news, Exception):
                raise news
            yield link(news)


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> Chain:
    monkeypatch.setattr(chain_values, "_PAUSE_SECONDS", 0.0)
    return Chain()


@each([(1.0, 10.0), (2.0, 10.0), (12.0, 60.0), (600.0, 3000.0)])
def test_a_chain_stands_still_after_five_block_times_and_ten_seconds_at_least(block_time: float, after: float) -> None:
    assert stalled_after(block_time) == after


async def test_there_is_a_moment_for_the_newest_block_alone(chain: Chain) -> None:
    async with aclosing(chain_moments(chain.heads, LONG, lambda: False, first_seconds=LONG)) as moments:
        chain.make(1)
        assert await anext(moments) == Moment(link(1))
        for number in (2, 3, 4):
            chain.make(number)
        await asyncio.sleep(0.02)
        assert await anext(moments) == Moment(link(4))


async def test_a_chain_without_a_block_at_the_start_is_looked_at_all_the_same(chain: Chain) -> None:
    async with aclosing(chain_moments(chain.heads, LONG, lambda: False, first_seconds=0.0)) as moments:
        assert await anext(moments) == Moment(None, is_stalled=True)
        chain.make(1)
        assert await anext(moments) == Moment(link(1))


async def test_silence_is_a_moment_of_its_own_again_and_again(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_values, "_STALLED_SECONDS", 0.02)
    async with aclosing(chain_moments(chain.heads, 0.0, lambda: False)) as moments:
        chain.make(1)
        assert await anext(moments) == Moment(link(1))
        for _ in range(2):
            assert await anext(moments) == Moment(link(1), is_stalled=True)
        chain.make(2)
        assert await anext(moments) == Moment(link(2))


async def test_nodes_that_go_and_come_back_are_seen_before_the_chain_stands_still(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_values, "_CHECK_SECONDS", 0.01)
    async with aclosing(chain_moments(chain.heads, LONG, lambda: chain.is_down)) as moments:
        chain.make(1)
        assert await anext(moments) == Moment(link(1))
        for chain.is_down in (True, False):
            assert await anext(moments) == Moment(link(1))


async def test_a_follower_that_fails_is_begun_anew(chain: Chain) -> None:
    async with aclosing(chain_moments(chain.heads, LONG, lambda: False, first_seconds=LONG)) as moments:
        chain.make(UpstreamUnavailable("away"))
        chain.make(5)
        assert await anext(moments) == Moment(link(5))
