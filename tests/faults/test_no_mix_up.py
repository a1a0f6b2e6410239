"""Under every fault at once, each caller gets the answer to its own question."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils.crypto import keccak

from server.upstream import CallPolicy, Pool
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.conftest import Clock

FAULTS = [
    faults.honest,
    faults.shuffled,
    faults.delay(0.02),
    faults.too_many,
    faults.broken,
    faults.web_page,
    faults.drop,
    faults.cut,
    faults.cut_json,
    faults.wrong_id,
    faults.half_batch,
    faults.twice,
    faults.refuse_batches(),
    faults.refuse_batches("batch too large", over=3),
    faults.error(-32603, "internal error"),
    faults.error(-32005, "rate limit exceeded"),
]


@pytest.mark.parametrize("seed", range(3))
async def test_no_caller_ever_gets_anothers_answer(
    seed: int, faulty: Callable[..., Any], make_pool: Callable[..., Pool], clock: Clock
) -> None:
    before = asyncio.all_tasks()
    chance = random.Random(seed)
    nodes = [await faulty() for _ in range(3)]

    def moody() -> faults.Fault:
        async def fault(request: faults.Request) -> None:
            await chance.choice(FAULTS)(request)

        return fault

    nodes[0].fault = moody()
    nodes[1].fault = moody()
    # Weights make the moody ones the first choice, and the clock makes them be forgiven, again and again.
    pool = make_pool(*(node.url for node in nodes), weights=(1000, 1000, 1), clock=clock)

    async def ask(number: int) -> None:
        data = number.to_bytes(8, "big")
        policy = CallPolicy(heavy=number % 17 == 0)
        if number % 13:
            replies = [await pool.call("web3_sha3", ["0x" + data.hex()], policy, deadline=clock() + 20)]
        else:
            calls = [("web3_sha3", ["0x" + (data * times).hex()]) for times in (1, 2, 3)]
            replies = list(await pool.call_together(calls, policy, deadline=clock() + 20))
            assert len({reply.endpoint for reply in replies}) == 1
        for times, reply in enumerate(replies, start=1):
            assert reply.result == b'"0x%b"' % keccak(data * times).hex().encode()

    for burst in range(40):
        clock.ahead += 90
        await asyncio.gather(*(ask(seed * 10_000 + burst * 100 + number) for number in range(chance.randint(1, 40))))
    assert sum(len(node.asked) for node in nodes[:2]) > 100

    await pool.close()
    for node in nodes:
        await node.stop()
    # The nodes' own server may need some turns to let go of its connections.
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=5)
    # What other tests' gateways do in the background in the same process is theirs.
    left = {task for task in asyncio.all_tasks() - before if "upstream" in repr(task.get_coro())}
    assert not left
