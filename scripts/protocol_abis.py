"""Writes the ABIs of the protocol registry from the packages that server/catalog/data/abis/packages.toml pins.

`python -m scripts.protocol_abis` fetches the packages (npm, about 60 MB) and rewrites the files; with `--check` it
changes nothing and exits with 1 when a file differs. No code of a package is run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "server" / "catalog" / "data" / "abis"
PINS = FOLDER / "packages.toml"

_TIMEOUT = 180
_KEPT = ("type", "name", "inputs", "outputs", "stateMutability", "anonymous")
_KEPT_OF_PARAMETERS = ("name", "type", "indexed")
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z]+):")
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")


def main(check: bool) -> int:
    """Write or compare every ABI; return the exit code."""
    differing = []
    for package, pin in tomllib.loads(PINS.read_text(encoding="utf-8")).items():
        for name, items in read_package(package, pin).items():
            path, text = FOLDER / f"{name}.json", printed(items)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                differing.append(name)
                if not check:
                    path.write_text(text, encoding="utf-8")
    print(f"{'differing' if check else 'written'}: {', '.join(differing) or 'none'}")
    return 1 if check and differing else 0


def read_package(package: str, pin: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the ABIs of one package by name, its archive checked against the pin."""
    with tempfile.TemporaryDirectory() as folder:
        npm = Path(sys.prefix, "bin", "npm")
        command = [str(npm) if npm.is_file() else "npm", "pack", f"{package}@{pin['version']}", "--silent"]
        subprocess.run(command, cwd=folder, check=True, timeout=_TIMEOUT, stdout=subprocess.DEVNULL)
        [archive] = Path(folder).glob("*.tgz")
        found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != pin["integrity"]:
            sys.exit(f"the archive of {package} {pin['version']} is not the pinned one; found {found}")
        with tarfile.open(archive) as tar:
            return {name: plain(_items(tar, member)) for name, member in pin["abis"].items()}


def plain(items: list[Any]) -> list[dict[str, Any]]:
    """Return ABI items without what is no part of the interface, sorted by kind, name and parameter types."""
    # A proxy's items joined with those of its implementation hold some twice.
    kept = list({json.dumps(item): item for item in map(_plain_item, items)}.values())
    return sorted(kept, key=lambda item: (item["type"], item.get("name", ""), json.dumps(item.get("inputs", []))))


def printed(items: list[dict[str, Any]]) -> str:
    """Return an ABI as JSON, one item a line."""
    return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "\n]\n"


def _plain_item(item: dict[str, Any]) -> dict[str, Any]:
    kept = {key: item[key] for key in _KEPT if key in item}
    for key in ("inputs", "outputs"):
        if key in kept:
            kept[key] = [_plain_parameter(parameter) for parameter in kept[key]]
    return kept


def _plain_parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    kept = {key: parameter[key] for key in _KEPT_OF_PARAMETERS if key in parameter}
    if "components" in parameter:
        kept["components"] = [_plain_parameter(inner) for inner in parameter["components"]]
    return kept


def _items(tar: tarfile.TarFile, member: str) -> list[Any]:
    path, _, constant = member.partition("#")
    opened = tar.extractfile(path)
    if opened is None:
        raise KeyError(path)
    text = opened.read().decode()
    document = _constant(text, constant) if constant else json.loads(text)
    items: list[Any] = document["abi"] if isinstance(document, dict) else document
    return items


def _constant(text: str, name: str) -> Any:
    """Return an array that a JavaScript module holds as a literal, whose keys need no quotes there.

    Texts may have single quotes, where they have no others.
    """
    declared = re.search(rf"(?:var|const|exports\.)\s*{name}\s*=\s*(\[.*?^\])", text, re.DOTALL | re.MULTILINE)
    found = declared or re.search(rf"^\s*{name}: (\[.*\]),?$", text, re.MULTILINE)
    if found is None:
        raise KeyError(name)
    if '"' not in found[1]:
        return json.loads(_TRAILING_COMMA.sub(r"\1", _BARE_KEY.sub(r'\1"\2":', found[1].replace("'", '"'))))
    return json.loads(_TRAILING_COMMA.sub(r"\1", _BARE_KEY.sub(r'\1"\2":', found[1])))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
