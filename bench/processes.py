"""Child processes of a benchmark run, each ended with it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO


@asynccontextmanager
async def python(*arguments: str, port: int, log: BinaryIO | None = None) -> AsyncIterator[int]:
    """Run `python ARGUMENTS` until the block ends; enter it, with its process id, once `port` accepts connections.

    Its standard error goes to `log`, else to ours.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=log
    )
    try:
        await _listening(child, port)
        yield child.pid
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


async def _listening(child: asyncio.subprocess.Process, port: int) -> None:
    for _ in range(300):
        if child.returncode is not None:
            raise RuntimeError(f"the process ended with code {child.returncode}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError("the process does not listen after 30 s")
