"""`make bench`: what requests cost the gateway, beside bare echoes and the bare node, all measured in one run.

Without options every row is measured, then what is promised as ratios (`bench/ratios.py`). A goal that a row misses is
printed and no more, since goals hold for a quiet machine; a promise that is broken, or a request that fails, makes the
exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from bench import growth, ratios, rows, streams
from bench.native import OLD_BLOCK
from bench.processes import set_processor_apart
from bench.results import Result, Run, commit_of, describe_machine
from bench.world import open_world

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from bench.world import World

PROMISES = "promises"
FAILED = "failed"
"""How the remark of a row begins of which a request failed."""
_OTHERS: dict[str, Callable[[World], Awaitable[Result]]] = {
    "lone": rows.measure_lone,
    "poisson": rows.measure_poisson,
    "memory": growth.measure_memory,
    "connections": growth.measure_connections,
    "kept": growth.measure_kept,
    "workers": growth.measure_workers,
    "pushed": streams.measure_pushed,
    "polled": streams.measure_polled,
    "subscribers": streams.measure_subscribers,
    "native": streams.measure_native_balance,
}
_PLAIN = tuple(row.name for row in rows.rows(OLD_BLOCK, is_native=True))
ROWS = (*_PLAIN, *_OTHERS)
"""The names of all rows, in the order in which they are measured."""


async def measure_rows(
    names: Collection[str], tree: Path | None, apart: set[int] | None, run: Run, path: Path | None
) -> None:
    """Measure the rows of these names, add them to the run, and write it after each."""
    async with open_world(tree, apart) as world:
        plain = {row.name: row for row in rows.rows(world.old_block, is_native=world.is_native)}
        run.machine["node and load generator"] = "Go" if world.is_native else "Python, as dear as what is measured"
        began = time.monotonic()
        for name in ROWS:
            if name not in names:
                continue
            try:
                found = await (_OTHERS[name](world) if name in _OTHERS else rows.measure(world, plain[name]))
            except (AssertionError, OSError, RuntimeError) as error:
                found = Result(name, plain[name].title if name in plain else name, remark=f"{FAILED}: {error!r}")
            run.results.append(found)
            run.results.sort(key=lambda result: ROWS.index(result.name))
            if path is not None:
                run.write(path)
            print(f"\n  [{time.monotonic() - began:.0f} s] {name}: " + "\n  ".join(found.lines()), flush=True)


async def main(arguments: argparse.Namespace) -> int:
    """Measure what is wanted; return 1 when a promise is broken or a row failed."""
    apart = set_processor_apart()
    names = [name for name in ROWS if not arguments.only or name in arguments.only or "rows" in arguments.only]
    run = Run(commit_of(arguments.tree), time.strftime("%Y-%m-%d", time.gmtime()), describe_machine(), [])
    if arguments.json is not None and arguments.json.exists():
        run.keep(Run.read(arguments.json), set(names))
    if names:
        await measure_rows(names, arguments.tree, apart, run, arguments.json)
    failed = [result.name for result in run.results if result.remark.startswith(FAILED)]
    if failed:
        print(f"\n  failed: {', '.join(failed)}", flush=True)
    if arguments.only and PROMISES not in arguments.only:
        return 1 if failed else 0
    print("\n  promises", flush=True)
    return 0 if await ratios.measure(apart) and not failed else 1


def parse() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.partition("\n")[0])
    names = (*ROWS, "rows", PROMISES)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, help=f"some of: {', '.join(names)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, beside others of that commit")
    parser.add_argument(
        "--tree", type=Path, metavar="PATH", help="measure the gateway of another checkout (`make setup`)"
    )
    arguments = parser.parse_args()
    if arguments.tree is not None:
        arguments.tree = arguments.tree.resolve()
        if arguments.only is None:
            arguments.only = ["rows"]
        if PROMISES in arguments.only:
            parser.error("promises are measured of this checkout alone")
    return arguments


if __name__ == "__main__":
    sys.exit(uvloop.run(main(parse())))
