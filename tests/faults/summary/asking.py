"""Asking for summaries over either face, and comparing their rows with the operations of their own."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from devnet import known
from runtime.operations import load_operations
from transcoder.render import result_renderer

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

OPERATIONS = {operation.name: operation for operation in load_operations()}
FACES = ("JSON-RPC", "gRPC")
FRESH = (f"0x{number:040x}" for number in itertools.count(1 << 90))
LABELS = ("alpha", "beta", "gamma")

OWN = {
    "lend-a-v2": "getLendAV2UserPositions",
    "lend-a-v3": "getLendAV3UserPositions",
    "lend-b-v2": "getLendBV2UserPositions",
    "lend-b-v3": "getLendBV3UserPositions",
    "lend-c": "getLendCUserPositions",
    "stake-a": "getStakeAUserPositions",
    "pool-a-lend": "getPoolALend",
}
"""The rows in their order, and the operation that answers each by itself."""
HERE = {"ethereum": set(OWN), "polygon": {"lend-a-v2", "lend-a-v3", "lend-b-v3", "stake-a"}}


@dataclass
class Refusal:
    """An error over either face."""

    code: int
    reason: str
    message: str


@dataclass
class Caller:
    """Asks a gateway over one face; answers are the `data` of JSON-RPC."""

    gateway: RunningGateway
    face: str

    async def ask(self, method: str, **params: Any) -> Any:
        if self.face == "JSON-RPC":
            answer = await self.gateway.ask(method, params)
            if "result" in answer:
                return answer["result"]["data"]
            error = answer["error"]
            return Refusal(error["code"], error["data"]["reason"], error["message"])
        operation = OPERATIONS[method]
        try:
            message = await self.gateway.ask_grpc(operation, operation.request(**params))
        except grpc.aio.AioRpcError as error:
            return _refusal(error)
        return json.loads(result_renderer(message.DESCRIPTOR, operation.options.result)(message))["data"]

    async def summary(self, chain: str = "ethereum", address: str = known.VITALIK) -> Any:
        return await self.ask("getDefiSummary", chain=chain, address=address)


def _refusal(error: grpc.aio.AioRpcError) -> Refusal:
    codes = {grpc.StatusCode.UNAVAILABLE: 503, grpc.StatusCode.DEADLINE_EXCEEDED: 503}
    status, info = status_pb2.Status(), error_details_pb2.ErrorInfo()
    details = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    status.ParseFromString(details)
    for detail in status.details:
        detail.Unpack(info)
    return Refusal(codes[error.code()], info.reason, str(error.details()))


def settings(**urls: list[str]) -> dict[str, Any]:
    return {
        slug: {"endpoints": [{"label": label, "url": url} for label, url in zip(LABELS, of_chain, strict=False)]}
        for slug, of_chain in urls.items()
    }


async def catch_up(caller: Caller, chain: str) -> None:
    """Let a gateway learn of the newest block, by a read that shares nothing with others."""
    assert not isinstance(await caller.ask("getBalance", chain=chain, address=next(FRESH)), Refusal)


async def check(judge: Caller, summary: Any, failed: set[str] = frozenset(), chain: str = "ethereum") -> dict[str, Any]:
    """Check order, states and figures of a summary, and return the errors by row."""
    await catch_up(judge, chain)
    assert not isinstance(summary, Refusal), summary
    assert [row["protocol"] for row in summary["protocols"]] == list(OWN)
    errors = {}
    for row in summary["protocols"]:
        name = row["protocol"]
        wanted = "unsupported" if name not in HERE[chain] else "error" if name in failed else "ok"
        assert row["status"] == wanted, row
        if wanted == "ok":
            own = await judge.ask(OWN[name], chain=chain, address=summary["address"])
            assert row["data"] == {key: own[key] for key in own.keys() - {"chain", "address", "blockHeight"}}
            assert own["blockHeight"] == summary["blockHeight"]
        else:
            assert row["data"] is None
            if wanted == "error":
                errors[name] = row["error"]
    assert errors.keys() == failed
    return errors
