from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from asyncio.subprocess import PIPE

import pytest

from cli.process import Stop, first


async def later(value: int) -> int:
    await asyncio.sleep(0.01)
    return value


async def forever() -> int:
    await asyncio.Event().wait()
    return 0


async def fail() -> int:
    raise ValueError("broken")


async def test_the_work_may_finish_first() -> None:
    assert await Stop().wait_for(later(7)) == 7


async def test_a_stop_cancels_the_work() -> None:
    stop = Stop()
    asyncio.get_running_loop().call_later(0.01, stop.ask)
    assert await stop.wait_for(forever()) is None
    assert not stop.hurried.is_set()


async def test_only_the_second_time_is_a_hurry() -> None:
    stop = Stop()
    stop.ask()
    waiting = asyncio.create_task(stop.unless_hurried(forever()))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    stop.ask()
    assert await waiting is None


async def test_the_work_may_fail() -> None:
    with pytest.raises(ValueError, match="broken"):
        await first(fail(), asyncio.Event())


async def test_a_cancelled_wait_cancels_the_work() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(first(work(), asyncio.Event()))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_ask(number: signal.Signals) -> None:
    stop = Stop()
    stop.listen()
    try:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.requested.wait(), 2)
    finally:
        stop.ignore()


HOLDS = """
import asyncio, cli.process
async def main():
    stop = cli.process.Stop()
    stop.listen()
    print("listening", flush=True)
    await stop.requested.wait()
asyncio.run(main())
"""


async def test_a_hang_up_ends_what_has_lost_its_terminal_and_nothing_else() -> None:
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDS, stdin=slave, stdout=PIPE)
    os.close(slave)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"listening\n"
    process.send_signal(signal.SIGHUP)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.wait(), 0.3)
    os.close(master)
    process.send_signal(signal.SIGHUP)
    assert await asyncio.wait_for(process.wait(), 10) == 0
