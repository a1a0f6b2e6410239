"""The operations of Starknet over both faces, on the local chain; and what callers read where it does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import MessageToDict

from devnet import known_starknet as known
from devnet.launcher import Devnet
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.e2e.questions import Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

PADDED_BOB = "0x" + known.BOB[2:].rjust(64, "0").upper()


async def answer(gateway: RunningGateway, method: str, params: Any) -> Any:
    """Return the data of a result."""
    found = await gateway.ask(method, params)
    assert "error" not in found, found
    return found["result"]["data"]


def starknet(**params: Any) -> dict[str, Any]:
    return {"chain": "starknet", **params}


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    folder: Path = tmp_path_factory.mktemp("starknet")
    async with Devnet.start(["starknet"]) as devnet:
        overrides = devnet.settings_overrides() | {
            "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
            "grpc": {"host": "127.0.0.1", "port": 0},
            "http": {"host": "127.0.0.1"},
        }
        async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
            yield running


@pytest.fixture
async def crowded(gateway: RunningGateway) -> dict[str, Any]:
    found: dict[str, Any] = await answer(gateway, "getBlockTransactions", starknet(blockNumber=known.CROWDED_BLOCK))
    return found


async def test_the_head_is_reported(gateway: RunningGateway) -> None:
    height = await answer(gateway, "getBlockHeight", starknet())
    assert height == {"chain": "starknet", "height": known.HEIGHT}
    health = await answer(gateway, "getChainHealth", starknet())
    assert (health["status"], health["type"], health["blockHeight"]) == ("ok", "Cairo VM", known.HEIGHT)


async def test_the_native_balance_is_strk(gateway: RunningGateway) -> None:
    asked = starknet(address=PADDED_BOB, blockHeight=known.STRK_BLOCK)
    assert (await answer(gateway, "getBalance", asked)) == {
        "chain": "starknet",
        "address": PADDED_BOB,
        "blockHeight": known.STRK_BLOCK,
        "token": "STRK",
        "balance": "5",
        "balanceRaw": str(known.STRK_SENT),
        "decimals": 18,
    }


async def test_tokens_are_reported_with_their_decimals(gateway: RunningGateway) -> None:
    found = await answer(gateway, "getTokenBalance", starknet(address=known.BOB, token=known.USDC))
    assert found == {
        "chain": "starknet",
        "address": known.BOB,
        "token": known.USDC,
        "blockHeight": known.HEIGHT,
        "balance": "250.000001",
        "balanceRaw": str(known.USDC_SENT),
        "decimals": 6,
    }
    huge = await answer(gateway, "getTokenBalance", starknet(address=known.ALICE, token=known.SNAKE_TOKEN))
    assert huge["balanceRaw"] == str(known.SNAKE_SUPPLY)


async def test_documents_keep_the_nodes_shape(gateway: RunningGateway, crowded: dict[str, Any]) -> None:
    node = {
        "chain": "starknet",
        "method": "starknet_getBlockWithTxs",
        "params": [{"block_number": known.CROWDED_BLOCK}],
    }
    block = (await answer(gateway, "chainRpc", node))["result"]
    assert (crowded["blockNumber"], crowded["hash"]) == (known.CROWDED_BLOCK, block["block_hash"])
    assert (crowded["timestamp"], crowded["transactionCount"]) == (block["timestamp"], 2)
    for printed, native in zip(crowded["transactions"], block["transactions"], strict=True):
        assert printed == {"hash": native["transaction_hash"], **native}
        [row] = (await answer(gateway, "getTransactionByHash", [starknet(hash=printed["hash"])]))["results"]
        place = {"blockNumber": str(known.CROWDED_BLOCK), "from": known.ALICE, "to": known.ETH}
        assert row == {"chain": "starknet", "hash": printed["hash"], "transaction": {**place, **native}}
        receipt = await answer(gateway, "getReceipt", starknet(hash=printed["hash"]))
        asked = {"chain": "starknet", "method": "starknet_getTransactionReceipt", "params": [printed["hash"]]}
        truth = (await answer(gateway, "chainRpc", asked))["result"]
        assert {name: receipt[name] for name in truth} == truth
        assert receipt["blockNumber"] == str(known.CROWDED_BLOCK)


async def test_both_faces_agree(gateway: RunningGateway) -> None:
    for question in (
        Question("getBalance", starknet(address=known.ALICE)),
        Question("getTokenBalance", starknet(address=known.ALICE, token=known.OLD_TOKEN)),
    ):
        printed = await answer(gateway, question.method, question.params)
        reported = MessageToDict(await gateway.ask_grpc(question.operation, question.message()))
        assert (reported["balance"], reported["balanceRaw"]) == (printed["balance"], printed["balanceRaw"])
        assert int(reported["blockHeight"]) == printed["blockHeight"]


@pytest.mark.parametrize(
    ("method", "params", "code", "reason", "field"),
    [
        ("getBalance", starknet(address="0x" + "f" * 64), 400, "INVALID_ARGUMENT", "address"),
        ("getBalance", starknet(address=known.BOB, blockHeight=10**9), 404, "NOT_FOUND", "blockHeight"),
        ("getTokenBalance", starknet(address=known.BOB, token="0x123"), 400, "NOT_A_TOKEN", "token"),
        ("getTokenBalance", starknet(address=known.BOB, token="STRK"), 400, "INVALID_ARGUMENT", "token"),
        ("getReceipt", starknet(hash="0x12g"), 400, "INVALID_ARGUMENT", "hash"),
        ("getReceipt", starknet(hash="0xabc"), 404, "NOT_FOUND", None),
        ("getTransactionByHash", [starknet(hash="nothing")], 400, "INVALID_ARGUMENT", "params[0].hash"),
        ("getBlockTransactions", starknet(blockNumber=10**9), 404, "NOT_FOUND", None),
        ("chainRpc", starknet(method="starknet_addInvokeTransaction"), 400, "INVALID_ARGUMENT", "method"),
        ("getBlockByHash", [starknet(hash="0x1")], 400, "CHAIN_UNSUPPORTED", None),
        ("getCode", starknet(address=known.STRK), 400, "CHAIN_UNSUPPORTED", None),
    ],
)
async def test_mistakes_are_named(
    gateway: RunningGateway, method: str, params: Any, code: int, reason: str, field: str | None
) -> None:
    error = (await gateway.ask(method, params))["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason)
    if field is not None:
        assert error["data"]["field"] == field


async def test_without_the_chain_it_is_said_to_be_down(tmp_path: Path) -> None:
    overrides = {
        "profile": "devnet",
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1"},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        health = await answer(running, "getChainHealth", starknet())
        assert health["status"] == "down"
        error = (await running.ask("getBalance", starknet(address=known.BOB)))["error"]
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
