"""Both faces agree on Starknet, and on calls that mix it with other families.

The local chain is installed on demand, so it has a gateway of its own beside that of the other questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known_bitcoin, known_solana
from devnet import known_starknet as known
from devnet.launcher import Devnet
from tests.e2e import test_faces_agree as faces
from tests.e2e.gateway import RunningGateway, run_gateway, settings_over
from tests.e2e.questions import Question
from tests.each import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet

STARK = {"chain": "starknet"}
BTC, SOL = {"chain": "bitcoin"}, {"chain": "solana"}
PADDED_BOB = "0x" + known.BOB[2:].rjust(64, "0").upper()
NO_HASH = "0xabc"

QUESTIONS = [
    Question("getChainHealth", STARK),
    Question("getBlockHeight", STARK),
    Question("getBalance", STARK | {"address": known.BOB}),
    Question("getBalance", STARK | {"address": PADDED_BOB, "blockHeight": known.STRK_BLOCK}, "history, padded"),
    Question("getTokenBalance", STARK | {"address": known.BOB, "token": known.USDC}),
    Question("getTokenBalance", STARK | {"address": known.ALICE, "token": known.SNAKE_TOKEN}, "snake case"),
    Question("getTokenBalance", STARK | {"address": known.ALICE, "token": known.OLD_TOKEN}, "one felt"),
    Question("getBlockTransactions", STARK | {"blockNumber": known.CROWDED_BLOCK}),
    Question("getBlockTransactions", STARK | {"blockNumber": 3}, "an empty block"),
    Question("getReceipt", STARK | {"hash": "first"}, "filled in"),
    Question("getReceipt", STARK | {"hash": "second"}, "reverted, filled in"),
    Question("getTransactionByHash", [STARK | {"hash": "first"}, STARK | {"hash": NO_HASH}], "one missing, filled in"),
    Question(
        "getTransactionByHash", [STARK | {"hash": "second"}, SOL | {"hash": known_solana.FAILED}], "mixed, filled in"
    ),
    Question("chainRpc", STARK | {"method": "starknet_specVersion"}),
]

REFUSED = [
    Question("getBalance", STARK, "no address"),
    Question("getBalance", STARK | {"address": "0x" + "f" * 64}, "beyond the field"),
    Question("getBalance", STARK | {"address": "0x" + "1" * 5000}, "oversized"),
    Question("getBalance", STARK | {"address": known_bitcoin.P2PKH}, "another family's address"),
    Question("getBalance", STARK | {"address": known.BOB, "blockHeight": 10**9}, "beyond the head"),
    Question("getTokenBalance", STARK | {"address": known.BOB, "token": "0x123"}, "no token"),
    Question("getTokenBalance", STARK | {"address": known.BOB}, "no token named"),
    Question("getReceipt", STARK | {"hash": "0x12g"}, "malformed hash"),
    Question("getReceipt", STARK | {"hash": NO_HASH}, "unknown hash"),
    Question("getTransactionByHash", [SOL | {"hash": known_solana.FAILED}, STARK | {"hash": "x"}], "one malformed"),
    Question("getBlockTransactions", STARK | {"blockNumber": 10**9}, "missing block"),
    Question("getBlockByNumber", [BTC | {"block": 1}, STARK | {"block": 1}], "family without the operation"),
    Question("getBlockByHash", [STARK | {"hash": NO_HASH}], "family without the operation"),
    Question("chainRpc", STARK | {"method": "starknet_addInvokeTransaction"}, "a write"),
]


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    async with (
        Devnet.start(["starknet", "solana", "bitcoin"], mines=False) as devnet,
        run_gateway(settings_over(devnet, tmp_path_factory.mktemp("starknet"))) as running,
    ):
        yield running


async def fill_in(question: Question, gateway: RunningGateway) -> Question:
    """Return the question with the hashes of the two transactions of the crowded block."""
    if "filled in" not in question.note:
        return question
    asked = STARK | {"blockNumber": known.CROWDED_BLOCK}
    found = (await gateway.ask("getBlockTransactions", asked))["result"]["data"]["transactions"]
    hashes = {"first": found[0]["hash"], "second": found[1]["hash"]}

    def fill(item: dict[str, str]) -> dict[str, str]:
        return item | {"hash": hashes.get(item["hash"], item["hash"])}

    many = isinstance(question.params, list)
    params = [fill(item) for item in question.params] if many else fill(question.params)
    return Question(question.method, params)


@each(QUESTIONS)
async def test_answers_agree_on_starknet(question: Question, gateway: RunningGateway) -> None:
    await faces.answers_agree(await fill_in(question, gateway), gateway)


@each(REFUSED)
async def test_refusals_agree_on_starknet(question: Question, gateway: RunningGateway) -> None:
    await faces.refusals_agree(question, gateway)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (Question("getReceipt", STARK | {"hash": NO_HASH}), "hash"),
        (Question("getTransactionByHash", [STARK | {"hash": NO_HASH}]), "params[0].hash"),
        (Question("getBlockTransactions", STARK | {"blockNumber": 10**9}), "blockNumber"),
    ],
    ids=str,
)
async def test_what_is_absent_on_starknet_is_named(question: Question, field: str, gateway: RunningGateway) -> None:
    error = (await gateway.ask(question.method, question.params))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (404, "NOT_FOUND", field)
    await faces.refusals_agree(question, gateway)
