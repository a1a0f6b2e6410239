"""Creation code of the devnet's contracts: originals out of npm packages, stand-ins compiled from devnet/contracts."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from devnet.archives import fetch_archive
from devnet.install import HERE, STATE, InstallError, cache_folder, exclusive, installed, write_whole

CONTRACTS = HERE / "contracts"

# Contracts of other projects, as published: name -> file below the installed packages.
_ORIGINALS = {
    "weth9": "node_modules/canonical-weth/build/contracts/WETH9.json",
    "erc20": "node_modules/@openzeppelin/contracts/build/contracts/ERC20PresetMinterPauser.json",
    "erc721": "node_modules/@openzeppelin/contracts/build/contracts/ERC721PresetMinterPauserAutoId.json",
    "erc1155": "node_modules/@openzeppelin/contracts/build/contracts/ERC1155PresetMinterPauser.json",
    "proxy": "node_modules/@openzeppelin/contracts/build/contracts/ERC1967Proxy.json",
    "safe": "safe/Safe.json",
    "safe_proxy": "safe/SafeProxy.json",
    "old_safe": "old_safe/GnosisSafe.json",
    "old_safe_proxy": "old_safe/GnosisSafeProxy.json",
    "ens_registry": "ens/ENSRegistry.json",
    "ens_reverse": "ens/ReverseRegistrar.json",
    "ens_resolver": "ens_resolver/PublicResolver.json",
    "feed_proxy": "chainlink/EACAggregatorProxy__factory.js",
    "feed_aggregator": "chainlink/MockV3Aggregator__factory.js",
}
_MULTICALL = "viem/contracts.js"

# Contracts of a few instructions, as runtime code. Gas burner: JUMPDEST PUSH0 JUMP. Bombers: PUSH3 1000000 PUSH0 REVERT
# or RETURN. Silent: STOP.
RUNTIMES = {
    "gas_burner": bytes.fromhex("5b5f56"),
    "revert_bomber": bytes.fromhex("620f42405ffd"),
    "return_bomber": bytes.fromhex("620f42405ff3"),
    "silent": bytes.fromhex("00"),
}

_NUMBER, _GASLIMIT = 0x43, 0x45
_PUSH1, _PUSH32 = 0x60, 0x7F


@cache
def original(name: str) -> bytes:
    """Return the creation code of a contract out of a package. Raises KeyError for an unknown name."""
    path = installed() / _ORIGINALS[name]
    if path.suffix == ".json":
        return bytes.fromhex(json.loads(path.read_text())["bytecode"].removeprefix("0x"))
    found = re.search(r'bytecode = "0x([0-9a-f]+)"', path.read_text())
    if found is None:
        raise InstallError(f"the pinned package holds no bytecode of {path.stem}")
    return bytes.fromhex(found[1])


def linked(archive: str, contract: str, libraries: Mapping[str, str] | None = None) -> bytes:
    """Return the creation code of a contract out of a protocol's archive, its libraries' addresses filled in.

    `contract` is the name of its JSON file, as Hardhat, Truffle or Foundry write them; `libraries` are {name: address}.
    Raises KeyError when a library is missing.
    """
    code, references = _artifact(archive, contract)
    filled = bytearray.fromhex(re.sub(r"__.{36}__", "0" * 40, code.removeprefix("0x")))
    for names in references.values():
        for name, places in names.items():
            address = bytes.fromhex((libraries or {})[name][2:])
            for place in places:
                filled[place["start"] : place["start"] + place["length"]] = address
    return bytes(filled)


@cache
def _artifact(archive: str, contract: str) -> tuple[str, dict[str, Any]]:
    """Return the creation code of an artifact, with gaps, and where its libraries go by file and name."""
    [path] = fetch_archive(archive).rglob(f"{contract}.json")
    artifact = json.loads(path.read_text())
    code = artifact["bytecode"]
    if isinstance(code, dict):  # Foundry's
        return code["object"], code.get("linkReferences", {})
    return code, artifact.get("linkReferences", {})


@cache
def multicall3() -> bytes:
    """Return the creation code of Multicall3."""
    found = re.search(r"exports\.multicall3Bytecode = '0x([0-9a-f]+)'", (installed() / _MULTICALL).read_text())
    if found is None:
        raise InstallError("the pinned package holds no Multicall3 bytecode")
    return bytes.fromhex(found[1])


def with_parent_number(runtime: bytes) -> bytes:
    """Return runtime code in which NUMBER became GASLIMIT, outside of push data.

    A node cannot show contracts another block number than it reports. Nitro does: contracts see the number of a block
    of the parent chain. So on such a chain Multicall3 reads the block's gas limit in place of its number, and the node
    runs with the parent's block number as gas limit.
    """
    code = bytearray(runtime)
    at = 0
    while at < len(code):
        if code[at] == _NUMBER:
            code[at] = _GASLIMIT
        at += code[at] - _PUSH1 + 2 if _PUSH1 <= code[at] <= _PUSH32 else 1
    return bytes(code)


@cache
def stand_ins() -> dict[str, bytes]:
    """Return the creation code of every contract of devnet/contracts by file name, compiled once per content."""
    sources = sorted(CONTRACTS.glob("*.vy"))
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()[:16]
    cached = cache_folder("contracts", digest) / "creation.json"
    if not cached.is_file():
        with exclusive(STATE / "contracts.lock"):
            if not cached.is_file():
                write_whole(cached, json.dumps(_compile(sources)))
    return {name: bytes.fromhex(code) for name, code in json.loads(cached.read_text()).items()}


def _compile(sources: list[Path]) -> dict[str, str]:
    """Return creation code by contract name, compiled in as many processes as there are processors.

    Raises InstallError.
    """
    count = min(os.cpu_count() or 1, len(sources))
    by_size = sorted(sources, key=lambda path: path.stat().st_size, reverse=True)
    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(_compile_beside, (by_size[start::count] for start in range(count))))
    return {path.stem: part[path.stem] for path in sources for part in parts if path.stem in part}


def _compile_beside(sources: list[Path]) -> dict[str, str]:
    """Return what `_compile_here` does, out of a process of its own: the compiler is a Python package."""
    command = [sys.executable, "-m", "devnet.evm.artifacts", *(path.name for path in sources)]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise InstallError(f"the contracts of {CONTRACTS.relative_to(HERE.parent)} do not compile: {last[0]}")
    compiled: dict[str, str] = json.loads(done.stdout)
    return compiled


def _compile_here(sources: list[Path]) -> dict[str, str]:
    from vyper.compiler import compile_code
    from vyper.compiler.input_bundle import FilesystemInputBundle

    bundle = FilesystemInputBundle([CONTRACTS])
    compiled = {}
    for path in sources:
        output = compile_code(
            path.read_text(), contract_path=str(path), input_bundle=bundle, output_formats=["bytecode"]
        )
        compiled[path.stem] = output["bytecode"].removeprefix("0x")
    return compiled


if __name__ == "__main__":
    print(json.dumps(_compile_here([CONTRACTS / name for name in sys.argv[1:]])))
