"""Errors for almost right requests, over both faces alike where both can say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from devnet.evm.world import load_world
from runtime.operations import load_operations

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

OPERATIONS = {operation.name: operation for operation in load_operations()}
VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


async def refusal(gateway: RunningGateway, method: str, params: Any) -> tuple[str, str, str | None]:
    error = (await gateway.ask(method, params))["error"]
    return error["data"]["reason"], error["message"], error["data"].get("field")


async def on_both(gateway: RunningGateway, method: str, params: dict[str, Any]) -> tuple[str, str, str | None]:
    """Return the refusal, which both faces word alike."""
    refused = await refusal(gateway, method, params)
    operation = OPERATIONS[method]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await gateway.ask_grpc(operation, ParseDict(params, operation.request()))
    assert caught.value.details() == refused[1]
    return refused


@pytest.mark.parametrize(
    ("chain", "slug"),
    [
        *(("eth", "ethereum"), ("mainnet", "ethereum"), ("op", "optimism"), ("arb", "arbitrum"), ("matic", "polygon")),
        *(("bnb", "bsc"), ("avax", "avalanche"), ("btc", "bitcoin"), ("sol", "solana"), ("atom", "cosmoshub")),
        *(("Base Chain", "base"), ("etherium", "ethereum"), ("137", "polygon")),
    ],
)
async def test_a_chain_by_another_name_gets_its_slug(faces: RunningGateway, chain: str, slug: str) -> None:
    refused = await on_both(faces, "getBalance", {"chain": chain, "address": VITALIK})
    assert refused == ("CHAIN_UNKNOWN", f"no chain has the slug `{chain}`; did you mean `{slug}`?", "chain")


@pytest.mark.parametrize("chain", ["nochain", "tron", "litecoin", "mychain", "arbitrum-nova"])
async def test_no_chain_is_suggested_that_is_not_near(faces: RunningGateway, chain: str) -> None:
    reason, message, _ = await on_both(faces, "getBalance", {"chain": chain, "address": VITALIK})
    assert reason == "CHAIN_UNKNOWN"
    assert "did you mean" not in message
    assert "chains are: ethereum, polygon" in message


@pytest.mark.parametrize("method", [name for name, operation in OPERATIONS.items() if operation.takes_items])
async def test_one_object_is_answered_with_the_array_form(faces: RunningGateway, method: str) -> None:
    field = OPERATIONS[method].request.DESCRIPTOR.fields_by_name["items"]
    members = {part.json_name: "x" for part in field.message_type.fields}
    reason, message, where = await refusal(faces, method, members)
    assert (reason, where) == ("UNKNOWN_PARAMETER", next(iter(members)))
    assert f'unknown parameter "{where}"; known: items; or write params as an array of objects: [{{"' in message


@pytest.mark.parametrize(
    ("method", "params", "where"),
    [
        ("getBlockByNumber", [{"chain": "ethereum", "block": 26050001.0}], "params[0].block"),
        ("getBlockTransactions", {"chain": "ethereum", "blockNumber": 26050001.0}, "blockNumber"),
        ("getBalance", {"chain": "ethereum", "address": VITALIK, "blockHeight": 26050001.0}, "blockHeight"),
        ("getLogs", {"chain": "ethereum", "fromBlock": 26050001.0}, "fromBlock"),
        ("getLogs", {"chain": "ethereum", "cursor": 26050001.0}, "cursor"),
        ("simulateCall", {"chain": "ethereum", "to": VITALIK, "data": "0x", "block": 26050001.0}, "block"),
        ("getNftTokenOwner", {"chain": "ethereum", "contract": VITALIK, "tokenId": 26050001.0}, "tokenId"),
    ],
)
async def test_a_number_with_a_fraction_has_to_be_whole(
    faces: RunningGateway, method: str, params: Any, where: str
) -> None:
    refused = await refusal(faces, method, params)
    words = f"{where} must be a whole number, not the number 26050001.0; write 26050001"
    assert refused == ("INVALID_ARGUMENT", words, where)


@pytest.mark.parametrize(("text", "advice"), [("26050001.0", "; write 26050001"), ("26050001.5", "; for example ")])
async def test_a_number_with_a_fraction_in_text_is_reported_to_be_whole(
    faces: RunningGateway, text: str, advice: str
) -> None:
    for method, params, where in (
        ("getBlockByNumber", {"items": f"ethereum:{text}"}, "params[0].block"),
        ("getBlockTransactions", {"chain": "ethereum", "blockNumber": text}, "blockNumber"),
        ("getBalance", {"chain": "ethereum", "address": VITALIK, "blockHeight": text}, "blockHeight"),
    ):
        reason, message, field = await refusal(faces, method, params)
        assert (reason, field) == ("INVALID_ARGUMENT", where)
        assert message.startswith(f'{where} must be a whole number, not the text "{text}"{advice}')


async def test_a_block_with_a_fraction_in_text_is_reported_to_be_whole(faces: RunningGateway) -> None:
    _, message, where = await refusal(faces, "getLogs", {"chain": "ethereum", "fromBlock": "26050001.0"})
    assert where == "fromBlock"
    assert "write a whole block number" in message


async def test_a_range_without_its_beginning_is_answered_with_what_to_add(faces: RunningGateway) -> None:
    height = load_world()["ethereum"].height
    logs = {"chain": "ethereum", "toBlock": str(height)}
    head = (await faces.ask("getBlockHeight", {"chain": "ethereum"}))["result"]["data"]["height"]
    words = (
        f"fromBlock: without one the range begins at the latest block, {head}, above toBlock {height}; add a fromBlock "
        f"of at most {height}, for example {height - 999}"
    )
    assert await on_both(faces, "getLogs", logs) == ("INVALID_ARGUMENT", words, "fromBlock")
    # The advice helps.
    answer = await faces.ask("getLogs", logs | {"fromBlock": str(height - 999)})
    assert "result" in answer, answer
    _, message, _ = await on_both(faces, "getTransfers", {"chain": "ethereum", "address": VITALIK, "toBlock": "5"})
    assert message.startswith("fromBlock: without one the range begins at block ")
    assert message.endswith("add a fromBlock of at most 5, for example 0")
