"""The devnet's nodes for as long as a command runs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from cli.process import Failed
from devnet.install import InstallError
from devnet.launcher import Devnet
from devnet.local_chain import NodeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from cli.stopping import Stop


@asynccontextmanager
async def run_local_chains(
    stop: Stop, chains: Iterable[str] | None = None, *, full: bool = False
) -> AsyncIterator[Devnet | None]:
    """Run the local nodes (all by default) and show the progress; None when a stop was asked for before they were up.

    With `full` "all" are those too that are a large download. Raises Failed.
    """
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
