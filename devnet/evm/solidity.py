"""Creation code of contracts published as sources: compiled by npm's solc, once per content (solidity.toml)."""

import hashlib
import json
import posixpath
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from devnet.archives import archive_table, fetch_archive
from devnet.install import STATE, InstallError, exclusive, node_binary, write_whole

UNITS = Path(__file__).with_name("solidity.toml")

_COMPILE = Path(__file__).with_name("solc.js")
_IMPORT = re.compile(r"""^\s*import\s+(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']""", re.MULTILINE)
_WITHIN = 300
_RUNS = 200
_NO_LIBRARIES: Mapping[str, Path] = {}


@cache
def unit_table() -> dict[str, dict[str, Any]]:
    """Return the rows of solidity.toml by name."""
    return tomllib.loads(UNITS.read_text(encoding="utf-8"))


def is_compiled(unit: str) -> bool:
    """Return whether the contracts of a row are compiled. Raises KeyError for an unknown row."""
    return _creation_file(unit).is_file()


def compiled(unit: str) -> dict[str, bytes]:
    """Return creation code by contract name, fetching and compiling the sources first when needed. Raises InstallError.

    Safe to call from several processes at once: one compiles, the others wait for it.
    """
    path = _creation_file(unit)
    if not path.is_file():
        with exclusive(STATE / "solidity" / f"{unit}.lock"):
            if not path.is_file():
                code = _compile(unit)
                shutil.rmtree(path.parent.parent, ignore_errors=True)  # other contents too
                path.parent.mkdir(parents=True)
                write_whole(path, json.dumps(code))
    return {name: bytes.fromhex(code) for name, code in json.loads(path.read_text()).items()}


def _creation_file(unit: str) -> Path:
    row = unit_table()[unit]
    made_from = [row, archive_table()[row["compiler"]], archive_table()[row["sources"]], _RUNS, _COMPILE.read_text()]
    made_from += [archive_table()[archive] for archive in row.get("libraries", {}).values()]
    digest = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:16]
    return STATE / "solidity" / unit / digest / "creation.json"


def _compile(unit: str) -> dict[str, str]:
    row = unit_table()[unit]
    compiler = fetch_archive(row["compiler"]) / "soljson.js"
    libraries = {prefix: fetch_archive(archive) for prefix, archive in row.get("libraries", {}).items()}
    sources = _sources(fetch_archive(row["sources"]), row["files"], libraries)
    wanted = {file: {"*": ["evm.bytecode.object"]} for file in row["files"]}
    settings = {
        "optimizer": {"enabled": True, "runs": _RUNS},
        "evmVersion": "paris",
        "outputSelection": wanted,
    }
    question = {
        "language": "Solidity",
        "sources": {name: {"content": text} for name, text in sources.items()},
        "settings": settings,
    }
    try:
        done = subprocess.run(
            [str(node_binary()), str(_COMPILE), str(compiler)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            check=True,
            timeout=_WITHIN,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"the sources of {unit} did not compile within {_WITHIN} s") from None
    except subprocess.CalledProcessError as error:
        raise InstallError(f"the compiler of {unit} ended with status {error.returncode}") from None
    answer = json.loads(done.stdout)
    errors = [row["message"] for row in answer.get("errors", ()) if row["severity"] == "error"]
    if errors:
        raise InstallError(f"the sources of {unit} do not compile: {errors[0][:200]}")
    return {
        name: contract["evm"]["bytecode"]["object"]
        for contracts in answer["contracts"].values()
        for name, contract in contracts.items()
    }


def _sources(folder: Path, files: list[str], libraries: Mapping[str, Path] = _NO_LIBRARIES) -> dict[str, str]:
    """Return these files and what they import, by path below the folder, or by the name that libraries are imported by.

    Raises InstallError.
    """
    found: dict[str, str] = {}
    names = list(files)
    while names:
        name = names.pop()
        if name in found:
            continue
        path = _path(name, folder, libraries)
        if not path.is_file():
            raise InstallError(f"the pinned sources hold no {name}")
        found[name] = path.read_text(encoding="utf-8")
        for imported in _IMPORT.findall(found[name]):
            is_relative = imported.startswith(".")
            names.append(
                posixpath.normpath(posixpath.join(posixpath.dirname(name), imported) if is_relative else imported)
            )
    return found


def _path(name: str, folder: Path, libraries: Mapping[str, Path]) -> Path:
    for prefix, library in libraries.items():
        if name.startswith(f"{prefix}/"):
            return library / name.removeprefix(f"{prefix}/")
    return folder / name
