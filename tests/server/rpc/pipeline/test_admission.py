"""Admission as callers, operators and metrics see it, over both transports: keys, quotas told, answers recalled."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from waypost.v1.account_pb2 import GetBalanceRequest

from runtime.metrics import REGISTRY
from runtime.operations import load_operations
from server.access.admission import Admission, ConcurrencyLimiter, Policy, Principal
from server.access.directory import KeyDirectory
from server.access.keys import KeyStore
from server.access.leased_quotas import LeasedQuotas
from server.access.ledger import Ledger, LedgerSource
from server.access.quotas import Grant, Quotas
from server.chains.facts import load_facts
from server.inprocess import TRUSTED
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.call import current
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.rpc.pipeline.response_cache import ResponseCache
from server.storage.database import open_database
from server.upstream.cache import Cache
from tests.server.inprocess.rig import TRANSPORTS
from tests.server.inprocess.scenarios import OK, answers, outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from server.access.quotas import ChargesQuotas
    from tests.server.inprocess.rig import Rig

WALLET = "0x" + "ab" * 20
FRESH = ("x-waypost-cache-control", "no-cache")
FACES = {"in process": "jsonrpc", "socket": "grpc"}
pytestmark = [pytest.mark.parametrize("transport", TRANSPORTS), pytest.mark.slow, pytest.mark.devnet]


@dataclass
class Site:
    """One transport onto a servicer behind all stages; `reads` counts how often the servicer was asked."""

    rig: Rig
    admission: Admission
    keys: KeyStore
    cache: Cache
    face: str
    reads: int = 0

    async def ask(self, *metadata: tuple[str, str | bytes], **fields: Any) -> dict[str, Any]:
        request = GetBalanceRequest(**{"chain": "gnosis", "address": WALLET, **fields})
        return await outcome(self.rig.call(request, metadata=metadata))

    async def answer_from_the_cache(self, request: Any, context: Any) -> Any:
        """Answer as a read does that is found in the cache from the second time on."""
        self.reads += 1
        use = current().cache
        if self.reads == 1 or use.bypass:
            use.miss()
        else:
            use.hit()
            use.holds(self.cache.clock() + 60, lambda: True)
        return OK

    def refusals(self, reason: str) -> float:
        labels = {"face": self.face, "reason": reason}
        return REGISTRY.get_sample_value("waypost_refusals_total", labels) or 0.0


def counted(code: str, reason: str = "", chain: str = "gnosis") -> float:
    labels = {"operation": "getBalance", "chain": chain, "code": code, "reason": reason}
    return REGISTRY.get_sample_value("waypost_operations_total", labels) or 0.0


async def ends_as(code: str, reason: str, chain: str, times: float) -> None:
    """Wait until so many calls have been counted: a failure is counted once it is sent, when its caller may know it."""
    async with asyncio.timeout(20):
        while counted(code, reason, chain) < times:  # noqa: ASYNC110  # the server ends a call in its own time
            await asyncio.sleep(0.01)
    assert counted(code, reason, chain) == times


def reported(got: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the cache's part in a call and what is left of the quota, as its trailing metadata tell."""
    trailing = dict(got["trailing"])
    assert trailing["x-request-id"]
    return trailing.get("x-waypost-cache"), trailing.get("ratelimit", "").partition("r=")[2].partition(";")[0] or None


def reason_of(got: dict[str, Any]) -> str:
    info = error_details_pb2.ErrorInfo()
    status = status_pb2.Status.FromString(dict(got["trailing"])["grpc-status-details-bin"])
    assert status.details[0].Unpack(info)
    return info.reason


@pytest.fixture(params=["memory", "ledger"])
async def quotas(request: pytest.FixtureRequest) -> AsyncIterator[ChargesQuotas]:
    """Quotas of this process, and those of a worker, whose calls wait for the parent's answer."""
    ledger = Ledger(2)
    own = Quotas()
    made = own if request.param == "memory" else LeasedQuotas(LedgerSource((await ledger.connect()).detach()))
    yield made
    await made.close()
    await ledger.close()


