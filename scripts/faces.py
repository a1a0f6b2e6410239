"""`make faces`: published clients of chains on `/{key}/rpc/{chain}`, each beside itself on the chain's own node.

What a client reads on the node it is to read on the gateway, errors included (tests/faces). The programs of
docs/chain-clients.md are run as they stand there. Node.js is the packaged one: no toolchain is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from devnet import known, known_names
from devnet import known_cosmos as hub
from devnet import known_solana as solana
from devnet import known_starknet as starknet
from devnet.cosmos.world import CHAINS, address, operator
from devnet.evm.world import load_world
from devnet.install import node_binary, npm
from devnet.launcher import Devnet
from scripts.clients import ROOT, Failed, create_key, run, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from devnet.local_chain import Endpoint

FOLDER = ROOT / "tests" / "faces"
PAGE = ROOT / "docs" / "chain-clients.md"
SLUGS = ("ethereum", "solana", "starknet", "cosmoshub")
# What an example of the page names, and what stands in its place here.
EXAMPLE_BASE = "://127.0.0.1:8080"
_EXAMPLE = re.compile(r"^```(js|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COUNT = re.compile(r"^# pass (\d+)$|^(\d+) passed", re.MULTILINE)
_WITHIN = 120


@dataclass(frozen=True)
class Face:
    """A published client: the package that it is, and the files of `tests/faces` that drive it."""

    package: str
    files: tuple[str, ...]


FACES = (
    Face("viem", ("evm_viem.mjs", "evm_viem_socket.mjs")),
    Face("ethers", ("evm_ethers.mjs", "evm_ethers_socket.mjs")),
    Face("web3", ("evm_web3py.py", "evm_web3py_socket.py")),
    Face("@solana/kit", ("solana_kit.mjs",)),
    Face("@solana/web3.js", ("solana_web3js.mjs",)),
    Face("starknet", ("starknet_js.mjs",)),
    Face("@cosmjs/tendermint-rpc", ("cosmos_cosmjs.mjs",)),
    Face("cosmpy", ("cosmos_cosmpy.py",)),
)


def command(file: str) -> tuple[str, ...]:
    """Return what runs a file of `tests/faces`."""
    if file.endswith(".py"):
        return (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", str(FOLDER / file))
    return (str(node_binary()), "--test-reporter=tap", "--test-force-exit", file)


def install() -> None:
    """Install the locked npm packages where they are not there yet. Raises InstallError."""
    digest = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()[:16]
    complete = FOLDER / "node_modules" / f".complete-{digest}"
    if not complete.exists():
        npm(FOLDER, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        shutil.rmtree(FOLDER / "npm-cache", ignore_errors=True)
        complete.touch()


def examples(page: str) -> list[tuple[str, str]]:
    """Return the examples of a page as pairs (language, program)."""
    return [(language, program) for language, program in _EXAMPLE.findall(page) if EXAMPLE_BASE in program]


def addresses(endpoints: Sequence[Endpoint], gateway: str) -> dict[str, dict[str, str]]:
    """Return {node, gateway}: the addresses by interface (http, ws, rest) of a chain's node and of the gateway."""
    kinds = {endpoint.kind: endpoint.url for endpoint in endpoints}
    node = {"http": next(kinds[kind] for kind in ("jsonrpc", "comet") if kind in kinds)}
    if "rest" in kinds:
        node["rest"] = kinds["rest"]
    reached = dict.fromkeys(node, gateway)
    if "jsonrpc" in kinds:
        node["ws"], reached["ws"] = (f"ws{url.removeprefix('http')}" for url in (node["http"], gateway))
    return {"node": node, "gateway": reached}


