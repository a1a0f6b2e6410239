"""Counts the house: modules, lines, sizes and importers of what serves, beside an earlier commit.

`python -m scripts.structure [--since COMMIT]` (or `make structure`) prints how many modules and lines `server/`,
`transcoder/`, `runtime/` and `cli/` have, how many modules are over 400 or under 60 lines, and which have exactly one
importer. Readers of protocols and off-chain APIs stand apart. Generated code and data files do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOTS = ("server", "transcoder", "runtime", "cli")
APART = ("server/protocols", "server/venues", "server/yields", "server/aggregators")
LARGEST, SMALL = 400, 60

# What these import alone is found by registration: servicers, stages of the pipeline, readers of a driver's map.
_REGISTERS = ("server/rpc/registration.py", "server/rpc/pipeline/", "server/rpc/pipeline.py")
_DRIVER = "driver.py"


class Module(NamedTuple):
    """One module: its path, its lines, and the dotted names that it imports."""

    path: str
    lines: int
    imports: frozenset[str]

    @property
    def name(self) -> str:
        """Return the dotted name."""
        return ".".join(PurePosixPath(self.path).with_suffix("").parts).removesuffix(".__init__")


def read_modules(sources: Mapping[str, str]) -> list[Module]:
    """Return the modules of sources by path; empty ones and those of a docstring alone do not count."""
    modules = []
    for path, source in sorted(sources.items()):
        tree = ast.parse(source)
        if len(tree.body) > (ast.get_docstring(tree) is not None):
            modules.append(Module(path, len(source.splitlines()), frozenset(_imports(tree))))
    return modules


def importers(modules: Sequence[Module]) -> dict[str, set[str]]:
    """Return the paths of the modules that import each module, by its path."""
    by_name = {module.name: module.path for module in modules}
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in module.imports:
            path = by_name.get(name) or by_name.get(name.rpartition(".")[0])
            if path is not None and path != module.path:
                found[path].add(module.path)
    return found


def with_one_importer(modules: Sequence[Module]) -> list[tuple[str, str]]:
    """Return the modules that exactly one other imports, with it, apart from those that are found by registration."""
    found = importers(modules)
    pairs = ((module.path, *found[module.path]) for module in modules if len(found[module.path]) == 1)
    return [(path, by) for path, by in pairs if not (by.startswith(_REGISTERS) or by.endswith(_DRIVER))]


def _imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _sources_now() -> dict[str, str]:
    return {str(path): path.read_text() for root in ROOTS for path in Path(root).rglob("*.py")}


def _sources_at(commit: str) -> dict[str, str]:
    packed = subprocess.run(["git", "archive", commit, *ROOTS], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {
            member.name: file.read().decode()
            for member in archive
            if member.name.endswith(".py") and (file := archive.extractfile(member)) is not None
        }


def _print(title: str, sources: Mapping[str, str]) -> None:
    modules = read_modules(sources)
    house = [module for module in modules if not module.path.startswith(APART)]
    apart = [module for module in modules if module.path.startswith(APART)]
    large = sum(module.lines > LARGEST for module in house)
    small = sum(module.lines < SMALL for module in house)
    alone = sum(not path.startswith(APART) for path, _ in with_one_importer(modules))
    print(
        f"{title:>12} {sum(module.lines for module in house):>8} {len(house):>8} {large:>9} {small:>9} {alone:>13}"
        f" {sum(module.lines for module in apart):>9} {len(apart):>8}"
    )


def main() -> None:
    """Print the counts, and with `--list` the modules that stand out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", default="1c90ca0", help="an earlier commit to compare with")
    parser.add_argument("--list", action="store_true", help="name what is large, small or has one importer")
    chosen = parser.parse_args()
    print(f"{'':>12} {'lines':>8} {'modules':>8} {'over 400':>9} {'under 60':>9} {'one importer':>13} {'readers':>18}")
    _print(chosen.since, _sources_at(chosen.since))
    now = _sources_now()
    _print("now", now)
    if chosen.list:
        modules = read_modules(now)
        for module in modules:
            if module.lines > LARGEST or (module.lines < SMALL and not module.path.startswith(APART)):
                print(f"{module.lines:>5} {module.path}")
        for path, importer in with_one_importer(modules):
            print(f"      {path} <- {importer}")


if __name__ == "__main__":
    main()