@pytest.fixture
async def site(transport: str, quotas: ChargesQuotas, tmp_path: Path) -> AsyncIterator[Site]:
    database = await open_database(f"sqlite:///{tmp_path}/waypost.db")
    keys = KeyStore(database)
    directory = KeyDirectory(keys)
    default = Policy("default", 0.001, 100)
    limiter = ConcurrencyLimiter(2, 1)
    admission = Admission(directory, quotas, limiter, accepts_local=False, default=default, demo=default)
    cache = Cache(1 << 20)
    responses = ResponseCache(cache, 1 << 20, lambda _, address: address)
    families = {slug: facts.family for slug, facts in load_facts().items()}
    execution = build_execution(families, admission, responses)
    boundary = CallBoundary("a credential of the tests", AdmissionStage(admission, responses))
    operations = {operation.path: operation for operation in load_operations()}
    # A server is started in some context: calls over a socket are not trusted whatever it says.
    before = TRUSTED.set(True)
    async with TRANSPORTS[transport](StagesInterceptor(boundary, execution, operations, private=False)) as rig:
        TRUSTED.reset(before)
        yield Site(rig, admission, keys, cache, FACES[transport])
    assert admission.limiter.total == 0
    await directory.close()
    await database.dispose()


async def test_what_is_recalled_is_charged_counted_and_reported_as_any_answer(site: Site) -> None:
    _, key = await site.keys.create_key("a", 0.001, 5)
    own = ("x-api-key", key)
    site.rig.serve(site.answer_from_the_cache)
    answered, refused = counted("OK"), site.refusals("RATE_LIMITED")
    assert reported(await site.ask(own)) == ("miss", "4")
    assert reported(await site.ask(own)) == ("hit", "3")
    assert site.reads == 2
    repeated = await site.ask(own)
    assert (repeated["response"], reported(repeated), site.reads) == (OK, ("hit", "2"), 2)
    # Who wants a fresh answer gets one, and what was recalled before is not any more.
    assert (reported(await site.ask(own, FRESH)), site.reads) == (("bypass", "1"), 3)
    assert (reported(await site.ask(own)), site.reads) == (("hit", "0"), 4)
    assert counted("OK") == answered + 5
    late = await site.ask(own)
    assert (reason_of(late), reported(late), site.reads) == ("RATE_LIMITED", (None, "0"), 4)
    assert site.refusals("RATE_LIMITED") == refused + 1


async def test_what_is_recalled_is_not_in_flight(site: Site) -> None:
    own = ("x-api-key", (await site.keys.create_key("a"))[1])
    site.rig.serve(site.answer_from_the_cache)
    for _ in range(2):
        await site.ask(own)
    started, release = asyncio.Event(), asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        started.set()
        await release.wait()
        return OK

    site.rig.serve(wait)
    waiting = asyncio.create_task(site.ask(own, chain="base"))
    await started.wait()
    assert reported(await site.ask(own))[0] == "hit"
    crowded = await site.ask(own, chain="base")
    assert (reason_of(crowded), reported(crowded)[1]) == ("RATE_LIMITED", "95")
    release.set()
    assert (await waiting)["response"] == OK


async def test_a_key_that_the_database_is_asked_about_is_admitted_as_one_that_is_known(site: Site) -> None:
    site.rig.serve(answers)
    await site.ask(("x-api-key", (await site.keys.create_key("a"))[1]))
    refused = {reason: site.refusals(reason) for reason in ("KEY_INVALID", "RATE_LIMITED")}
    _, new = await site.keys.create_key("b", 0.001, 3)
    assert site.admission.peek(new) is None
    assert reported(await site.ask(("x-api-key", new))) == (None, "2")
    assert reported(await site.ask(("x-api-key", new))) == (None, "1")
    unknown = await site.ask(("x-api-key", "wp_" + "a" * 43))
    assert (reason_of(unknown), reported(unknown)) == ("KEY_INVALID", (None, None))
    assert site.refusals("KEY_INVALID") == refused["KEY_INVALID"] + 1
    assert site.refusals("RATE_LIMITED") == refused["RATE_LIMITED"]


