"""300 requests a second while real nodes are stopped, killed and brought back: no caller gets an error."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, Any

from server.upstream import CallPolicy, Pool
from tests.faults.conftest import wait_for_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.conftest import Tally

RATE = 300


class Load:
    """Sends reads at an even rate and keeps what became of them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.failures: list[BaseException] = []
        self.seconds: list[float] = []
        self.endpoints: list[str] = []

    async def run(self, seconds: float) -> None:
        started = time.monotonic()
        tasks = []
        for number in range(int(seconds * RATE)):
            wait = started + number / RATE - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(self._one(number)))
        await asyncio.gather(*tasks)

    async def _one(self, number: int) -> None:
        began = time.monotonic()
        try:
            reply = await self._pool.call(
                "eth_getBalance", [f"0x{number:040x}", "latest"], CallPolicy(), deadline=began + 8
            )
            assert reply.result == b'"0x0"'
            self.endpoints.append(reply.endpoint)
        except Exception as error:
            self.failures.append(error)
        self.seconds.append(time.monotonic() - began)


async def test_load_during_stop_kill_and_recovery_costs_no_caller_an_error(
    anvil: Callable[..., Any], make_pool: Callable[..., Pool], tally: Tally
) -> None:
    started = [anvil("--chain-id", "31337") for _ in range(3)]
    for _, url in started:
        await wait_for_node(url)
    pool = make_pool(*(url for _, url in started))
    load = Load(pool)
    await load.run(0.5)
    favourite = max(set(load.endpoints), key=load.endpoints.count)
    by_label = dict(zip(pool.labels, started, strict=True))
    frozen = by_label.pop(favourite)[0]

    running = asyncio.create_task(load.run(6))
    await asyncio.sleep(0.3)
    frozen.send_signal(signal.SIGSTOP)
    await asyncio.sleep(1.5)
    serving = load.endpoints[-1]
    assert serving != favourite
    by_label.pop(serving)[0].kill()
    await asyncio.sleep(2)
    frozen.send_signal(signal.SIGCONT)
    await running

    assert load.failures == []
    assert len(load.endpoints) == int(6.5 * RATE)
    assert sum(seconds > 0.5 for seconds in load.seconds) < len(load.seconds) * 0.1
    assert (favourite, "open") in tally.states
    assert (favourite, "closed") in tally.states  # it earned its way back while the load ran
    for last, _ in by_label.values():
        last.kill()
    reply = await pool.call("eth_blockNumber", [], deadline=time.monotonic() + 5)
    assert reply.endpoint == favourite
