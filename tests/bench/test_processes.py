"""Where the processes of a benchmark run, each time from a process of its own, and what they are found to use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.processes import family, processor_seconds, proportional_bytes, resident_bytes
from devnet.ports import free_port

PLACES = """
import asyncio, json, os, sys
from bench.processes import python, set_processor_apart

async def main():
    apart = set_processor_apart()
    port = int(sys.argv[1])
    places = {"apart": apart, "here": os.sched_getaffinity(0)}
    for name, processors in (("measured", apart), ("beside", None)):
        serve = ("-m", "http.server", "--bind", "127.0.0.1", str(port))
        async with python(*serve, port=port, processors=processors) as pid:
            places[name] = os.sched_getaffinity(pid)
    print(json.dumps({name: place and sorted(place) for name, place in places.items()}))

asyncio.run(main())
"""


def places(before: str = "") -> dict[str, list[int] | None]:
    command = [sys.executable, "-c", before + PLACES, str(free_port())]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    reported: dict[str, list[int] | None] = json.loads(run.stdout)
    return reported


placed = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system places processes itself")
counted = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports what other processes use")


@placed
def test_what_is_measured_shares_its_processor_with_nothing_that_measures() -> None:
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        assert places() == {"apart": None, "here": [first], "measured": [first], "beside": [first]}
        return
    assert places() == {"apart": [first], "here": others, "measured": [first], "beside": others}


@placed
def test_of_one_processor_everything_has_its_part() -> None:
    only = max(os.sched_getaffinity(0))
    reported = places(f"import os; os.sched_setaffinity(0, {{{only}}});")
    assert reported == {"apart": None, "here": [only], "measured": [only], "beside": [only]}


@placed
def test_where_processors_cannot_be_chosen_nothing_is_set() -> None:
    everywhere = sorted(os.sched_getaffinity(0))
    reported = places("import os; del os.sched_setaffinity;")
    assert reported == {"apart": None, "here": everywhere, "measured": everywhere, "beside": everywhere}


WORK = """
import os, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

child = os.fork()
if child == 0:
    sys.stdin.readline()
    os._exit(0)
memory = bytearray(b"x" * (32 << 20))
thread = threading.Thread(target=burn, args=(0.2,))
thread.start()
thread.join()
burn(0.1)
print(child, time.process_time(), flush=True)
sys.stdin.readline()
"""


@counted
def test_what_processes_use_is_what_the_system_counts() -> None:
    command = [sys.executable, "-c", WORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child, own = process.stdout.readline().split()
        assert family(process.pid) == [process.pid, int(child)]
        # The thread that ended counts too.
        found = processor_seconds([process.pid])
        assert 0.3 <= float(own) <= found
        name, _, rest = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")
        user, system = map(int, rest.split()[11:13])
        assert found == pytest.approx((user + system) / os.sysconf("SC_CLK_TCK"), abs=0.05), name
        assert processor_seconds([process.pid, int(child)]) == pytest.approx(found, abs=0.05)
        assert 32 << 20 <= proportional_bytes([process.pid]) <= resident_bytes([process.pid])
        process.communicate("\n")
