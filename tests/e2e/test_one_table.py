"""A chain is one table: one more of each family stands beside those of chains.toml, and answers all operations of it.

Each row below is all there is of such a chain. It is read from the local node of a chain that is there already, whose
answers its own have to equal but for the name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_cosmos
from devnet.cosmos.world import CHAINS
from devnet.launcher import Devnet
from runtime.operations import load_operations, member
from server.chains import facts
from tests.e2e import test_faces_agree as faces
from tests.e2e import test_starknet_faces as stark
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.e2e.questions import QUESTIONS, Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from runtime.operations import Operation

pytestmark = pytest.mark.devnet

ROWS = """
[chains.quill]
name = "Quill"
type = "EVM"
family = "evm"
chain_id = 1
native = { symbol = "QIL", decimals = 18 }
block_time = 12
header = "ethereum"
bloom = true
finality = ["safe", "finalized"]
multicall = { address = "0xcA11bde05977b3631167028862bE2a173976CA11", deploy_block = 14353601 }
fees = "eip1559"
endpoints = []

[chains.flint]
name = "Flint"
type = "SVM"
family = "solana"
chain_id = "mainnet-beta"
genesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
native = { symbol = "FLT", decimals = 9 }
block_time = 0.4
endpoints = []

[chains.ember]
name = "Ember"
type = "UTXO"
family = "bitcoin"
chain_id = "000000000019d6689c085ae165831e93"
native = { symbol = "EMB", decimals = 8 }
block_time = 600
growth = { future = 7200 }
endpoints = []

[chains.vellum]
name = "Vellum"
type = "Cairo VM"
family = "starknet"
chain_id = "SN_MAIN"
native.symbol = "VLM"
native.decimals = 18
native.address = "0x04718f5a0fc34cc1af16a1cdee98ffb20c31f5cd61d6ab07201858f4287c938d"
block_time = 20
endpoints = []

[chains.sorrel]
name = "Sorrel"
type = "Cosmos SDK"
family = "cosmos"
chain_id = "cosmoshub-4"
native = { symbol = "SRL", decimals = 6, denom = "uatom" }
block_time = 6
bech32 = "cosmos"
endpoints = []
"""

# The chain that is read from the same node, and the symbols of both coins.
TWINS = {
    "quill": ("ethereum", "QIL", "ETH"),
    "flint": ("solana", "FLT", "SOL"),
    "ember": ("bitcoin", "EMB", "BTC"),
    "vellum": ("starknet", "VLM", "STRK"),
    "sorrel": ("cosmoshub", "SRL", "ATOM"),
}
WORDS = re.compile(r"\w+")
# Data about single chains stands apart from their tables: of another chain there is none.
OF_OTHER_TABLES = {"getApprovals": "approvals", "getDefiSummary": "protocols"}
FAMILIES = {"quill": "evm", "flint": "solana", "ember": "bitcoin", "vellum": "starknet", "sorrel": "cosmos"}
HUB = {"chain": "cosmoshub"}
# What no other test asks of that chain.
MORE = [Question("getBlockHeight", HUB), Question("getReceipt", HUB | {"hash": "sent"})]


def chain_field(operation: Operation) -> str | None:
    """Return the parameter that names a chain, None where there is none or several are named."""
    message = operation.method.input_type
    fields = message.fields_by_name["items"].message_type.fields if operation.takes_items else message.fields
    return next((one.json_name for one in fields if one.json_name == "chain" and member(one).required), None)


def answered(operation: Operation, family: str) -> bool:
    """Return whether every chain of the family has the operation."""
    return family in operation.available and not operation.chains and chain_field(operation) is not None


def questions(slug: str) -> list[Question]:
    """Return what is asked of the twin elsewhere, and belongs to every chain of the family."""
    twin, family = TWINS[slug][0], FAMILIES[slug]
    found = []
    for question in [*QUESTIONS, *stark.QUESTIONS, *MORE]:
        if not answered(question.operation, family):
            continue
        if isinstance(question.params, list):
            params: Any = [item for item in question.params if item["chain"] == twin]
        else:
            params = question.params if question.params["chain"] == twin else None
        if params:
            found.append(replace(question, params=params))
    return found


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("tables")
    table = folder / "chains.toml"
    with pytest.MonkeyPatch.context() as patch:
        table.write_text(facts._TABLE.read_text() + ROWS)
        async with Devnet.start([twin for twin, _, _ in TWINS.values()], mines=False) as devnet:
            chains = devnet.settings_overrides()["chains"]
            chains |= {slug: chains[twin] for slug, (twin, _, _) in TWINS.items()}
            patch.setattr(facts, "_TABLE", table)
            facts.load_facts.cache_clear()
            try:
                async with run_gateway_on(chains, folder) as running:
                    yield running
            finally:
                facts.load_facts.cache_clear()


@pytest.mark.parametrize("slug", TWINS)
def test_every_operation_of_the_family_is_asked(slug: str) -> None:
    wanted = {operation.name for operation in load_operations() if answered(operation, FAMILIES[slug])}
    assert {question.operation.name for question in questions(slug)} == wanted


@pytest.mark.parametrize(("slug", "question"), [(slug, one) for slug in TWINS for one in questions(slug)], ids=str)
async def test_it_answers_as_its_twin(slug: str, question: Question, gateway: RunningGateway) -> None:
    twin, symbol, of_twin = TWINS[slug]
    question = await fill_in(question, gateway)
    expected = await gateway.ask(question.method, question.params)
    assert "error" not in expected, expected
    found = await gateway.ask(question.method, replaced(question.params, {twin: slug}))
    assert "error" not in found, found
    if question.method in OF_OTHER_TABLES:
        rows = found["result"]["data"][OF_OTHER_TABLES[question.method]]
        assert {row["status"] for row in rows} <= {"unsupported"}
        return
    assert replaced(faces.still(found["result"]), {slug: twin, symbol: of_twin}) == faces.still(expected["result"])


async def fill_in(question: Question, gateway: RunningGateway) -> Question:
    """Return the question with the hash of a real block or transaction where it has a word for one."""
    if "starknet" in str(question.params):
        return await stark.fill_in(question, gateway)
    if question.params == HUB | {"hash": "sent"}:
        asked = HUB | {"blockNumber": CHAINS["cosmoshub"].first + known_cosmos.SENT_AT}
        found = (await gateway.ask("getBlockTransactions", asked))["result"]["data"]["transactions"]
        return replace(question, params=HUB | {"hash": found[0]["txhash"]})
    return await faces.fill_in(question, gateway)


def replaced(value: Any, names: dict[str, str]) -> Any:
    """Return the value with other texts for these."""
    if isinstance(value, dict):
        return {name: replaced(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, names) for inner in value]
    return WORDS.sub(lambda word: names.get(word[0], word[0]), value) if isinstance(value, str) else value
