"""Documents behind gateways that fail: the next one is asked, none is asked without need, and time is kept."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from devnet.ports import free_port
from runtime.metrics import REGISTRY
from server.nfts import metadata
from server.nfts.locations import Gateways
from server.nfts.metadata import MetadataReader
from server.upstream.cache import Cache
from tests.faults.fetch.conftest import run_fetcher, sleep_for_ever
from tests.faults.fetch.hosts import Host, run_host, whole
from tests.server.upstream.cache.conftest import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.nfts.metadata import Metadata

ROOT = "QmeSjSinHpPnmXmspMjwiXyN6zS4E9zccariGR3jxcaWtq"
PATH = f"/ipfs/{ROOT}/1"
URI = f"ipfs://{ROOT}/1"
GOOD = whole(b'{"name":"good"}')


class Rig:
    """A reader on two gateways; `clock` is the cache's."""

    def __init__(self, first: Host, second: Host, reader: MetadataReader, clock: Clock) -> None:
        self.first, self.second, self.reader, self.clock = first, second, reader, clock

    async def read(self, uri: str = URI, *, seconds: float = 10.0, **options: Any) -> Metadata:
        return await self.reader.read(uri, 1, is_multi=False, deadline=time.monotonic() + seconds, **options)

    @property
    def connections(self) -> tuple[int, int]:
        return self.first.connections, self.second.connections


@asynccontextmanager
async def run_rig(first: Any, second: Any, *, cached: bool = True, timeout: float = 10.0) -> AsyncIterator[Rig]:
    clock = Clock()
    async with run_host({PATH: first} if first else {}) as one, run_host({PATH: second} if second else {}) as two:
        hosts = [f"127.0.0.1:{host.port}" for host in (one, two)]
        async with run_fetcher(allow=hosts, timeout=timeout) as fetcher:
            gateways = Gateways([f"http://{host}" for host in hosts], [])
            reader = MetadataReader(fetcher, gateways, Cache(1 << 22, clock=clock) if cached else None)
            yield Rig(one, two, reader, clock)
            await reader.close()


def name_of(found: Metadata) -> str | None:
    return found.document.name if found.document else None


async def test_one_gateway_that_has_it_is_enough() -> None:
    async with run_rig(GOOD, GOOD) as rig:
        found = await rig.read()
        assert (name_of(found), found.problem, found.seconds) == ("good", None, 300.0)
        assert rig.connections == (1, 0)


async def test_the_next_gateway_is_asked_where_one_fails() -> None:
    failing = {
        "missing": None,
        "server error": whole(b"{}", status="502 Bad Gateway"),
        "an error page with status 200": whole(b"<html>busy</html>"),
        "an array": whole(b"[]"),
        "silence": sleep_for_ever,
        "no HTTP": b"220 mail.example ESMTP\r\n\r\n",
        "dropped": b"",
        "too long": whole(b'{"name":"' + b"x" * (3 << 20) + b'"}'),
        "a closed address": whole(b"", "Location: http://169.254.169.254/", status="302 Found"),
    }
    for first in failing.values():
        async with run_rig(first, GOOD, timeout=2.0 if first is sleep_for_ever else 10.0) as rig:
            found = await rig.read()
            assert (name_of(found), found.problem) == ("good", None)
            assert rig.connections == (1, 1)
            assert found.uri == f"http://127.0.0.1:{rig.first.port}{PATH}"


async def test_what_no_gateway_has_is_reported_by_the_last_ones_reason() -> None:
    async with run_rig(sleep_for_ever, whole(b"gone", status="410 Gone"), timeout=2.0) as rig:
        found = await rig.read()
        assert (found.document, found.problem) == (None, "the metadata host answered with HTTP 410")
        assert found.seconds == 5.0


async def test_many_who_want_one_document_fetch_it_once() -> None:
    async with run_rig(GOOD, None) as rig:
        found = await asyncio.gather(*(rig.read() for _ in range(30)))
        assert {name_of(each) for each in found} == {"good"}
        assert rig.connections == (1, 0)


