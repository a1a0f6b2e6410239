"""The fork server keeps its processes apart, however many ask at once."""

from __future__ import annotations

import asyncio
import gc
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.forkserver import fork

ENVIRON = {"PATH": os.environ["PATH"]}


def test_each_caller_gets_its_own_process():
    def is_its_own(_: int) -> bool:
        process = fork("import os\nprint(os.getpid())", environ=ENVIRON)
        return int(process.communicate()[0]) == process.pid

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(is_its_own, range(100)))


async def test_waiting_again_after_giving_up_closes_nothing_of_others():
    process = fork("input()", environ=ENVIRON)
    await process.open()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process.wait(), 0.05)
    process.kill()
    assert await process.wait() == -9
    await asyncio.sleep(0)
    # What takes the numbers that have become free stays open when the readers are collected.
    taken = os.pipe()
    gc.collect()
    assert all(os.fstat(end) for end in taken)
    for end in taken:
        os.close(end)
