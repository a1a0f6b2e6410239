"""`waypost devnet`: the local chain nodes without a gateway."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cli.options import add_full
from cli.process import Failed, run_process
from runtime.settings import LogSettings

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable

    from cli.process import Stop
    from devnet.launcher import Devnet


@asynccontextmanager
async def run_local_chains(
    stop: Stop, chains: Iterable[str] | None = None, *, full: bool = False
) -> AsyncIterator[Devnet | None]:
    """Run the local nodes (all by default) and show the progress; None when a stop was asked for before they were up.

    With `full` "all" are those too that are a large download. Raises Failed.
    """
    # Here: everything else does without the devnet.
    try:
        from devnet.install import InstallError
        from devnet.launcher import Devnet
        from devnet.local_chain import NodeError
    except ModuleNotFoundError:
        raise Failed(
            "this installation has no local chains: install `waypost-gateway[devnet]`, the extra that brings them"
        ) from None
    context = Devnet.start(chains, progress=lambda line: print(line, flush=True), full=full)
    try:
        devnet = await stop.wait_for(context.__aenter__())
    except (InstallError, NodeError, ValueError) as error:
        raise Failed(str(error)) from error
    if devnet is None:
        yield None
        return
    try:
        yield devnet
    finally:
        await context.__aexit__(None, None, None)


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
