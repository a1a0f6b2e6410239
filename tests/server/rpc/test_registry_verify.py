"""`waypost registry verify` against a real node: which registered addresses have code, in few requests."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from cli.__main__ import main
from cli.registry import lacking, read_deployed
from devnet import known_solana
from runtime.settings import Settings
from server.catalog.protocols import AddressBook, RegisteredContract, RegisteredProtocol, load_address_book
from server.chains.registry import Chains
from server.chains.solana.layouts import TOKEN_PROGRAM
from server.errors import NotAvailable
from server.upstream.transport import open_session
from tests.server.rpc.conftest import unchanged
from tests.tallies import CallTally

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

CHAIN = "polygon"
BOOK = load_address_book()
REGISTERED = {
    (slug, key): contract.address
    for slug, protocol in BOOK.protocols.items()
    for key, contract in protocol.contracts.get(CHAIN, {}).items()
}
POOL = BOOK.find_contract("aave-v3", CHAIN, "pool").address


@pytest.fixture
def config(full_devnet: Devnet, tmp_path: Path) -> str:
    path = tmp_path / "waypost.toml"
    full_devnet.write_config(path)
    return str(path)


async def verify(*arguments: str) -> int:
    """Run the command as a process would, in a thread: it has an event loop of its own."""
    return await asyncio.to_thread(main, ["registry", "verify", *arguments])


async def test_every_registered_address_is_asked_for_in_few_requests(full_devnet: Devnet):
    tally = CallTally()
    async with unchanged(full_devnet, CHAIN) as node, open_session() as http:
        await node.call("anvil_setCode", POOL, "0x6001600101")
        chains = Chains.load(Settings.model_validate(full_devnet.settings_overrides()), http, observer=tally)
        found = await read_deployed(chains.get(CHAIN), BOOK)
        await chains.close()
        sizes = {
            (slug, key): len(bytes.fromhex((await node.call("eth_getCode", address, "latest"))[2:]))
            for (slug, key), address in REGISTERED.items()
        }
    assert {(one.protocol, one.key): one.size for one in found} == sizes
    assert sizes["aave-v3", "pool"] == 5
    assert {(one.protocol, one.key) for one in lacking(found)} == {pair for pair, size in sizes.items() if not size}
    assert len(REGISTERED) > 20
    assert len(tally.requests) <= 3, tally.requests


async def test_what_has_no_code_is_reported_and_fails(
    full_devnet: Devnet, config: str, capsys: pytest.CaptureFixture[str]
):
    async with unchanged(full_devnet, CHAIN) as node:
        await node.call("anvil_setCode", POOL, "0x6001600101")
        assert await verify("--chain", CHAIN, "--config", config) == 1
    lines = capsys.readouterr().out.splitlines()
    rows = {(words[0], words[1]): (words[2], " ".join(words[3:])) for words in map(str.split, lines[:-2])}
    assert {pair: address for pair, (address, _) in rows.items()} == REGISTERED
    assert rows["aave-v3", "pool"] == (POOL, "5 bytes")
    assert rows["aave-v3", "uiPoolDataProvider"][1] == "NO CODE"
    assert lines[-1].startswith(f"{CHAIN}: {len(REGISTERED)} addresses, ")


async def test_code_everywhere_is_exit_code_0(full_devnet: Devnet, config: str, capsys: pytest.CaptureFixture[str]):
    async with unchanged(full_devnet, CHAIN) as node:
        for address in REGISTERED.values():
            await node.call("anvil_setCode", address, "0x00")
        assert await verify("--chain", CHAIN, "--config", config, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["protocol"], row["contract"]): row["codeSize"] for row in rows} == dict.fromkeys(REGISTERED, 1)
    assert {row["address"] for row in rows} == set(REGISTERED.values())


async def test_programs_of_solana_are_reported_from_other_accounts(full_devnet: Devnet, config: str) -> None:
    """The aggregator is not on the local chain; the token program is, and a mint is an account without code."""
    assert await verify("--chain", "solana", "--config", config) == 1
    contracts = {
        "program": RegisteredContract("Token program", str(TOKEN_PROGRAM), "a test"),
        "mint": RegisteredContract("USDC", str(known_solana.USDC), "a test"),
        "nothing": RegisteredContract("Nothing", "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4", "a test"),
    }
    book = AddressBook([RegisteredProtocol("own", "Own", None, "dex", "", "1", "", {"solana": contracts})])
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(full_devnet.settings_overrides()), http)
        found = {one.key: one for one in await read_deployed(chains.get("solana"), book)}
        await chains.close()
    assert (found["program"].size or 0) > 0
    assert (found["mint"].size, found["nothing"].size) == (0, 0)


async def test_a_node_that_does_not_answer_is_no_proof_of_missing_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "waypost.toml"
    path.write_text('[chains.scroll]\nendpoints = [{ label = "gone", url = "http://127.0.0.1:9/SECRET" }]\n')
    assert await verify("--chain", "scroll", "--config", str(path)) == 1
    printed = capsys.readouterr()
    assert "UNKNOWN: " in printed.out
    assert "0 with code, 0 without, " in printed.out
    assert "NO CODE" not in printed.out
    assert "SECRET" not in printed.out + printed.err


async def test_without_an_endpoint_nothing_is_asked(capsys: pytest.CaptureFixture[str]):
    """The local chains are known to the process that runs them alone."""
    assert await verify("--chain", "gnosis", "--network", "devnet") == 1
    printed = capsys.readouterr()
    assert (printed.out, "gnosis has no endpoint to ask" in printed.err) == ("", True)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("etherium", "did you mean `ethereum`?"),
        ("bitcoin", "nothing is registered on bitcoin"),
        ("noble", "nothing is registered on noble"),
    ],
)
async def test_what_cannot_be_checked_is_said(config: str, capsys: pytest.CaptureFixture[str], chain: str, words: str):
    assert await verify("--chain", chain, "--config", config) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


async def test_a_family_whose_code_is_not_read_is_said(full_devnet: Devnet) -> None:
    contracts = {"program": RegisteredContract("Program", "noble1", "a test")}
    book = AddressBook([RegisteredProtocol("own", "Own", None, "dex", "", "1", "", {"noble": contracts})])
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(full_devnet.settings_overrides()), http)
        with pytest.raises(NotAvailable, match="does not answer that for noble"):
            await read_deployed(chains.get("noble"), book)
        await chains.close()
