"""A failure that several readers of one question meet: each raises a copy of its own, and it holds on to nothing."""

from __future__ import annotations

import asyncio
import gc
import types

import pytest

from server.errors import ArchiveRequired, UpstreamUnavailable
from tests.server.chains.shared.scripted_node import Node


@pytest.fixture
def node(clock):
    return Node(clock)


async def test_what_one_makes_of_a_shared_failure_the_others_do_not_see(node):
    node.delay = 0.01
    node.answer = ArchiveRequired("gone", field="blockHeight", oldest_block=5)
    node.answer.refusals = {"a": UpstreamUnavailable("down")}

    async def rename() -> None:
        try:
            await node.read(block=5)
        except ArchiveRequired as error:
            error.field = "height"
            error.oldest_block = 6
            raise

    failures = await asyncio.gather(rename(), rename(), *(node.read(block=5) for _ in range(2)), return_exceptions=True)
    reported = [(one.field, one.oldest_block) for one in failures if isinstance(one, ArchiveRequired)]
    assert reported == [("height", 6)] * 2 + [("blockHeight", 5)] * 2
    assert all(list(one.refusals) == ["a"] for one in failures if isinstance(one, ArchiveRequired))
    assert node.asked == 1


async def test_a_shared_failure_leaves_nothing_for_the_garbage_collector(node):
    async def ask() -> None:
        try:
            await node.read(block=5)
        except ArchiveRequired as failure:
            # As the frame around a call does.
            failure.__traceback__ = failure.__context__ = failure.__cause__ = None

    async def ask_together() -> None:
        node.delay, node.answer = 0.001, ArchiveRequired("gone")
        await asyncio.gather(*(ask() for _ in range(3)))
        node.answer = b""

    await ask_together()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await ask_together()
        await asyncio.sleep(0)
        gc.collect()
        left = [one for one in gc.garbage if isinstance(one, ArchiveRequired | types.FrameType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert left == []
    assert node.asked == 2
