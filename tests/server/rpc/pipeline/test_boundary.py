"""What is counted and logged of calls, over both transports; nothing of keys, addresses or clients."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from waypost.v1.account_pb2 import GetBalanceRequest

from runtime.logs import LogLimit
from runtime.metrics import REGISTRY
from runtime.operations import load_operations
from server.access.admission import Admission, ConcurrencyLimiter, Policy
from server.access.directory import KeyDirectory
from server.access.keys import KeyStore
from server.access.quotas import Quotas
from server.chains.facts import load_facts
from server.errors import UpstreamUnavailable
from server.rpc.pipeline import boundary
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.storage.database import open_database
from tests.server.inprocess.rig import PATH, TRANSPORTS
from tests.server.inprocess.scenarios import answers, outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.server.inprocess.rig import Rig

WALLET = "0x" + "ab" * 20
REQUEST = GetBalanceRequest(chain="gnosis", address=WALLET)
pytestmark = [pytest.mark.parametrize("transport", TRANSPORTS), pytest.mark.slow]


@pytest.fixture
async def key_and_rig(transport: str, tmp_path: Path) -> AsyncIterator[tuple[str, Rig]]:
    database = await open_database(f"sqlite:///{tmp_path}/waypost.db")
    store = KeyStore(database)
    _, key = await store.create_key("a")
    directory = KeyDirectory(store)
    default = Policy("default", 50, 100)
    admission = Admission(directory, Quotas(), ConcurrencyLimiter(), accepts_local=False, default=default, demo=default)
    execution = build_execution({slug: facts.family for slug, facts in load_facts().items()}, admission)
    operations = {operation.path: operation for operation in load_operations()}
    async with TRANSPORTS[transport](
        StagesInterceptor(CallBoundary(None, AdmissionStage(admission)), execution, operations, private=False)
    ) as rig:
        yield key, rig
    await directory.close()
    await database.dispose()


def counted(code: str, reason: str, chain: str = "gnosis") -> float:
    labels = {"operation": "getBalance", "chain": chain, "code": code, "reason": reason}
    return REGISTRY.get_sample_value("waypost_operations_total", labels) or 0.0


def operations_counted() -> set[str]:
    samples = [sample for metric in REGISTRY.collect() for sample in metric.samples]
    return {sample.labels["operation"] for sample in samples if "operation" in sample.labels}


async def sleeps(request: Any, context: Any) -> Any:
    await asyncio.sleep(30)


async def fails(request: Any, context: Any) -> Any:
    raise UpstreamUnavailable("no node answered")


@pytest.mark.parametrize(
    ("servicer", "timeout", "code", "reason"),
    [
        (answers, 5, "OK", ""),
        (fails, 5, "UNAVAILABLE", "UPSTREAM_UNAVAILABLE"),
        # Long enough for the call to get to the servicer on a machine that stalls.
        (sleeps, 1.5, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"),
    ],
)
async def test_every_call_is_counted_and_every_failure_logged(
    key_and_rig: tuple[str, Rig], servicer: Any, timeout: float, code: str, reason: str
) -> None:
    key, rig = key_and_rig
    rig.serve(servicer)
    before = counted(code, reason)
    with structlog.testing.capture_logs() as logs:
        got = await outcome(rig.call(REQUEST, timeout=timeout, metadata=(("x-api-key", key),)))
        assert got["code"].name == code
        async with asyncio.timeout(5):
            while counted(code, reason) == before:  # noqa: ASYNC110  # the servicer ends on its own after the caller
                await asyncio.sleep(0.01)
    assert counted(code, reason) == before + 1
    lines = [line for line in logs if line["event"] == "call failed"]
    assert [(line["code"], line["reason"], line["chain"]) for line in lines] == (
        [] if code == "OK" else [(code, reason, "gnosis")]
    )
    assert key not in repr(logs)
    assert WALLET not in repr(logs)


async def test_refused_calls_have_one_line_a_minute_for_each_reason_and_client(
    key_and_rig: tuple[str, Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, rig = key_and_rig
    clock = [1000.0]
    monkeypatch.setattr(boundary, "_refusals", LogLimit(clock=lambda: clock[0]))
    rig.serve(answers)
    before = counted("UNAUTHENTICATED", "KEY_INVALID", chain="")
    missing = counted("UNAUTHENTICATED", "KEY_MISSING", chain="")

    async def refused(times: int, **metadata: str) -> None:
        for _ in range(times):
            got = await outcome(rig.call(REQUEST, metadata=tuple(metadata.items())))
            assert got["code"].name == "UNAUTHENTICATED"

    with structlog.testing.capture_logs() as logs:
        await refused(5, **{"x-api-key": "wp_" + "a" * 43})
        await refused(3)
        # Over a socket a call is counted once its caller has the answer.
        await ended("UNAUTHENTICATED", "KEY_INVALID", before + 5)
        await ended("UNAUTHENTICATED", "KEY_MISSING", missing + 3)
        clock[0] += 60
        await refused(1, **{"x-api-key": "nothing"})
        await ended("UNAUTHENTICATED", "KEY_INVALID", before + 6)
    lines = [(line["reason"], line["unwritten"]) for line in logs if line["event"] == "call failed"]
    assert lines == [("KEY_INVALID", 0), ("KEY_MISSING", 0), ("KEY_INVALID", 4)]
    assert key not in repr(logs)


async def ended(code: str, reason: str, times: float) -> None:
    async with asyncio.timeout(5):
        while counted(code, reason, chain="") < times:  # noqa: ASYNC110  # a call is counted once it is sent
            await asyncio.sleep(0.01)


async def test_a_caller_who_cancels_is_counted_as_such(key_and_rig: tuple[str, Rig]) -> None:
    key, rig = key_and_rig
    started = asyncio.Event()

    async def servicer(request: Any, context: Any) -> Any:
        started.set()
        await asyncio.sleep(30)

    rig.serve(servicer)
    before = counted("CANCELLED", "")
    call = rig.call(REQUEST, timeout=20, metadata=(("x-api-key", key),))
    await started.wait()
    call.cancel()
    async with asyncio.timeout(5):
        while counted("CANCELLED", "") == before:  # noqa: ASYNC110  # the servicer ends on its own after the caller
            await asyncio.sleep(0.01)
    # Nothing stays in flight.
    assert REGISTRY.get_sample_value("waypost_in_flight") == 0


async def test_paths_outside_the_contract_leave_no_labels(key_and_rig: tuple[str, Rig]) -> None:
    _, rig = key_and_rig
    before = operations_counted()
    got = await outcome(rig.method(PATH + "Nothing")(REQUEST, timeout=5))
    assert got["code"].name == "UNIMPLEMENTED"
    assert operations_counted() == before
