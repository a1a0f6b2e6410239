"""One chain whose node is frozen, beside one that answers: what multi-item calls and chain health answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
import pytest_asyncio
from waypost.v1 import block_pb2, common_pb2, portfolio_pb2, system_pb2, transaction_pb2
from waypost.v1.common_pb2 import REASON_DEADLINE_EXCEEDED

from devnet.ports import free_port
from runtime.operations import load_operations
from server.upstream.probing import HUNG_SECONDS
from tests.e2e.gateway import KEY, RunningGateway, run_gateway_on
from tests.faults import simulator as faults
from tests.faults.conftest import wait_for_node
from tests.pausing import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from google.protobuf.message import Message

OPERATIONS = {operation.name: operation for operation in load_operations()}
HOLDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
HUNG = f"primary: hangs: not a byte within {HUNG_SECONDS:g} s"
FAR = "0x" + "ab" * 32
SLACK = 2.0


@contextlib.asynccontextmanager
async def gateway_on(folder: Path, **chains: str) -> AsyncIterator[RunningGateway]:
    """Run a gateway that reads each chain from one endpoint, `primary`."""
    endpoints = {slug: {"endpoints": [{"label": "primary", "url": url}]} for slug, url in chains.items()}
    async with run_gateway_on(endpoints, folder) as running:
        yield running


class Pair:
    """A gateway over ethereum, whose node answers, and base, whose node is frozen; both have one transaction."""

    def __init__(self, gateway: RunningGateway, frozen: Any, hashes: dict[str, dict[str, str]]) -> None:
        self.gateway, self.frozen, self.hashes = gateway, frozen, hashes

    async def ask(self, method: str, params: Any) -> tuple[dict[str, Any], float]:
        started = time.monotonic()
        return await self.gateway.ask(method, params), time.monotonic() - started

    async def ask_grpc(self, name: str, request: Message, seconds: float) -> tuple[Any, float]:
        operation, started = OPERATIONS[name], time.monotonic()
        call = self.gateway.channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        answer = await call(request, metadata=(("x-api-key", KEY),), timeout=seconds)
        return answer, time.monotonic() - started


@pytest_asyncio.fixture(loop_scope="session")
async def pair(anvil: Callable[..., Any], tmp_path: Path) -> AsyncIterator[Pair]:
    nodes = {slug: anvil("--chain-id", chain_id) for slug, chain_id in (("ethereum", "1"), ("base", "8453"))}
    hashes: dict[str, dict[str, str]] = {}
    async with aiohttp.ClientSession() as session:

        async def call(url: str, method: str, *params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            async with session.post(url, json=body) as response:
                return (await response.json())["result"]

        for slug, (_, url) in nodes.items():
            await wait_for_node(url)
            tx = await call(url, "eth_sendTransaction", {"from": HOLDER, "to": HOLDER, "value": "0x1"})
            for _ in range(100):
                block = await call(url, "eth_getBlockByNumber", "0x1", False)
                if block is not None:
                    break
                await asyncio.sleep(0.05)
            hashes[slug] = {"tx": tx, "block": block["hash"]}
    async with gateway_on(tmp_path, **{slug: url for slug, (_, url) in nodes.items()}) as gateway:
        for slug in nodes:
            # Both are in use, and have proved their chain.
            assert "result" in await gateway.ask("getBlockHeight", {"chain": slug})
        pause(nodes["base"][0].pid)
        yield Pair(gateway, nodes["base"][0], hashes)


def check_rows(rows: list[dict[str, Any]], reason: str) -> None:
    """Check that ethereum's row is there and base's states why it is not."""
    good = next(row for row in rows if row["chain"] == "ethereum")
    bad = next(row for row in rows if row["chain"] == "base")
    assert good.get("error") is None
    assert bad["error"]["code"] == 503
    assert bad["error"]["reason"] == reason
    assert "base" in bad["error"]["message"]
    assert "primary: " in bad["error"]["message"]
    assert "127.0.0.1" not in bad["error"]["message"]


@pytest.mark.parametrize("operation", ["getBlockByNumber", "getBlockByHash", "getTransactionByHash", "getPortfolio"])
async def test_a_frozen_chain_costs_its_own_row_alone(pair: Pair, operation: str) -> None:
    params: Any = {
        "getBlockByNumber": {"items": "base:1,ethereum:1"},
        "getBlockByHash": {"items": ",".join(f"{slug}:{found['block']}" for slug, found in pair.hashes.items())},
        "getTransactionByHash": {"items": ",".join(f"{slug}:{found['tx']}" for slug, found in pair.hashes.items())},
        "getPortfolio": {"address": HOLDER, "chains": ["base", "ethereum"]},
    }[operation]
    member = "chains" if operation == "getPortfolio" else "results"
    answer, seconds = await pair.ask(operation, params)
    check_rows(answer["result"]["data"][member], "DEADLINE_EXCEEDED")
    assert seconds < HUNG_SECONDS + 1.0 + SLACK
    # It is known to hang by now: no call waits for it any more.
    answer, seconds = await pair.ask(operation, params)
    check_rows(answer["result"]["data"][member], "UPSTREAM_UNAVAILABLE")
    assert HUNG in str(answer)
    assert seconds < 1.0 + SLACK


@pytest.mark.parametrize("operation", ["getBlockByNumber", "getBlockByHash", "getTransactionByHash", "getPortfolio"])
async def test_the_row_has_a_deadline_inside_that_of_a_hasty_call(pair: Pair, operation: str) -> None:
    chains = ("base", "ethereum")
    request: Any = {
        "getBlockByNumber": block_pb2.GetBlockByNumberRequest(
            items=[block_pb2.GetBlockByNumberItem(chain=chain, block=1) for chain in chains]
        ),
        "getBlockByHash": block_pb2.GetBlockByHashRequest(
            items=[block_pb2.GetBlockByHashItem(chain=chain, hash=pair.hashes[chain]["block"]) for chain in chains]
        ),
        "getTransactionByHash": transaction_pb2.GetTransactionByHashRequest(
            items=[
                transaction_pb2.GetTransactionByHashItem(chain=chain, hash=pair.hashes[chain]["tx"]) for chain in chains
            ]
        ),
        "getPortfolio": portfolio_pb2.GetPortfolioRequest(address=HOLDER, chains=chains),
    }[operation]
    answer, seconds = await pair.ask_grpc(operation, request, 3.0)
    rows = answer.chains if operation == "getPortfolio" else answer.results
    errors: dict[str, common_pb2.RowError] = {
        row.chain: row.error for row in rows if row.WhichOneof("outcome") == "error"
    }
    assert list(errors) == ["base"]
    assert errors["base"].reason == REASON_DEADLINE_EXCEEDED
    assert (errors["base"].code, errors["base"].status) == (503, grpc.StatusCode.DEADLINE_EXCEEDED.value[0])
    assert "base" in errors["base"].message
    assert "primary: no answer within" in errors["base"].message or "primary: no byte for" in errors["base"].message
    assert seconds < 3.0


async def test_only_frozen_rows_fail_the_call_with_the_first_error(pair: Pair) -> None:
    items = [{"chain": "base", "block": 1}, {"chain": "base", "block": 0}]
    answer, seconds = await pair.ask("getBlockByNumber", items)
    assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (503, "DEADLINE_EXCEEDED")
    assert seconds < HUNG_SECONDS + 1.0 + SLACK
    request = block_pb2.GetBlockByNumberRequest(items=[block_pb2.GetBlockByNumberItem(chain="base", block=1)])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await pair.ask_grpc("getBlockByNumber", request, 10.0)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert HUNG in caught.value.details()


async def test_prices_and_gas_are_answered_without_the_frozen_chain(pair: Pair) -> None:
    answer, seconds = await pair.ask("compareGas", {})
    assert [row["chain"] for row in answer["result"]["data"]["results"]] == ["ethereum"]
    assert seconds < 5.0 + SLACK
    answer, seconds = await pair.ask("getPrices", {"items": "ETH,BTC"})
    assert seconds < 8.0 + SLACK
    found = answer.get("result") or answer["error"]
    assert "DEADLINE" not in str(found)


async def test_a_batch_of_single_calls_loses_the_frozen_chain_alone(pair: Pair) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": chain, "method": "getBalance", "params": {"chain": chain, "address": HOLDER}}
        for chain in ("base", "ethereum")
    ]
    response = await pair.gateway.post(calls)
    answers = {answer["id"]: answer for answer in await response.json()}
    assert answers["ethereum"]["result"]["data"]["balanceRaw"] != "0"
    assert answers["base"]["error"]["data"]["reason"] == "DEADLINE_EXCEEDED"


# --- Chain health -----------------------------------------------------------------------------------------------------


async def health_of(gateway: RunningGateway, chain: str) -> tuple[str, str | None]:
    """Return status and reason of a chain, the same on both faces."""
    answer = (await gateway.ask("getChainHealth", {"chain": chain}))["result"]["data"]
    found: Any = await gateway.ask_grpc(OPERATIONS["getChainHealth"], system_pb2.GetChainHealthRequest(chain=chain))
    assert found.HasField("reason") == ("reason" in answer)
    if "reason" in answer:
        word = answer["reason"].upper().replace(" ", "_")
        assert system_pb2.ChainTrouble.Name(found.reason) == f"CHAIN_TROUBLE_{word}"
    return answer["status"], answer.get("reason")


async def test_chain_health_says_why_a_chain_is_down(
    anvil: Callable[..., Any], faulty: Callable[..., Any], tmp_path: Path
) -> None:
    (_, ethereum), (frozen, arbitrum) = anvil("--chain-id", "1"), anvil("--chain-id", "42161")
    for url in (ethereum, arbitrum):
        await wait_for_node(url)
    failing, throttling, dropping = [await faulty(ethereum) for _ in range(3)]
    failing.fault, throttling.fault, dropping.fault = faults.broken, faults.too_many, faults.drop
    chains = {
        "ethereum": ethereum,
        "base": ethereum,
        "arbitrum": arbitrum,
        "scroll": f"http://127.0.0.1:{free_port()}",
        "optimism": failing.url,
        "polygon": throttling.url,
        "linea": dropping.url,
    }
    async with gateway_on(tmp_path, **chains) as gateway:
        pause(frozen.pid)
        assert {chain: await health_of(gateway, chain) for chain in (*chains, "gnosis")} == {
            "ethereum": ("ok", None),
            "base": ("down", "wrong chain"),
            "arbitrum": ("down", "hangs"),
            "scroll": ("down", "refused"),
            "optimism": ("down", "fails"),
            "polygon": ("down", "throttled"),
            "linea": ("down", "refused"),
            "gnosis": ("down", "no endpoint"),
        }
