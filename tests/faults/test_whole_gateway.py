"""What the faults of nodes cost the callers of a whole gateway: HTTP on one side, real nodes on the other."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.faults import simulator as faults
from tests.faults.test_what_nodes_lack import pruned_below

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

RATE = 300
LABELS = ("alpha", "beta", "gamma")
FRESH = (f"0x{number:040x}" for number in itertools.count(1 << 80))


@contextlib.asynccontextmanager
async def gateway_on(folder: Path, *urls: str) -> AsyncIterator[RunningGateway]:
    """Run a gateway whose ethereum is read from these endpoints: alpha, beta, gamma."""
    endpoints = [{"label": label, "url": url} for label, url in zip(LABELS, urls, strict=False)]
    async with run_gateway_on({"ethereum": {"endpoints": endpoints}}, folder) as running:
        yield running


def balance_of(address: str, **params: Any) -> dict[str, Any]:
    return {"chain": "ethereum", "address": address, **params}


class Load:
    """Asks for balances of fresh accounts at an even rate, and keeps what became of them.

    `late` are the requests that left a tenth of a second after their moment, because the loop had no time for them.
    """

    def __init__(self, gateway: RunningGateway) -> None:
        self._gateway = gateway
        self.failures: list[Any] = []
        self.seconds: list[float] = []
        self.late = 0

    async def run(self, seconds: float) -> None:
        started = time.monotonic()
        tasks = []
        for number in range(int(seconds * RATE)):
            wait = started + number / RATE - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            self.late += wait < -0.1
            tasks.append(asyncio.create_task(self._one()))
        await asyncio.gather(*tasks)

    async def _one(self) -> None:
        began = time.monotonic()
        try:
            answer = await self._gateway.ask("getBalance", balance_of(next(FRESH)))
            if answer.get("result", {}).get("data", {}).get("balanceRaw") != "0":
                self.failures.append(answer)
        except Exception as error:
            self.failures.append(error)
        self.seconds.append(time.monotonic() - began)


async def test_load_during_kill_silence_errors_and_recovery_costs_no_caller_an_error(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in LABELS]
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        load = Load(gateway)
        await load.run(0.5)
        running = asyncio.create_task(load.run(9))
        await asyncio.sleep(0.5)
        for fault in (faults.silence, faults.broken, faults.cut, faults.web_page):
            favourite = max(nodes, key=lambda node: len(node.asked))
            favourite.fault = fault
            await asyncio.sleep(1)
            for node in nodes:
                node.asked.clear()
            await asyncio.sleep(0.5)
            favourite.fault = faults.honest
        killed = max(nodes, key=lambda node: len(node.asked))
        await killed.stop()
        await asyncio.sleep(1)
        await killed.start()
        await running
    assert load.failures == []
    assert len(load.seconds) == int(9.5 * RATE)
    slow = sum(seconds > 1.5 for seconds in load.seconds)
    # Callers, gateway and the fronts of the nodes share this process: where it cannot keep the rate, the time that
    # callers wait proves nothing of the nodes.
    assert slow < len(load.seconds) * 0.05 or load.late > len(load.seconds) * 0.05


@pytest.mark.parametrize(
    "fault",
    [faults.drop, faults.broken, faults.too_many, faults.half_batch, faults.wrong_id, faults.cut_json],
    ids=["drops", "answers 500", "answers 429", "answers half", "answers others", "cuts"],
)
async def test_one_bad_endpoint_of_two_costs_no_caller_of_a_batch_an_error(
    fault: faults.Fault, devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in range(2)]
    nodes[0].fault = faults.spoil("nothing", lambda one: None)
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        assert "result" in await gateway.ask("getBlockHeight", {"chain": "ethereum"})
        nodes[0].fault = fault
        body = [
            {"jsonrpc": "2.0", "id": number, "method": "getBalance", "params": balance_of(next(FRESH))}
            for number in range(50)
        ]
        for _ in range(3):
            answers = json.loads(await (await gateway.post(body)).read())
            assert [answer.get("error") for answer in answers] == [None] * 50


async def test_callers_who_hang_up_cost_the_others_no_error(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    node.fault = faults.delay(0.02)
    token = devnet.nodes["ethereum"].chain.token("USDC")
    expected = str(known.vitalik_at_head(token))

    async def hang_up(gateway: RunningGateway, params: dict[str, Any], after: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(after):
                await gateway.ask("getTokenBalance", params)

    async with gateway_on(tmp_path, node.url) as gateway:
        same = {"chain": "ethereum", "address": known.VITALIK, "token": token.address}
        for _ in range(5):
            await devnet.mine("ethereum", 1)
            hasty = [hang_up(gateway, same, 0.001 * number) for number in range(1, 16)]
            hasty += [hang_up(gateway, same | {"address": next(FRESH)}, 0.001 * number) for number in range(1, 16)]
            patient = [gateway.ask("getTokenBalance", same) for _ in range(10)]
            patient += [gateway.ask("getTokenBalance", same | {"address": next(FRESH)}) for _ in range(10)]
            answers = (await asyncio.gather(*hasty, *patient))[len(hasty) :]
            assert [answer.get("error") for answer in answers] == [None] * 20
            balances = [answer["result"]["data"]["balanceRaw"] for answer in answers]
            assert balances == [expected] * 10 + ["0"] * 10


async def test_hostile_burning_and_bombing_tokens_harm_no_other_clients_reads(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    """A caller's token that changes state, burns gas or answers a megabyte, beside 49 reads of another client."""
    node = devnet.nodes["ethereum"]
    weth, right = node.chain.wrapped_native.address, {"chain": "ethereum", "address": known.VITALIK}
    wanted: list[tuple[str, dict[str, str], str]] = [
        ("getTokenBalance", right | {"token": token.address}, str(known.vitalik_at_head(token)))
        for token in node.chain.tokens
    ]
    wanted.append(("getBalance", right, str(known.NATIVE_AT_HEAD)))
    while len(wanted) < 49:
        wanted.append(("getTokenBalance", {"chain": "ethereum", "address": next(FRESH), "token": weth}, "0"))
    answered = (known.HOSTILE_TOKEN, known.RETURN_BOMBER)
    hostile = (*answered, known.GAS_BURNER, known.REVERT_BOMBER, known.SILENT_CONTRACT)
    async with gateway_on(tmp_path, devnet.endpoints["ethereum"]) as gateway:
        for token in hostile:
            # A block of its own each time, so that no answer comes out of the cache.
            await devnet.mine("ethereum", 1)
            body = [
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                for number, (method, params, _) in enumerate(wanted)
            ]
            bad, good = await asyncio.gather(
                gateway.ask("getTokenBalance", right | {"token": token}), gateway.post(body)
            )
            answers = json.loads(await good.read())
            balances = [answer["result"]["data"]["balanceRaw"] for answer in answers]
            assert balances == [balance for _, _, balance in wanted], token
            assert ("result" in bad) == (token in answered)


