"""`make clients`: generate, build and test the clients of every language whose toolchain is here, on local chains.

Each client is tried on the same things by its own tests (clients/README.md), which read from the environment where the
gateway is and what it should answer. A toolchain that is missing is named; one that is here and fails is a failure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = ROOT / "clients"
BUF = Path(sys.executable).with_name("buf")
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
# A window of the local Ethereum chain's made-up history, which is the same on every start.
WINDOW = range(26_050_000, 26_050_021)
READY_SECONDS = 600
# What the examples print, for each of the reads that they batch.
_BALANCE = re.compile(r"^\w+ +0x[0-9a-f]{40} [0-9.]+ [A-Z]+$", re.MULTILINE)
_BATCHED = 50


@dataclass(frozen=True)
class Language:
    """A client: what its toolchain is called on the PATH, and the commands, in `folder`, that make and try it."""

    name: str
    tools: tuple[str, ...]
    generate: tuple[tuple[str, ...], ...]
    build: tuple[tuple[str, ...], ...]
    test: tuple[tuple[str, ...], ...]
    example: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where the client lies."""
        return CLIENTS / self.name

    def missing(self) -> list[str]:
        """Return the tools that are not here."""
        return [tool for tool in self.tools if shutil.which(tool) is None]


LANGUAGES = (
    Language(
        name="python",
        tools=(),
        generate=((sys.executable, "-m", "scripts.python_client", "--check"),),
        build=(("sh", "-c", f"cd {ROOT} && {sys.executable} -m mypy clients/python/waypost examples"),),
        test=(
            (
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                str(ROOT / "tests/clients/python/scenario.py"),
            ),
        ),
        example=("sh", "-c", f'{sys.executable} {ROOT}/examples/batch_of_reads.py "$WAYPOST_GRPC" "$WAYPOST_KEY"'),
    ),
    Language(
        name="go",
        tools=("go",),
        # Committed, unlike the others': Go modules are fetched from the repository.
        generate=((str(BUF), "generate"), ("git", "diff", "--exit-code", "--stat", "--", "waypost")),
        build=(("go", "vet", "./..."),),
        test=(("go", "test", "-count=1", "./..."),),
        example=("go", "run", "./examples/batch"),
    ),
    Language(
        name="typescript",
        tools=("node", "npm"),
        generate=(
            ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
            (str(BUF), "generate"),
            ("sh", "-c", f"{sys.executable} -m scripts.openrpc_document | node scripts/generate.mjs"),
        ),
        build=(("npm", "run", "--silent", "build"),),
        test=(("npm", "run", "--silent", "test"),),
        example=("node", "dist/examples/batch.js"),
    ),
    Language(
        name="rust",
        tools=("cargo",),
        generate=(("sh", "generate.sh", str(BUF)),),
        build=(("cargo", "build", "--locked", "--quiet", "--all-targets"),),
        test=(("cargo", "test", "--locked", "--quiet"),),
        example=("cargo", "run", "--locked", "--quiet", "--example", "batch"),
    ),
    Language(
        name="java",
        tools=("java", "mvn"),
        generate=(("sh", "generate.sh", str(BUF)),),
        build=(("mvn", "--quiet", "--batch-mode", "test-compile"),),
        test=(("mvn", "--quiet", "--batch-mode", "verify"),),
        example=("mvn", "--quiet", "--batch-mode", "exec:java"),
    ),
)


class Failed(Exception):
    """A command failed; the text is what it printed."""


