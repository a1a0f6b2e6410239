"""Nodes of other vendors, from npm at pinned versions: ganache and hardhat."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from devnet.install import cache_folder
from devnet.ports import free_port
from tests.server.chains.evm.nodes import Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HERE = Path(__file__).parent
_FILES = ("package.json", "package-lock.json", ".npmrc")
_CONFIG = "module.exports = { networks: { hardhat: { chainId: 1 } } };\n"
_COMMANDS = {
    "ganache": ("ganache/dist/node/cli.js", "--chain.chainId", "1", "--server.host", "127.0.0.1", "--server.port"),
    "hardhat": ("hardhat/internal/cli/bootstrap.js", "node", "--hostname", "127.0.0.1", "--port"),
}


def installed() -> Path:
    """Return the folder that holds `node_modules/`, filling it first when needed (20 seconds, once)."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    folder = cache_folder("vendors", digest)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").is_file():
            for name in _FILES:
                shutil.copy2(HERE / name, folder / name)
            (folder / "hardhat.config.js").write_text(_CONFIG)
            npm = [str(Path(sys.prefix, "bin", "npm")), "ci", "--ignore-scripts", "--loglevel=error"]
            environment = os.environ | {"npm_config_cache": str(folder / "npm-cache"), "npm_config_logs_max": "0"}
            subprocess.run(npm, cwd=folder, env=environment, check=True, capture_output=True, timeout=180)
            shutil.rmtree(folder / "npm-cache", ignore_errors=True)
            (folder / "complete").touch()
    return folder


@asynccontextmanager
async def run_vendor(name: str, session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """Run one node with chain id 1 for the length of the context; it is asked like anvil."""
    folder = await asyncio.to_thread(installed)
    port = free_port()
    script, *options = _COMMANDS[name]
    process = subprocess.Popen(  # noqa: ASYNC220 - takes milliseconds, and outlives the loop's own child handling
        [str(Path(sys.prefix, "bin", "node")), str(folder / "node_modules" / script), *options, str(port)],
        cwd=folder,
        env=os.environ | {"HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "DO_NOT_TRACK": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    node = Anvil(f"http://127.0.0.1:{port}", process, session)
    try:
        for _ in range(600):
            with contextlib.suppress(aiohttp.ClientError):
                await node.call("eth_chainId")
                break
            await asyncio.sleep(0.05)
        yield node
    finally:
        # The wheel's `node` starts the real one as a child: both are of one process group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