async def test_a_used_up_key_that_the_database_is_asked_about_is_refused_once(site: Site) -> None:
    site.rig.serve(answers)
    number, key = await site.keys.create_key("a", 0.001, 1)
    charged = site.admission.quotas.charge(Principal(f"key:{number}", Policy("key", 0.001, 1)), 1)
    assert (charged if isinstance(charged, Grant) else await charged).admitted == 1
    assert site.admission.peek(key) is None
    refused = site.refusals("RATE_LIMITED")
    got = await site.ask(("x-api-key", key))
    assert (reason_of(got), reported(got)) == ("RATE_LIMITED", (None, "0"))
    assert site.refusals("RATE_LIMITED") == refused + 1


async def test_what_a_stage_raises_before_anything_is_awaited_is_reported_with_the_quota(site: Site) -> None:
    own = ("x-api-key", (await site.keys.create_key("a"))[1])
    site.rig.serve(answers)
    before = counted("NOT_FOUND", "CHAIN_UNKNOWN", ""), counted("INVALID_ARGUMENT", "INVALID_ARGUMENT")
    unknown = await site.ask(own, chain="etherum")
    assert (reason_of(unknown), reported(unknown)) == ("CHAIN_UNKNOWN", (None, "99"))
    invalid = await site.ask(own, address="")
    assert (reason_of(invalid), reported(invalid)) == ("INVALID_ARGUMENT", (None, "98"))
    await ends_as("NOT_FOUND", "CHAIN_UNKNOWN", "", before[0] + 1)
    await ends_as("INVALID_ARGUMENT", "INVALID_ARGUMENT", "gnosis", before[1] + 1)
    assert site.admission.limiter.total == 0


async def test_a_servicer_that_aborts_ends_its_call_itself(site: Site) -> None:
    own = ("x-api-key", (await site.keys.create_key("a"))[1])

    async def abort(request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.DATA_LOSS, "lost", (("a", "1"),))

    site.rig.serve(abort)
    before = counted("UNKNOWN")
    got = await site.ask(own)
    assert (got["code"], got["details"], got["trailing"]) == (grpc.StatusCode.DATA_LOSS, "lost", (("a", "1"),))
    await ends_as("UNKNOWN", "", "gnosis", before + 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((("x-api-key", "KEY"),), None),
        ((("x-api-key", ""), ("authorization", "Bearer KEY")), None),
        ((("authorization", "bEaReR   KEY"),), None),
        ((("x-api-key", "KEY"), ("authorization", "Bearer wrong")), None),
        ((("x-api-key", "wrong"), ("authorization", "Bearer KEY")), "KEY_INVALID"),
        # Of several entries the last one counts.
        ((("x-api-key", "wrong"), ("x-api-key", "KEY")), None),
        ((("x-api-key", "KEY"), ("x-api-key", "wrong")), "KEY_INVALID"),
        ((("x-api-key", "KEY"), ("x-api-key", "")), "KEY_MISSING"),
        ((("x-api-key-bin", b"KEY"),), "KEY_MISSING"),
        ((("authorization-bin", b"Bearer KEY"),), "KEY_MISSING"),
        ((("authorization", "Bearer"),), "KEY_MISSING"),
        ((("authorization", "Bearer "),), "KEY_MISSING"),
        ((("authorization", "KEY"),), "KEY_MISSING"),
        ((), "KEY_MISSING"),
    ],
)
async def test_where_the_key_is_looked_for(site: Site, given: Any, expected: str | None) -> None:
    _, key = await site.keys.create_key("a")
    site.rig.serve(answers)
    metadata = [
        (name, value.replace("KEY", key) if isinstance(value, str) else value.replace(b"KEY", key.encode()))
        for name, value in given
    ]
    got = await site.ask(*metadata)
    assert (got["code"] is grpc.StatusCode.OK) == (expected is None)
    if expected is not None:
        assert (reason_of(got), reported(got)) == (expected, (None, None))


async def test_a_socket_is_never_trusted_and_this_process_always(site: Site) -> None:
    site.rig.serve(answers)
    claims = (("x-waypost-principal", "unlimited/0/0/-/-/local"), ("x-waypost-credential", "a credential of the tests"))
    got = await site.ask(*claims)
    assert (got["code"] is grpc.StatusCode.OK) == (site.face == "jsonrpc")