async def run(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str:
    """Return what a command prints; raises Failed where it fails."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = (await process.communicate())[0].decode(errors="replace")
    if process.returncode:
        raise Failed(f"{' '.join(command)} ended with {process.returncode}\n{output}")
    return output


async def try_out(language: Language, environ: Mapping[str, str], expected: Mapping[str, str]) -> str | None:
    """Generate, build and try one client, a line each; return what the failing step printed, else None."""
    steps = (
        ("generate", language.generate, environ),
        ("build", language.build, environ),
        ("test", language.test, {**environ, **expected}),
        ("example", (language.example,), {**environ, **expected}),
    )
    for name, commands, environment in steps:
        began = time.monotonic()
        try:
            for command in commands:
                output = await run(command, language.folder, environment)
            if name == "example" and len(_BALANCE.findall(output)) != _BATCHED:
                raise Failed(f"the example did not print {_BATCHED} balances\n{output}")
        except Failed as failure:
            print(f"{language.name:<11} {name:<8} failed", flush=True)
            return str(failure)
        print(f"{language.name:<11} {name:<8} {time.monotonic() - began:6.1f} s", flush=True)
    return None


@asynccontextmanager
async def gateway() -> AsyncIterator[dict[str, str]]:
    """Serve the local chains on free ports; yields the environment that states what a client's tests are to expect."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "waypost.toml"
        async with served(config) as (base, grpc):
            tight = await create_key(config, "tight", "1")
            async with aiohttp.ClientSession() as session:
                expected = await expectations(session, f"{base}/local/v1")
            yield {
                "WAYPOST_GRPC": grpc,
                "WAYPOST_HTTP": base,
                "WAYPOST_KEY": "local",
                "WAYPOST_TIGHT_KEY": tight,
                **expected,
            }


async def create_key(config: Path, name: str, rate: str) -> str:
    """Return a new key of the gateway with this configuration, for so many units a second and at once."""
    creating = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "cli", "keys", "create", name, "--rate", rate, "--burst", rate, "--json"),
        *("--config", str(config), "--network", "devnet"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    made, _ = await creating.communicate()
    return str(orjson.loads(made)["key"])


@asynccontextmanager
async def served(config: Path) -> AsyncIterator[tuple[str, str]]:
    """Serve local chains on free ports: those that the file names, all of them where there is no file yet.

    The file is given the ports, and the database a place beside it. Yields the HTTP base address and the gRPC target.
    """
    http, grpc = free_port(), free_port()
    with config.open("a") as file:
        file.write(
            f'\n[http]\nport = {http}\nhost = "127.0.0.1"\n[grpc]\nport = {grpc}\nhost = "127.0.0.1"\n'
            f'[storage]\nurl = "sqlite:///{config.parent}/waypost.db"\n'
        )
    async with AsyncExitStack() as stack:
        log = stack.enter_context((config.parent / "log").open("w+b"))
        serving = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "cli", "serve", "--config", str(config), "--network", "devnet"),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        stack.push_async_callback(_end, serving)
        assert serving.stdout is not None
        async with asyncio.timeout(READY_SECONDS):
            while line := (await serving.stdout.readline()).decode():
                if line.startswith("Waypost is serving"):
                    break
            else:
                log.seek(0)
                raise RuntimeError(f"the gateway did not start\n{log.read().decode(errors='replace')}")
        yield f"http://127.0.0.1:{http}", f"127.0.0.1:{grpc}"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    await process.wait()


async def expectations(session: aiohttp.ClientSession, url: str) -> dict[str, str]:
    """Return what clients should be answered, as the JSON-RPC face answers it."""

    async def ask(method: str, params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with session.post(url, json=request) as response:
            answer = await response.json()
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]["data"]

    balance = await ask("getBalance", {"chain": "ethereum", "address": HOLDER})
    logs = await ask("getLogs", {"chain": "ethereum", "fromBlock": WINDOW[0], "toBlock": WINDOW[-1], "address": USDC})
    if logs["hasMore"] or logs["count"] < 3:
        raise RuntimeError(f"{logs['count']} logs are no example of paging")
    return {
        "WAYPOST_HOLDER": HOLDER,
        "WAYPOST_BALANCE": balance["balanceRaw"],
        "WAYPOST_LOGS_ADDRESS": USDC,
        "WAYPOST_LOGS_FROM": str(WINDOW[0]),
        "WAYPOST_LOGS_TO": str(WINDOW[-1]),
        "WAYPOST_LOGS_COUNT": str(logs["count"]),
    }


async def main(names: Sequence[str], *, complete: bool) -> int:
    """Make and try the named clients, all without names; return the exit status.

    A toolchain that is not here is named, and `complete` makes it a failure.
    """
    chosen = [language for language in LANGUAGES if not names or language.name in names]
    here = [language for language in chosen if not language.missing()]
    for language in chosen:
        if missing := language.missing():
            print(f"{language.name:<11} left out: no {' and no '.join(missing)} on the PATH", flush=True)
    async with gateway() as expected:
        outcomes = {language.name: await try_out(language, os.environ, expected) for language in here}
    failed = {name: output for name, output in outcomes.items() if output is not None}
    for name, output in failed.items():
        print(f"\n--- {name}\n{output}")
    tried = len(here)
    print(f"clients: {tried - len(failed)} passed, {len(failed)} failed, {len(chosen) - tried} left out")
    return 1 if failed or (complete and len(here) < len(chosen)) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m scripts.clients")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(language.name for language in LANGUAGES)}")
    parser.add_argument("--complete", action="store_true", help="a toolchain that is not here is a failure")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {language.name for language in LANGUAGES}:
        parser.error(f"no client is called {' or '.join(sorted(unknown))}")
    sys.exit(asyncio.run(main(arguments.names, complete=arguments.complete)))
