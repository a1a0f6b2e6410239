"""Child processes of a benchmark run, each ended with it: the processors they run on, what they use of them, memory."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from typing import BinaryIO

# A server starts within seconds; on a processor that several others use it takes as many times as long.
_PATIENCE = 120


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
    *arguments: str,
    port: int,
    log: BinaryIO | None = None,
    processors: set[int] | None = None,
    tree: Path | None = None,
) -> AsyncIterator[int]:
    """Run `python ARGUMENTS` until the block ends; enter it, with its process id, once `port` accepts connections.

    Its standard error goes to `log`, else to ours; it runs on `processors`, else on ours. `tree` is another checkout,
    set up by `make setup` there, whose code and packages it runs.
    """
    child = await asyncio.create_subprocess_exec(
        interpreter(tree), *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=log, cwd=tree
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


def interpreter(tree: Path | None) -> str:
    """Return the path of the Python of another checkout, of ours for None."""
    return sys.executable if tree is None else str(tree / ".venv" / "bin" / "python")


def family(process: int) -> list[int]:
    """Return the ids of a process and of all that descend from it and run."""
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def processor_seconds(processes: Iterable[int]) -> float:
    """Return the seconds that the processes have run, user and system, all their threads, also those that ended.

    It is the sum of `utime` and `stime` in `/proc/PID/stat`, to the nanosecond: that file counts in hundredths of a
    second. Linux only.
    """
    # The clock of another process: its id's complement, then "of all threads, as scheduled" (linux/posix-timers.h).
    return sum(time.clock_gettime(~process << 3 | 2) for process in processes)


def resident_bytes(processes: Iterable[int]) -> int:
    """Return the resident memory of the processes; what they share counts in each."""
    return sum(_memory(process, "status", "VmRSS") for process in processes)


def proportional_bytes(processes: Iterable[int]) -> int:
    """Return the memory of the processes, what they share divided by how many share it."""
    return sum(_memory(process, "smaps_rollup", "Pss") for process in processes)


def _memory(process: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    [figure] = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(figure) * 1024


async def _listening(child: asyncio.subprocess.Process, port: int) -> None:
    for _ in range(_PATIENCE * 10):
        if child.returncode is not None:
            raise RuntimeError(f"the process ended with code {child.returncode}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError(f"the process does not listen after {_PATIENCE} s")