async def test_an_endpoint_of_another_chain_is_never_read_and_said_so(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = await faulty(devnet.endpoints["polygon"])
    async with gateway_on(tmp_path, wrong.url, devnet.endpoints["ethereum"]) as gateway:
        for _ in range(5):
            answer = await gateway.ask("getBalance", balance_of(known.VITALIK))
            assert answer["result"]["data"]["balanceRaw"] == str(known.NATIVE_AT_HEAD)
        assert set(wrong.methods) == {"eth_chainId"}
        health = await gateway.ask("getChainHealth", {"chain": "ethereum"})
        assert health["result"]["data"]["status"] == "ok"
    said = caplog.text
    assert "serves chain id 137 instead of 1" in said
    assert "alpha" in said
    assert wrong.url not in said
    async with gateway_on(tmp_path, wrong.url) as gateway:
        answer = await gateway.ask("getBalance", balance_of(known.VITALIK))
        assert answer["error"]["code"] == 503
        assert "alpha: serves chain id 137 instead of 1" in answer["error"]["message"]
        assert set(wrong.methods) == {"eth_chainId"}


async def test_state_that_no_node_keeps_is_reported_with_the_oldest_block_known(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    height = devnet.nodes["ethereum"].chain.height
    head = int(await devnet.nodes["ethereum"].call("eth_blockNumber"), 16)
    pruned = await faulty(devnet.endpoints["ethereum"])
    pruned.fault = pruned_below(height + 10)
    old = balance_of(known.VITALIK, blockHeight=height + 3)
    async with gateway_on(tmp_path, pruned.url) as gateway:
        # Nothing was read but the head: it is not what the nodes keep.
        for method in ("getBalance", "getCode", "getBalance"):
            there = await gateway.ask(method, balance_of(known.VITALIK, blockHeight=head))
            assert there["result"]["data"]["blockHeight"] == head
            there = await gateway.ask(method, balance_of(known.VITALIK))
            assert there["result"]["data"]["blockHeight"] == head
            gone = await gateway.ask(method, old)
            assert gone["error"]["data"]["reason"] == "ARCHIVE_REQUIRED"
            assert "oldest" not in gone["error"]["message"]
            assert "oldestBlock" not in gone["error"]["data"]
        there = await gateway.ask("getBalance", balance_of(known.VITALIK, blockHeight=height + 12))
        assert there["result"]["data"]["blockHeight"] == height + 12
        for method in ("getBalance", "getCode"):
            gone = await gateway.ask(method, old)
            assert f"the oldest block answered lately is {height + 12}" in gone["error"]["message"]
            assert gone["error"]["data"]["oldestBlock"] == str(height + 12)
