"""The operations of Bitcoin over both faces, on the local chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import MessageToDict

from devnet import known_bitcoin as known
from devnet.launcher import Devnet
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.e2e.questions import Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet


def bitcoin(**params: Any) -> dict[str, Any]:
    return {"chain": "bitcoin", **params}


async def answer(gateway: RunningGateway, method: str, params: Any) -> Any:
    """Return the data of a result."""
    found = await gateway.ask(method, params)
    assert "error" not in found, found
    return found["result"]["data"]


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    folder: Path = tmp_path_factory.mktemp("bitcoin")
    async with Devnet.start(["bitcoin"]) as devnet:
        overrides = devnet.settings_overrides() | {
            "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
            "grpc": {"host": "127.0.0.1", "port": 0},
            "http": {"host": "127.0.0.1"},
        }
        async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
            yield running


async def test_the_head_is_reported(gateway: RunningGateway) -> None:
    assert await answer(gateway, "getBlockHeight", bitcoin()) == {"chain": "bitcoin", "height": known.HEIGHT}
    health = await answer(gateway, "getChainHealth", bitcoin())
    assert (health["status"], health["type"], health["blockHeight"]) == ("ok", "UTXO", known.HEIGHT)


@pytest.mark.parametrize(
    ("address", "balance"),
    [(known.P2PKH, "4.9999"), (known.P2SH, "12.64567891"), (known.P2WPKH, "15.99990001"), (known.P2TR, "0")],
)
async def test_a_balance_is_exact(gateway: RunningGateway, address: str, balance: str) -> None:
    assert await answer(gateway, "getBalance", bitcoin(address=address)) == {
        "chain": "bitcoin",
        "address": address,
        "blockHeight": known.HEIGHT,
        "token": "BTC",
        "balance": balance,
        "balanceRaw": str(known.CONFIRMED[address]),
        "decimals": 8,
    }


async def test_blocks_are_the_nodes_payload(gateway: RunningGateway) -> None:
    found = await answer(gateway, "getBlockByNumber", [bitcoin(block=known.PAYMENTS), bitcoin(block=9_999_999)])
    good, missing = found["results"]
    assert (good["chain"], good["height"]) == ("bitcoin", str(known.PAYMENTS))
    block = good["block"]
    assert list(block)[:2] == ["number", "hash"]
    assert (block["number"], block["hash"]) == (str(known.PAYMENTS), known.PAYMENTS_HASH)
    assert block["confirmations"] == known.HEIGHT - known.PAYMENTS + 1
    assert (block["bits"], block["nTx"], block["height"]) == ("207fffff", 2, known.PAYMENTS)
    assert known.PAYMENT in block["tx"]
    assert (missing["error"]["code"], missing["error"]["reason"]) == (404, "NOT_FOUND")
    [by_hash] = (await answer(gateway, "getBlockByHash", [bitcoin(hash=known.PAYMENTS_HASH)]))["results"]
    assert by_hash["block"] == block


async def test_a_call_of_the_callers_own(gateway: RunningGateway) -> None:
    asked = bitcoin(method="getblockhash", params=[0])
    assert (await answer(gateway, "chainRpc", asked))["result"] == known.GENESIS


@pytest.mark.parametrize(
    ("method", "params", "code", "reason", "field"),
    [
        ("getBalance", bitcoin(address=known.P2PKH, blockHeight=500), 400, "NOT_SUPPORTED", "blockHeight"),
        ("getBalance", bitcoin(address="mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"), 400, "INVALID_ARGUMENT", "address"),
        ("getBlockByHash", [bitcoin(hash="0x" + "ab" * 32)], 400, "INVALID_ARGUMENT", "params[0].hash"),
        ("getBlockByHash", [bitcoin(hash="ab" * 32)], 404, "NOT_FOUND", "params[0].hash"),
        ("getBlockTransactions", bitcoin(blockNumber=1), 400, "CHAIN_UNSUPPORTED", "chain"),
        ("chainRpc", bitcoin(method="sendrawtransaction", params=["00"]), 400, "INVALID_ARGUMENT", "method"),
    ],
)
async def test_what_is_refused(
    gateway: RunningGateway, method: str, params: Any, code: int, reason: str, field: str | None
) -> None:
    error = (await gateway.ask(method, params))["error"]
    assert (error["code"], error["data"]["reason"], error["data"].get("field")) == (code, reason, field)


async def test_both_faces_agree(gateway: RunningGateway) -> None:
    question = Question("getBalance", bitcoin(address=known.P2WSH))
    message = await gateway.ask_grpc(question.operation, question.message())
    typed = MessageToDict(message, preserving_proto_field_name=False)
    assert typed["balanceRaw"] == str(known.CONFIRMED[known.P2WSH])
    assert (await answer(gateway, question.method, question.params))["balanceRaw"] == typed["balanceRaw"]
