"""Where the processes of a benchmark run; each time from a process of its own, which stays where it was put."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

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


pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system places processes itself")


def test_what_is_measured_shares_its_processor_with_nothing_that_measures() -> None:
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        assert places() == {"apart": None, "here": [first], "measured": [first], "beside": [first]}
        return
    assert places() == {"apart": [first], "here": others, "measured": [first], "beside": others}


def test_of_one_processor_everything_has_its_part() -> None:
    only = max(os.sched_getaffinity(0))
    reported = places(f"import os; os.sched_setaffinity(0, {{{only}}});")
    assert reported == {"apart": None, "here": [only], "measured": [only], "beside": [only]}


def test_where_processors_cannot_be_chosen_nothing_is_set() -> None:
    everywhere = sorted(os.sched_getaffinity(0))
    reported = places("import os; del os.sched_setaffinity;")
    assert reported == {"apart": None, "here": everywhere, "measured": everywhere, "beside": everywhere}
