"""`waypost devnet`: the local chain nodes without a gateway."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.local_chains import run_local_chains
from cli.options import add_full
from cli.process import run_process
from runtime.settings import LogSettings

if TYPE_CHECKING:
    import argparse

    from cli.stopping import Stop


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost devnet`."""
    add_full(parser)
    parser.add_argument("--chains", metavar="SLUG,...", help="only these chains (default: all that run locally)")
    parser.add_argument(
        "--write-config", metavar="FILE", type=Path, help="write a configuration file for a gateway on these nodes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the nodes until a signal."""
    return run_process(lambda stop: _run(arguments, stop), LogSettings())


async def _run(arguments: argparse.Namespace, stop: Stop) -> int:
    chains = arguments.chains.split(",") if arguments.chains else None
    async with run_local_chains(stop, chains, full=arguments.full) as devnet:
        if devnet is None:
            return 0
        for slug, url in devnet.endpoints.items():
            print(f"  {slug:<12} {url}")
        if arguments.write_config is not None:
            devnet.write_config(arguments.write_config)
            print(f"configuration written to {arguments.write_config}")
        print("Ctrl-C ends the nodes.", flush=True)
        await stop.requested.wait()
    return 0
