"""A process with callers who ask for more than their quotas: what is admitted goes to a file, a record each.

Run as `python -m tests.faults.quota_caller FILE CALLERS (--redis=URL | --ledger=DESCRIPTOR)`; as a worker of a parent
it writes what one does. `--parent=N` instead is such a parent, of N workers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns

from cli.process import run_loop
from server.access.admission import Policy, Principal
from server.access.leased_quotas import LeasedQuotas
from server.access.ledger import LedgerSource
from server.access.quotas import Grant
from server.access.redis_source import open_redis_source

RECORD = struct.Struct("<qqii")
"""Nanoseconds of the machine's monotonic clock before and after a charge, the caller's kind, whether it waited."""

PRINCIPALS = (
    Principal("key:1", Policy("key", 400, 200)),
    Principal("key:2", Policy("key", 40, 20)),
    Principal("demo:192.0.2.1", Policy("demo", 1, 1)),
)
HOT, EXACT, DEMO = range(3)
# Of ten callers.
SHARES = (HOT, HOT, HOT, HOT, HOT, HOT, HOT, EXACT, EXACT, DEMO)
PAUSE = 0.04
# Nothing that a test leaves behind lives longer, in seconds.
LONGEST = 120.0


async def call(quotas: LeasedQuotas, kind: int, number: int, output: int) -> None:
    await asyncio.sleep(PAUSE * number / 10)
    while True:
        began = monotonic_ns()
        grant = quotas.charge(PRINCIPALS[kind], 1)
        waited = not isinstance(grant, Grant)
        if not isinstance(grant, Grant):
            grant = await grant
        if grant.admitted:
            os.write(output, RECORD.pack(began, monotonic_ns(), kind, waited))
        await asyncio.sleep(PAUSE)


async def ask(file: Path, callers: int, quotas: LeasedQuotas) -> None:
    await quotas.start()
    # Until those that started before know of this one.
    await asyncio.sleep(0.6)
    output = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    asking = [asyncio.create_task(call(quotas, SHARES[n % 10], n % 10, output)) for n in range(callers)]
    os.write(1, b"ready\n")
    for _ in range(round(LONGEST / 0.5)):
        # A parent that is gone does not end this one: what it goes on with is what the test counts.
        with suppress(OSError):
            os.write(1, b"alive\n")
        await asyncio.sleep(0.5)
        assert not any(one.done() for one in asking)


async def keep(file: Path, callers: int, workers: int) -> None:
    from cli.worker import Worker
    from cli.workers import Workers
    from server.access.ledger import Ledger

    ledger = Ledger(workers)
    command = [sys.executable, "-m", "tests.faults.quota_caller", str(file), str(callers)]
    all_of_them = Workers([Worker(number, command, dict(os.environ), ledger) for number in range(workers)])
    assert await all_of_them.start()
    print("ready", flush=True)
    await all_of_them.keep()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("callers", type=int)
    parser.add_argument("--redis")
    parser.add_argument("--ledger", type=int)
    parser.add_argument("--parent", type=int)
    given = parser.parse_args()
    if given.parent:
        run_loop(keep(given.file, given.callers, given.parent))
        return
    source = open_redis_source(given.redis, "tests") if given.redis else LedgerSource(given.ledger)
    run_loop(ask(given.file, given.callers, LeasedQuotas(source)))


if __name__ == "__main__":
    main()