async def test_a_caller_who_leaves_does_not_end_it_for_the_others() -> None:
    async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.write(GOOD)

    async with run_rig(answer, None) as rig:
        leaving = asyncio.create_task(rig.read())
        staying = asyncio.create_task(rig.read())
        await asyncio.sleep(0.05)
        leaving.cancel()
        assert name_of(await staying) == "good"
        assert rig.connections == (1, 0)


@pytest.fixture
def reserve(monkeypatch: pytest.MonkeyPatch) -> float:
    """How much of a caller's time is left when a document is given up: enough for a slow machine."""
    seconds = 10.0
    monkeypatch.setattr(metadata, "_RESERVE_SECONDS", seconds)
    return seconds


async def test_the_answer_comes_before_the_callers_time_is_over(reserve: float) -> None:
    async with run_rig(sleep_for_ever, sleep_for_ever) as rig:
        began = time.monotonic()
        found = await rig.read(seconds=reserve + 0.3)
        assert time.monotonic() - began < reserve
        assert found.document is None
        assert "too long to answer" in str(found.problem)
        assert found.seconds == 0.0


async def test_an_impatient_caller_spoils_nothing_for_the_others(reserve: float) -> None:
    async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        writer.write(GOOD)

    async with run_rig(answer, None) as rig:
        impatient = asyncio.create_task(rig.read(seconds=reserve + 0.05))
        await asyncio.sleep(0.01)
        patient = asyncio.create_task(rig.read(seconds=2 * reserve))
        assert (await impatient).document is None
        assert name_of(await patient) == "good"
        assert rig.connections == (1, 0)
    async with run_rig(answer, None) as rig:
        for seconds in (reserve - 0.5, reserve + 0.05):
            found = await rig.read(seconds=seconds)
            assert (found.document, found.seconds) == (None, 0.0)
        assert name_of(await rig.read(seconds=2 * reserve)) == "good"


async def test_a_document_is_kept_and_its_time_runs() -> None:
    async with run_rig(GOOD, None) as rig:
        await rig.read()
        rig.clock.pass_seconds(120)
        found = await rig.read()
        assert (name_of(found), found.seconds) == ("good", 180.0)
        assert rig.connections == (1, 0)
        await rig.read(is_fresh=True)
        assert rig.connections == (2, 0)
        rig.clock.pass_seconds(301)
        await rig.read()
        assert rig.connections == (3, 0)


async def test_a_failure_is_kept_for_five_seconds() -> None:
    async with run_rig(None, None) as rig:
        assert (await rig.read()).document is None
        rig.clock.pass_seconds(4)
        again = await rig.read()
        assert (again.document, again.seconds) == (None, 1.0)
        assert rig.connections == (1, 1)
        rig.first.answers[PATH] = GOOD
        rig.clock.pass_seconds(2)
        assert name_of(await rig.read()) == "good"


async def test_without_a_cache_every_read_asks() -> None:
    async with run_rig(GOOD, None, cached=False) as rig:
        for _ in range(2):
            found = await rig.read()
            assert (name_of(found), found.seconds) == ("good", 300.0)
        assert rig.connections == (2, 0)


async def test_a_gateway_that_takes_no_connection_is_asked_last_for_a_while() -> None:
    async with run_host({PATH: GOOD, f"{PATH}1": GOOD}) as alive, run_host({}, port=free_port()) as listening:
        dead = f"127.0.0.1:{listening.port}"
        listening.refuse()
        hosts = [dead, f"127.0.0.1:{alive.port}"]
        async with run_fetcher(allow=hosts, timeout=10.0) as fetcher:
            reader = MetadataReader(fetcher, Gateways([f"http://{host}" for host in hosts], []), None)
            for uri, asked in ((URI, ["answer", "failed"]), (f"{URI}1", ["answer"])):
                before = {result: counted(result) for result in ("answer", "failed")}
                found = await reader.read(uri, 1, is_multi=False, deadline=None)
                assert name_of(found) == "good"
                assert found.uri == f"http://{dead}{PATH}{uri.removeprefix(URI)}"
                assert [result for result in before if counted(result) > before[result]] == asked
            await reader.close()


def counted(result: str) -> float:
    return REGISTRY.get_sample_value("waypost_fetches_total", {"result": result}) or 0.0
