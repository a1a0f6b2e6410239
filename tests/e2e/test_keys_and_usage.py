"""What keys may do, what answers cost and what is counted for whom, over both faces of one gateway on local nodes."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from waypost.v1 import account_pb2, block_pb2, system_pb2, usage_pb2

from devnet import known
from runtime.metrics import REGISTRY
from runtime.operations import load_operations
from server.access.keys import KeyStore, new_key
from server.storage.database import open_database
from server.storage.usage_records import UsageRecords
from tests.e2e.gateway import run_gateway_on
from tests.server.access.test_usage import EVER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

# Of no other test's endpoint.
LABEL = "keys-and-usage"
OPERATIONS = {operation.name: operation for operation in load_operations()}
WALLET = known.ALICE
BALANCE = {"chain": "ethereum", "address": WALLET}


class Caller:
    """Asks with one key, and keeps what it was charged and answered."""

    def __init__(self, gateway: RunningGateway, key: str) -> None:
        self._gateway, self._key = gateway, key
        self.units = self.requests = 0
        self.errors: Counter[str] = Counter()

    async def post(self, body: Any) -> Any:
        answers = await self._gateway.post(body, path=f"/{self._key}/v1")
        self.units += int(answers.headers["X-Waypost-Cost"])
        document = await answers.json()
        for answer in document if isinstance(document, list) else [document]:
            self._note(answer.get("error", {}).get("data", {}).get("reason"))
        return document

    async def ask(self, method: str, params: Any) -> Any:
        """Return data, or the error, of one request."""
        answer = await self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return answer["result"]["data"] if "result" in answer else answer["error"]

    async def call(self, name: str, request: Any) -> Any:
        """Return the response of a gRPC call, or its status and reason."""
        operation = OPERATIONS[name]
        method = self._gateway.channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        call = method(request, metadata=(("x-api-key", self._key),), timeout=20)
        try:
            answer = await call
            reason = None
        except grpc.aio.AioRpcError as error:
            info = error_details_pb2.ErrorInfo()
            status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"]).details[0].Unpack(
                info
            )
            answer, reason = (error.code(), info.reason), info.reason
        self.units += int(dict(await call.trailing_metadata())["x-waypost-cost"])
        self._note(reason)
        return answer

    def _note(self, reason: str | None) -> None:
        self.requests += 1
        if reason:
            self.errors[reason] += 1


def upstream(name: str, **labels: str) -> float:
    """Return a figure of the pools of this module's gateway, summed over its chains."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == name and sample.labels["endpoint"] == LABEL and labels.items() <= sample.labels.items()
    )


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[AsyncEngine]:
    engine = await open_database(f"sqlite:///{folder}/waypost.db", "devnet")
    yield engine
    await engine.dispose()


