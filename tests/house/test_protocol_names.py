"""In the server a protocol's name stands in its own folder, and where all protocols are listed: nowhere else.

What two protocols share is called by what it does; the contract's neutral names (lend-a) do for sources.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.each import each

ROOT = Path(__file__).resolve().parents[2]

# The folders below server/protocols, each with the names that are its own.
FOLDERS: dict[str, tuple[str, ...]] = {
    "aave_v2": ("aave",),
    "aave_v3": ("aave",),
    "beefy": ("beefy",),
    "compound_v2": ("compound",),
    "compound_v3": ("compound",),
    # Its name is also that of a node of its chain (chains.toml).
    "hyperlend": (),
    "morpho": ("morpho",),
    "lido": ("lido",),
    "curve": ("curve",),
    "llamalend": ("llamalend", "curve"),
    "pendle": ("pendle",),
    "hyperbeat": ("hyperbeat", "midas"),
    "midas": ("midas",),
    "uniswap_v2": ("uniswap",),
    "uniswap_v3": ("uniswap",),
    "uniswap_v4": ("uniswap",),
    "yearn": ("yearn",),
}
# Where protocols are listed, registered, or are what the room is about.
ROOMS = (
    "server/catalog/",
    "server/marketplace/apps/",
    "server/rpc/",
    "server/yields/",
    "server/venues/",
    "server/aggregators/",
    "server/apis/endpoints.toml",
)
# Words of the language, and those that others are part of, count as words alone.
_WORDS = frozenset(("compound", "curve", "lido"))
_NAMES = sorted({name for names in FOLDERS.values() for name in names})
# Curves that are none of anybody's.
_MATHEMATICS = re.compile(r"elliptic curve")


def found_in(text: str) -> set[str]:
    """Return the protocols whose names stand in a text, whatever its casing."""
    text = _MATHEMATICS.sub("", text.lower())
    return {name for name in _NAMES if re.search(rf"(?<![a-z]){name}(?![a-z])" if name in _WORDS else name, text)}


def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "server"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if not line.startswith(ROOMS) and (ROOT / line).exists()]


@each(files())
def test_no_protocols_name_stands_outside_of_its_room(file: str) -> None:
    parts = Path(file).parts
    own = FOLDERS.get(parts[2], ()) if parts[1] == "protocols" and len(parts) > 3 else ()
    found = found_in(f"{file}\n{(ROOT / file).read_text(encoding='utf-8')}")
    assert not found - set(own), f"{file} names {sorted(found - set(own))}"


def test_every_folder_of_a_protocol_is_listed_here() -> None:
    folders = {path.parent.name for path in (ROOT / "server/protocols").glob("*/__init__.py")}
    assert folders <= FOLDERS.keys()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("IAaveOracle", {"aave"}),
        ('KIND = "aave_v3"', {"aave"}),
        ("MetaMorpho and Uniswap v2-core", {"morpho", "uniswap"}),
        ("class Lido:", {"lido"}),
        ("the curve_llamalend factory", {"curve", "llamalend"}),
        ("interest compounds; compounded", set()),
        ("solidity, invalidOrder, bad elliptic curve pairing size", set()),
        ("Compound's market", {"compound"}),
    ],
)
def test_names_are_recognised(text: str, names: set[str]) -> None:
    assert found_in(text) == names
