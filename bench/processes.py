"""Child processes of a benchmark run, each ended with it, and the processors they run on."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO


def set_processor_apart() -> set[int] | None:
    """Keep this process, and what it starts from now on, off one processor, and return that one.

    A server that is measured gets it to itself. Where the system moves servers, clients and nodes about as it likes,
    two runs of one program differ by up to a third, gRPC's with its several threads most of all. None where there is
    one processor alone, or no way to choose (macOS).
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    apart, *others = sorted(os.sched_getaffinity(0))
    if not others:
        return None
    os.sched_setaffinity(0, others)
    return {apart}


@asynccontextmanager
async def python(
    *arguments: str, port: int, log: BinaryIO | None = None, processors: set[int] | None = None
) -> AsyncIterator[int]:
    """Run `python ARGUMENTS` until the block ends; enter it, with its process id, once `port` accepts connections.

    Its standard error goes to `log`, else to ours; it runs on `processors`, else on ours.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=log
    )
    if processors is not None:
        # It has one thread yet: all that it starts later run there too.
        os.sched_setaffinity(child.pid, processors)
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
