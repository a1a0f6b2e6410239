"""The official OpenRPC tools take the documents as they are served: they validate them, resolve their references, and
generate a TypeScript client of each that compiles; that of the operations asks the gateway.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.install import InstallError, node_binary, packages_of

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = [pytest.mark.devnet, pytest.mark.timeout(600)]

MANIFESTS = Path(__file__).parent / "openrpc_tools"
DOCUMENTS = ("/openrpc.json", "/openrpc.json?apps=all")
# A document whose references lead back to where they stand was never resolved: more than ten minutes, and 4 GB.
LONGEST_PARSE = 60.0
LONGEST = 240.0


@pytest.fixture(scope="module")
def modules() -> Path:
    """The tools' `node_modules`, installed on first use."""
    try:
        node_binary()
    except InstallError as missing:
        if "CI" in os.environ:
            raise
        pytest.skip(str(missing))
    return packages_of(MANIFESTS, "openrpc-tools", "the OpenRPC tools that tests use", print)


async def node(
    modules: Path, *arguments: object, seconds: float, given: bytes = b"", folder: Path | None = None
) -> str:
    """Return what a script writes to standard output; it must end well, in time and in a gigabyte."""
    process = await asyncio.create_subprocess_exec(
        node_binary(),
        "--max-old-space-size=1024",
        *map(str, arguments),
        cwd=folder,
        env={"NODE_PATH": str(modules), "PATH": os.environ.get("PATH", "")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            written, errors = await process.communicate(given)
    except TimeoutError:
        process.kill()
        await process.wait()
        pytest.fail(f"{Path(str(arguments[0])).name} took longer than {seconds} s")
    assert process.returncode == 0, (written + errors).decode()[-4000:]
    return written.decode()


async def served_at(gateway: RunningGateway, path: str) -> dict[str, Any]:
    async with gateway.session.get(gateway.http + path) as response:
        assert response.status == 200
        document: dict[str, Any] = await response.json()
    return document


def written(value: Any, file: Path) -> Path:
    file.write_text(json.dumps(value))
    return file


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_they_are_valid_and_their_references_are_resolved(
    gateway: RunningGateway, modules: Path, tmp_path: Path, path: str
) -> None:
    document = await served_at(gateway, path)
    file = written(document, tmp_path / "openrpc.json")
    parsed = json.loads(await node(modules, MANIFESTS / "parse.js", file, seconds=LONGEST_PARSE))
    assert parsed == {"valid": True, "methods": len(document["methods"]), "references": 0}


async def test_what_they_do_not_survive_is_found(gateway: RunningGateway, modules: Path, tmp_path: Path) -> None:
    document = await served_at(gateway, DOCUMENTS[0])
    document["methods"][0]["params"] = {}
    file = written(document, tmp_path / "openrpc.json")
    with pytest.raises(AssertionError, match="should be array"):
        await node(modules, MANIFESTS / "parse.js", file, seconds=LONGEST_PARSE)


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_a_client_is_generated_that_compiles_and_asks(
    gateway: RunningGateway, modules: Path, tmp_path: Path, path: str
) -> None:
    document = written(await served_at(gateway, path), tmp_path / "openrpc.json")
    client = {"type": "client", "name": "waypost-client", "language": "typescript"}
    wanted = {"openrpcDocument": str(document), "outDir": str(tmp_path), "components": [client]}
    configuration = written(wanted, tmp_path / "config.json")
    (tmp_path / "node_modules").symlink_to(modules, target_is_directory=True)
    generator = modules / "@open-rpc" / "generator" / "build" / "cli.js"
    await node(modules, generator, "generate", "-c", configuration, seconds=LONGEST, folder=tmp_path)
    made = tmp_path / "client" / "typescript"
    await node(modules, modules / "typescript" / "bin" / "tsc", "-p", made, seconds=LONGEST)
    if path == DOCUMENTS[0]:
        await ask_through(gateway, modules, made / "build")


async def ask_through(gateway: RunningGateway, modules: Path, build: Path) -> None:
    items = [{"chain": "ethereum", "block": 26_050_001}, {"chain": "cosmoshub", "block": 20_000_000}]
    asked: list[tuple[str, list[Any], Any]] = [
        ("getRegistryChains", [], {}),
        (
            "getBalance",
            ["ethereum", known.VITALIK, 26_050_001],
            {"chain": "ethereum", "address": known.VITALIK, "blockHeight": 26_050_001},
        ),
        ("getBlockByNumber", [items], items),
        ("getRegistryContracts", ["aave-v3"], {"slug": "aave-v3"}),
        ("getBalance", ["nochain", known.VITALIK], {"chain": "nochain", "address": known.VITALIK}),
    ]
    calls = json.dumps([[method, *values] for method, values, _ in asked]).encode()
    port = gateway.http.rpartition(":")[2]
    answers = json.loads(
        await node(modules, MANIFESTS / "ask.js", build, port, "/local/v1", seconds=LONGEST, given=calls)
    )
    for (method, _, named), answer in zip(asked, answers, strict=True):
        expected = await gateway.ask(method, named)
        if "result" in expected:
            assert answer == {"result": expected["result"]}
        else:
            assert answer["error"]["code"] == expected["error"]["code"], answer
            assert answer["error"]["data"]["reason"] == expected["error"]["data"]["reason"] == "CHAIN_UNKNOWN"
