"""Imports go one way (design section 2). Every rule is a row; nothing else decides."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
OURS = ("server", "transcoder", "runtime", "cli", "devnet", "bench", "tests", "scripts", "waypost_gateway")

# package (longest prefix wins) -> what of ours it may import
ALLOWED: dict[str, tuple[str, ...]] = {
    "runtime": ("runtime",),
    "transcoder": ("transcoder", "runtime"),
    "cli": ("cli", "transcoder", "server", "runtime", "devnet"),
    "devnet": ("devnet", "runtime"),
    "waypost_gateway": ("waypost_gateway", "cli"),
    "scripts": ("scripts", "server", "transcoder", "runtime", "devnet", "cli"),
    "server": ("server", "runtime"),
    "server.errors": (),
    "server.contracts": ("server.contracts", "server.errors"),
    # Of chains what capabilities are asked with and answer by, never a driver.
    "server.protocols": (
        "server.protocols",
        "server.contracts",
        "server.catalog",
        "server.prices",
        # What off-chain APIs state reaches readers as documents, in the types of their modules.
        "server.apis.documents",
        "server.yields",
        "runtime.config_errors",
        "server.chains.capabilities",
        "server.chains.view",
        "server.chains.facts",
        "server.upstream.cache",
        "server.upstream.single_flight",
        "server.errors",
    ),
    # Quotes come by HTTP, decimals from a chain's capability.
    "server.aggregators": (
        "server.aggregators",
        "server.apis",
        "server.chains.capabilities",
        "server.chains.view",
        "server.upstream",
        "server.errors",
        "runtime",
    ),
    "server.yields": (
        "server.yields",
        "server.apis",
        "server.chains.capabilities",
        "server.chains.view",
        "server.chains.facts",
        "server.contracts",
        "server.storage",
        "server.upstream",
        "server.errors",
        "server.contracts.address",
        "runtime",
    ),
    "server.venues": (
        "server.venues",
        "server.apis",
        "server.upstream",
        "server.errors",
        "runtime",
    ),
    "server.apis": ("server.apis", "server.upstream", "server.errors", "runtime"),
    "server.prices": (
        "server.prices",
        "server.apis",
        "server.chains",
        "server.catalog",
        "server.storage",
        "server.upstream",
        "server.errors",
        "runtime",
    ),
    "server.portfolio": (
        "server.prices",
        "server.chains",
        "server.catalog",
        "server.upstream",
        "server.errors",
        "runtime",
    ),
    "server.gas": (
        "server.prices",
        "server.chains",
        "server.catalog",
        "server.upstream",
        "server.errors",
        "runtime",
    ),
    "server.names": (
        "server.names",
        "server.fetch",
        "server.chains",
        "server.contracts",
        "server.upstream",
        "server.errors",
        "server.contracts.address",
        "runtime",
    ),
    "server.nfts": (
        "server.nfts",
        "server.fetch",
        "server.chains",
        "server.contracts",
        "server.upstream",
        "server.errors",
        "server.contracts.address",
        "runtime",
    ),
    "server.fetch": ("server.fetch", "runtime"),
    "server.storage": ("server.storage", "server.errors", "runtime"),
    "server.redis_client": ("runtime",),
    "server.upstream": ("server.upstream", "server.errors", "server.redis_client", "runtime"),
    "server.catalog": ("server.catalog", "server.errors", "server.contracts.address", "runtime"),
    "server.chains": (
        "server.chains",
        "server.contracts",
        "server.catalog",
        "server.upstream",
        "server.errors",
        "server.contracts.address",
        "runtime",
    ),
    "server.marketplace": (
        "server.marketplace",
        "server.contracts",
        "server.chains",
        "server.catalog",
        "server.errors",
        "server.contracts.address",
        "runtime",
    ),
    "server.access": ("server.access", "server.storage", "server.errors", "server.redis_client", "runtime"),
}
RPC_FORBIDDEN = {"web3", "aiohttp", "json", "orjson", "msgspec", "requests"}


def modules() -> list[Path]:
    return sorted(path for name in OURS if name != "tests" for path in (ROOT / name).rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


@each(modules())
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    name = dotted(path)
    package = max((rule for rule in ALLOWED if under(name, rule)), key=len, default=None)
    if package is None:
        return
    ours = {module for module in imports(path) if module.split(".")[0] in OURS}
    wrong = {
        module
        for module in ours
        if not any(under(module, allowed) or module == allowed.rpartition(".")[0] for allowed in ALLOWED[package])
        and not under(module, package)
    }
    assert not wrong, f"{name} may import {ALLOWED[package]}, not {sorted(wrong)}"


@each((ROOT / "server/rpc").rglob("*.py"))
def test_servicers_know_neither_json_nor_http(path: Path) -> None:
    wrong = {module for module in imports(path) if module.split(".")[0] in RPC_FORBIDDEN}
    assert not wrong, f"{dotted(path)} imports {sorted(wrong)}"


@each(modules())
def test_families_of_chains_are_imported_by_the_registry_alone(path: Path) -> None:
    name = dotted(path)
    families = {f"server.chains.{folder.name}" for folder in (ROOT / "server/chains").iterdir() if folder.is_dir()}
    families -= {"server.chains.capabilities", "server.chains.shared", "server.chains.__pycache__"}
    assert len(families) == 5
    own = next((family for family in families if under(name, family)), None)
    wrong = {module for module in imports(path) for family in families - {own} if under(module, family)}
    assert not wrong or name == "server.chains.registry" or not under(name, "server"), f"{name}: {sorted(wrong)}"


@each(modules())
def test_folders_of_protocols_are_known_to_the_registration_alone(path: Path) -> None:
    name = dotted(path)
    folders = {f"server.protocols.{folder.name}" for folder in protocol_folders()}
    own = next((folder for folder in folders if under(name, folder)), None)
    wrong = {module for module in imports(path) for folder in folders - {own} if under(module, folder)}
    assert not wrong or name == "server.rpc.registration", f"{name}: {sorted(wrong)}"


def protocol_folders() -> list[Path]:
    return [path.parent for path in sorted((ROOT / "server/protocols").glob("*/__init__.py"))]