async def certain(session: aiohttp.ClientSession, rest: str) -> dict[str, dict[str, Any]]:
    """Return what is certain about the chains, in the words of the files that ask."""
    ethereum, cosmoshub = load_world()["ethereum"], CHAINS["cosmoshub"]
    sent_at = cosmoshub.first + hub.SENT_AT
    async with session.get(f"{rest}/cosmos/tx/v1beta1/txs", params={"query": f"tx.height={sent_at}"}) as response:
        sent = (await response.json())["tx_responses"][0]["txhash"]
    return {
        "ethereum": {
            "holder": known.VITALIK,
            "alice": known.ALICE,
            "untouched": known.UNTOUCHED,
            "usdc": ethereum.token("USDC").address,
            "weth": ethereum.wrapped_native.address,
            "prober": known.PROBER,
            "developer": known.DEVELOPER,
            "first": ethereum.height,
            "crowded": ethereum.height + known.CROWDED_AT,
            "crowd": known.CROWD,
            "names": known_names.ADDRESSES,
        },
        "solana": {
            "alice": str(solana.ALICE),
            "untouched": str(solana.UNTOUCHED),
            "usdc": str(solana.USDC),
            "tokenProgram": str(solana.TOKEN_PROGRAM),
            "versioned": solana.VERSIONED,
            "versionedSlot": solana.VERSIONED_SLOT,
            "failed": solana.FAILED,
            "skipped": solana.SKIPPED[0],
        },
        "starknet": {
            "strk": starknet.STRK,
            "alice": starknet.ALICE,
            "bob": starknet.BOB,
            "crowded": starknet.CROWDED_BLOCK,
            "height": starknet.HEIGHT,
        },
        "cosmoshub": {
            "first": cosmoshub.first,
            "sentAt": sent_at,
            "failedAt": cosmoshub.first + hub.FAILED_AT,
            "hash": sent,
            "denom": cosmoshub.denom,
            "ibc": hub.IBC_DENOM,
            "alice": address(cosmoshub, hub.ALICE),
            "bob": address(cosmoshub, hub.BOB),
            "nobody": address(cosmoshub, hub.UNTOUCHED),
            "validator": operator(cosmoshub, 1),
        },
    }


@asynccontextmanager
async def chains() -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Run the nodes and the gateway; yields its base address and the environment of the clients.

    The nodes make no blocks by themselves: what both sides answer is about the same one.
    """
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "waypost.toml"
        async with Devnet.start(SLUGS, print, mines=False, full=True) as devnet:
            devnet.write_config(config)
            async with served(config) as (base, _), aiohttp.ClientSession() as session:
                faces = {slug: addresses(devnet.kinds[slug], f"{base}/local/rpc/{slug}") for slug in SLUGS}
                facts = await certain(session, faces["cosmoshub"]["node"]["rest"])
                keys = {"tight": await create_key(config, "tight", "1"), "wrong": "no-such-key"}
                given = orjson.dumps({"base": base, "keys": keys, "chains": faces, "known": facts}).decode()
                yield base, {**os.environ, "WAYPOST_FACES": given, "PYTHONPATH": str(ROOT)}


async def try_out(face: Face, environ: Mapping[str, str]) -> str | None:
    """Drive one client, a line; return what it printed where it failed, else None."""
    began, passed = time.monotonic(), 0
    try:
        for file in face.files:
            async with asyncio.timeout(_WITHIN):
                output = await run(command(file), FOLDER, environ)
            counted = _COUNT.search(output)
            if counted is None or not (count := int(counted[1] or counted[2])):
                raise Failed(f"{file} compared nothing\n{output}")
            passed += count
    except (Failed, TimeoutError) as failure:
        print(f"{face.package:<24} failed", flush=True)
        return str(failure) or f"{file} was not done within {_WITHIN} s"
    print(f"{face.package:<24} {passed:3} passed {time.monotonic() - began:6.1f} s", flush=True)
    return None


async def try_examples(base: str, environ: Mapping[str, str]) -> str | None:
    """Run the page's examples; return what the failing one printed, else None."""
    began, programs = time.monotonic(), examples(PAGE.read_text())
    for language, program in programs:
        text = program.replace(EXAMPLE_BASE, base.removeprefix("http"))
        command = (
            (str(node_binary()), "--input-type=module", "-e", text)
            if language == "js"
            else (sys.executable, "-c", text)
        )
        try:
            async with asyncio.timeout(_WITHIN):
                if not (await run(command, FOLDER, environ)).strip():
                    raise Failed("it printed nothing")
        except (Failed, TimeoutError) as failure:
            print(f"{'examples':<24} failed", flush=True)
            return f"{program}\n{failure}"
    print(f"{'examples':<24} {len(programs):3} passed {time.monotonic() - began:6.1f} s", flush=True)
    return None


async def main(names: Sequence[str]) -> int:
    """Drive the named clients, all of them and the page's examples without names; return the exit status."""
    await asyncio.to_thread(install)
    async with chains() as (base, environ):
        outcomes = {face.package: await try_out(face, environ) for face in FACES if not names or face.package in names}
        if not names:
            outcomes["examples"] = await try_examples(base, environ)
    failed = {name: output for name, output in outcomes.items() if output is not None}
    for name, output in failed.items():
        print(f"\n--- {name}\n{output}")
    print(f"faces: {len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m scripts.faces")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(face.package for face in FACES)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {face.package for face in FACES}:
        parser.error(f"no client is called {' or '.join(sorted(unknown))}")
    sys.exit(asyncio.run(main(arguments.names)))
