"""`python -m devnet`: run the nodes until Ctrl-C. `python -m devnet status`: show what runs."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devnet.install import InstallError
from devnet.launcher import Devnet
from devnet.local_chain import NodeError
from devnet.status import describe, describe_running


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m devnet", description=__doc__)
    parser.add_argument("command", nargs="?", choices=("run", "status"), default="run")
    parser.add_argument("--chains", metavar="SLUG,SLUG", help="the chains to run (default: all)")
    parser.add_argument("--full", action="store_true", help="also the chains that are a large download (Starknet)")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="write a gateway configuration for these nodes there"
    )
    arguments = parser.parse_args(argv)
    if arguments.command == "status":
        print(asyncio.run(describe_running()))
        return 0
    chains = arguments.chains.split(",") if arguments.chains else None
    try:
        asyncio.run(run_alone(chains, arguments.config, full=arguments.full))
    except (InstallError, NodeError, ValueError) as error:
        print(f"devnet: {error}", file=sys.stderr)
        return 1
    return 0


async def run_alone(chains: Sequence[str] | None, config: Path | None, *, full: bool = False) -> None:
    """Run the nodes of these chains (all for None) until SIGINT or SIGTERM, with a table on the terminal."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with Devnet.start(chains, lambda line: print(line, flush=True), full=full) as devnet:
        print(await describe(devnet.summary(), devnet.sources(), devnet.left_out), flush=True)
        if config is not None:
            devnet.write_config(config)
            print(f"\nconfiguration for a gateway: {config}", flush=True)
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())