@pytest.mark.devnet
async def test_what_a_key_may_not_is_refused_and_all_that_is_charged_is_counted(
    devnet: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chains = {
        slug: {"endpoints": [{"label": LABEL, "url": devnet.endpoints[slug]}]} for slug in ("ethereum", "polygon")
    }
    async with opened(tmp_path) as database:
        store = KeyStore(database)
        _, free_key = await store.create_key("free", 10_000, 10_000)
        allowed = ["getBalance", "getBlockByNumber", "getPortfolio", "compareGas", "getUsage"]
        _, held_key = await store.create_key("held", 10_000, 10_000, operations=allowed, chains=["ethereum"])
        async with run_gateway_on(chains, tmp_path) as gateway:
            free, held = Caller(gateway, free_key), Caller(gateway, held_key)
            for caller in (free, held, free, held, held):
                assert (await caller.ask("getBalance", BALANCE))["chain"] == "0x1"
            await asks_beside_its_rights(free, held)
            await fails_in_every_way(free)
            assert (await free.ask("compareGas", {}))["notAllowed"] == []
            elsewhere = {"chain": "ethereum", "address": "0x" + "77" * 20}
            await asyncio.gather(*(free.ask("getBalance", elsewhere) for _ in range(4)))
            usage = await free.call("getUsage", usage_pb2.GetUsageRequest(group_by=usage_pb2.USAGE_GROUP_OPERATION))
            assert usage.account == "key:1"
            await database_is_away(gateway, free, monkeypatch)
        records = UsageRecords(database)
        for account, caller in (("key:1", free), ("key:2", held)):
            (found,) = await records.read("account", *EVER, account)
            assert found.figures["units"] == caller.units
            assert found.figures["requests"] == caller.requests
            assert found.errors == caller.errors
            assert found.figures["cache_hits"] > 0
            assert found.figures["upstream_requests"] > 0
            assert found.figures["joined"] >= (3 if caller is free else 0)
        everyone = await records.read("account", *EVER)
        for figure, counted in (
            ("upstream_requests", upstream("waypost_upstream_requests_total")),
            ("bytes_sent", upstream("waypost_upstream_bytes_total", direction="sent")),
            ("bytes_received", upstream("waypost_upstream_bytes_total", direction="received")),
        ):
            assert sum(one.figures[figure] for one in everyone) == counted > 0
        assert {one.group for one in everyone} == {"gateway", "key:1", "key:2"}


async def database_is_away(gateway: RunningGateway, known_caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask with a known and an unknown key while the keys cannot be read."""

    async def fail(_: KeyStore) -> tuple[int, int, int]:
        raise ConnectionError("postgres://user:secret@host")

    with monkeypatch.context() as patch:
        patch.setattr(KeyStore, "version", fail)
        unknown = new_key()
        refused = await gateway.post({"jsonrpc": "2.0", "id": 1, "method": "getHealth"}, path=f"/{unknown}/v1")
        assert (refused.status, (await refused.json())["error"]["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert "Retry-After" in refused.headers
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(OPERATIONS["getHealth"], system_pb2.GetHealthRequest(), unknown)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert (await known_caller.ask("getBalance", BALANCE))["chain"] == "0x1"
        async with gateway.session.get(f"{gateway.http}/readyz") as ready:
            assert ready.status == 200
    refused = await gateway.post({"jsonrpc": "2.0", "id": 1, "method": "getHealth"}, path=f"/{unknown}/v1")
    assert refused.status == 401


async def asks_beside_its_rights(free: Caller, held: Caller) -> None:
    """Ask for operations and chains that the one key may not, some of them answered to the other a moment ago."""
    elsewhere = {"chain": "polygon", "address": WALLET}
    for _ in range(3):
        assert (await free.ask("getBalance", elsewhere))["chain"] == "0x89"
    refused = await held.ask("getBalance", elsewhere)
    assert (refused["code"], refused["data"]["reason"], refused["data"]["field"]) == (401, "KEY_NOT_ALLOWED", "chain")
    assert "ethereum" in refused["message"]
    refused = await held.ask("getBlockHeight", {"chain": "ethereum"})
    assert refused["code"] == 401
    assert "getBalance, getBlockByNumber" in refused["message"]
    denied = (grpc.StatusCode.PERMISSION_DENIED, "KEY_NOT_ALLOWED")
    assert await held.call("getBalance", account_pb2.GetBalanceRequest(**elsewhere)) == denied
    assert await held.call("getBlockHeight", block_pb2.GetBlockHeightRequest(chain="ethereum")) == denied

    heads = [(chain, await free.ask("getBlockHeight", {"chain": chain})) for chain in ("ethereum", "polygon")]
    items = [{"chain": chain, "block": head["height"]} for chain, head in heads]
    refused = await held.ask("getBlockByNumber", items)
    assert refused["data"]["field"] == "params[1].chain"
    assert (await free.ask("getBlockByNumber", items))["count"] == 2
    whole = await held.ask("getPortfolio", {"address": WALLET, "chains": ["ethereum", "polygon"]})
    assert whole["data"]["field"] == "chains[1]"

    batch = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(
            [
                ("getBalance", BALANCE),
                ("getBalance", elsewhere),
                ("getChainHealth", BALANCE),
                ("getBlockByNumber", items[:1]),
            ]
        )
    ]
    answers = await held.post(batch)
    assert ["error" in answer for answer in answers] == [False, True, True, False]
    # Refused as an unknown parameter before the server could know whose call it was.
    assert [answer["error"]["code"] for answer in answers[1:3]] == [401, 400]

    gas = await held.ask("compareGas", {})
    assert {row["chain"] for row in gas["results"]} == {"ethereum"}
    assert "polygon" in gas["notAllowed"]
    wallet = await held.ask("getPortfolio", {"address": WALLET})
    assert [row["chain"] for row in wallet["chains"]] == ["ethereum"]
    assert "polygon" in wallet["notAllowed"]


async def fails_in_every_way(caller: Caller) -> None:
    """End requests in the transcoder, in the checks and in the servicer, alone and in a batch."""
    for method, params in (
        ("noSuchMethod", {}),
        ("getBalance", {"chain": "ethereum", "adress": WALLET}),
        ("getBalance", {"chain": "ethereum", "address": "0x12"}),
        ("getBalance", {"chain": "nowhere", "address": WALLET}),
        ("getBlockByNumber", [{"chain": "ethereum", "block": 10**12}]),
    ):
        assert (await caller.ask(method, params))["code"] in (400, 404)
    request = {"jsonrpc": "2.0", "id": 1, "method": "getPortfolio", "params": {"address": WALLET, "chains": "ethereum"}}
    answers = await caller.post([{**request, "method": "noSuchMethod"}, request, {"jsonrpc": "1.0"}])
    assert ["error" in answer for answer in answers] == [True, False, True]
