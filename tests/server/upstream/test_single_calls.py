"""Calls on idle connections, which are sent without a task of their own."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from runtime.settings import EndpointSettings
from server.chains.evm.node_errors import EvmErrors
from server.errors import DeadlineExceeded
from server.upstream import CallPolicy, Pool, open_session
from tests.server.upstream.http.scripted import plain, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.upstream.http.scripted import Script, Server, Visit

POLICY = CallPolicy(joinable=False, held=True, is_last=True)


@asynccontextmanager
async def pool_at(script: Script) -> AsyncIterator[tuple[Pool, Server]]:
    async with serving(script) as server, open_session() as http:
        endpoint = EndpointSettings.model_validate({"label": "alpha", "url": f"http://127.0.0.1:{server.port}/"})
        pool = Pool("ethereum", [endpoint], EvmErrors(), http, block_time=12.0)
        try:
            yield pool, server
        finally:
            await pool.close()


async def answer(visit: Visit) -> None:
    number = json.loads((await visit.request()).partition(b"\r\n\r\n")[2])["id"]
    await visit.send(plain(b'{"jsonrpc":"2.0","id":%d,"result":"0x1"}' % number))


async def always(visit: Visit) -> None:
    while True:
        await answer(visit)


async def once(visit: Visit) -> None:
    """Answer the first request of the first connection, and no later one on it; all those of the next ones."""
    await answer(visit)
    if visit.number == 0:
        await visit.request()
        await visit.gone()
    else:
        await always(visit)


async def call(pool: Pool, seconds: float = 30.0) -> bytes:
    return (await pool.call("eth_blockNumber", [], POLICY, deadline=time.monotonic() + seconds)).result


async def test_calls_one_after_the_other_make_no_task_on_a_connection_that_stands() -> None:
    async with pool_at(always) as (pool, server):
        await call(pool)
        made: list[object] = []
        loop = asyncio.get_running_loop()

        def make(loop: asyncio.AbstractEventLoop, coroutine: object, **options: object) -> asyncio.Task[object]:
            made.append(coroutine)
            return asyncio.Task(coroutine, loop=loop, **options)  # type: ignore[arg-type]

        loop.set_task_factory(make)
        try:
            assert [await call(pool) for _ in range(3)] == [b'"0x1"'] * 3
        finally:
            loop.set_task_factory(None)
        ours = [one for one in made if "server/upstream" in str(getattr(one, "cr_code", ""))]
        assert ours == []
        assert server.used == [0, 0, 0, 0]


async def test_a_connection_that_died_while_idle_is_replaced_once() -> None:
    async def dying(visit: Visit) -> None:
        await answer(visit)
        if visit.number == 0:
            await visit.request()
            visit.reset()
        else:
            await always(visit)

    async with pool_at(dying) as (pool, server):
        assert [await call(pool), await call(pool), await call(pool)] == [b'"0x1"'] * 3
        assert server.used == [0, 0, 1, 1]


async def test_a_caller_who_leaves_leaves_the_connection_to_the_next_one() -> None:
    may_answer = asyncio.Event()

    async def slow(visit: Visit) -> None:
        await answer(visit)
        await may_answer.wait()
        await always(visit)

    async with pool_at(slow) as (pool, server):
        await call(pool)
        leaving = asyncio.create_task(call(pool))
        await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        may_answer.set()
        await server.until(lambda: len(server.requests) == 2)
        await asyncio.sleep(0.05)
        assert await call(pool) == b'"0x1"'
        assert server.used == [0, 0, 0]


async def test_a_call_without_an_answer_ends_in_time_and_its_connection_with_it() -> None:
    async with pool_at(once) as (pool, server):
        await call(pool)
        with pytest.raises(DeadlineExceeded, match="no answer within"):
            await call(pool, 0.2)
        await server.until(lambda: 0 in server.ended)
        assert await call(pool) == b'"0x1"'
        assert server.used == [0, 0, 1]


async def test_closing_ends_a_call_in_flight_and_its_connection() -> None:
    async with pool_at(once) as (pool, server):
        await call(pool)
        waiting = asyncio.create_task(call(pool))
        await server.until(lambda: len(server.requests) == 2)
        await pool.close()
        async with asyncio.timeout(10):
            await asyncio.gather(waiting, return_exceptions=True)
        await server.until(lambda: 0 in server.ended)
