"""A gateway that is measured: its own process, configuration, database and key, of this checkout or of another one."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from bench.processes import family, interpreter, python
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
"""This checkout."""

_UNITS = 1_000_000
"""Units a second, and at once, of the key: it is counted as any other, and never refused."""


@dataclass(frozen=True)
class Gateway:
    """A running gateway; `key` is an API key with a quota of its own, empty where none was made."""

    pid: int
    port: int
    grpc_port: int
    key: str

    @property
    def url(self) -> str:
        """Where it takes JSON-RPC."""
        return f"http://127.0.0.1:{self.port}/{self.key}/v1"

    @property
    def grpc_url(self) -> str:
        """Where it takes gRPC."""
        return f"http://127.0.0.1:{self.grpc_port}"

    def processes(self) -> list[int]:
        """Return the ids of its processes."""
        return family(self.pid)


@asynccontextmanager
async def serve(
    endpoints: Mapping[str, str],
    processors: set[int] | None,
    tree: Path | None = None,
    *,
    settings: str = "",
    workers: int = 1,
) -> AsyncIterator[Gateway]:
    """Serve these chains, an endpoint each, on the devnet profile, as invented data asks for.

    `settings` are further tables of the configuration.
    """
    chains = "".join(
        f'[chains.{slug}]\nendpoints = [{{ label = "node", url = "{url}" }}]\n' for slug, url in endpoints.items()
    )
    async with _run("devnet", f"{settings}\n{chains}", processors, tree, workers) as gateway:
        yield gateway


@asynccontextmanager
async def serve_mainnet(processors: set[int] | None, tree: Path | None = None) -> AsyncIterator[Gateway]:
    """Serve mainnet's chains and sources as they are by default, all behind a proxy that is not there.

    So everything is loaded and nothing is asked.
    """
    nowhere = f'[outbound]\nproxy = "http://127.0.0.1:{free_port()}"\n'
    async with _run("mainnet", nowhere, processors, tree, 1) as gateway:
        yield gateway


@asynccontextmanager
async def _run(
    profile: str, settings: str, processors: set[int] | None, tree: Path | None, workers: int
) -> AsyncIterator[Gateway]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port, grpc_port, config = free_port(), free_port(), folder / "waypost.toml"
        config.write_text(
            f'profile = "{profile}"\nworkers = {workers}\n[http]\nport = {port}\n[grpc]\nport = {grpc_port}\n'
            f'[storage]\nurl = "sqlite:///{folder}/waypost.db"\n{settings}'
        )
        key = await _create_key(config, profile, tree)
        log = stack.enter_context((folder / "waypost.log").open("wb"))
        command = ("-m", "cli", "serve", "--config", str(config), "--network", profile)
        child = python(*command, port=port, log=log, processors=processors, tree=tree)
        yield Gateway(await stack.enter_async_context(child), port, grpc_port, key)


async def _create_key(config: Path, profile: str, tree: Path | None) -> str:
    """Return a new key in the database of a configuration."""
    quota = ("--rate", str(_UNITS), "--burst", str(_UNITS), "--json")
    command = ("-m", "cli", "keys", "create", "bench", *quota, "--config", str(config), "--network", profile)
    child = await asyncio.create_subprocess_exec(
        interpreter(tree), *command, cwd=tree, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"no key was made: {errors.decode().strip()}")
    return str(orjson.loads(output)["key"])
