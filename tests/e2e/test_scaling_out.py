"""Two gateways, one Redis and one PostgreSQL, of which each goes away in its turn: callers see none of it.

One after the other gateway A is killed, Redis and PostgreSQL are started anew, and both gateways are rolled. Meanwhile
patient callers ask at a steady rate, each at its own gateway and once more at the other where that fails, and one that
is greedy asks for more than its quota.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

import aiohttp
import pytest

from devnet.ports import free_port
from server.access.keys import KeyStore
from server.access.usage import INTERVAL_SECONDS
from server.storage.database import open_database
from server.storage.usage_records import UsageRecords
from tests.e2e.commands import Waypost, waypost
from tests.postgresql import run_postgresql
from tests.server.upstream.cache.conftest import RedisServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

PATIENT = 6
EVERY_SECONDS = 0.2
GREEDY_RATE, GREEDY_BURST = 40, 20
GREEDY_EVERY_SECONDS = 0.01
WINDOW_SECONDS = 10.0
# What is neither an answer nor a fault of the caller's: the other gateway is asked.
ELSEWHERE = frozenset({502, 503, 504})
CONFIG = """
profile = "devnet"
[http]
port = {http}
[grpc]
port = {grpc}
[storage]
url_env = "DATABASE"
[quotas]
backend = "redis"
redis_url_env = "REDIS"
[chains.ethereum]
endpoints = [{{ label = "node", url = "{node}" }}]
"""


class Gateway:
    """One of the two, in whichever process it is at present."""

    def __init__(self, folder: Path, name: str, node: str, variables: dict[str, str]) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._folder = folder / name
        self._folder.mkdir()
        self._config = self._folder / "waypost.toml"
        self._config.write_text(CONFIG.format(http=self.port, grpc=free_port(), node=node))
        self._variables = variables
        self._stack = AsyncExitStack()
        self._process: Waypost | None = None

    async def start(self) -> None:
        command = waypost(
            "serve", "--config", str(self._config), folder=self._folder, **self._variables, WAYPOST_STORAGE__URL=""
        )
        self._process = await self._stack.enter_async_context(command)
        await self._process.printed("Ctrl-C ends it")

    async def kill(self) -> None:
        assert self._process is not None
        self._process.signal(signal.SIGKILL)
        await self._process.ended()

    async def stop(self) -> None:
        assert self._process is not None
        self._process.signal(signal.SIGTERM)
        assert await self._process.ended(30) == 0, self._process.err

    async def close(self) -> None:
        await self._stack.aclose()


class Caller:
    """Asks with one key, of both gateways; `answers` are when and by which gateway each was given."""

    def __init__(self, http: aiohttp.ClientSession, gateways: list[Gateway], key: str, salt: int) -> None:
        self._http = http
        self._gateways = gateways
        self._key = key
        self._salt = salt
        self._asked = 0
        self.answers: list[tuple[float, Gateway]] = []
        self.refused = 0
        self.retried = 0
        self.failures: list[str] = []

    async def ask(self) -> None:
        """Ask once, and once more of the other gateway."""
        self._asked += 1
        address = f"0x{self._salt:08x}{self._asked:032x}"
        why = []
        first = self._gateways if self._asked % 2 else self._gateways[::-1]
        for gateway in first:
            outcome = await self._ask(gateway, address)
            if outcome is None:
                self.retried += bool(why)
                return
            why.append(outcome)
        self.failures.append(" / ".join(why))

    async def _ask(self, gateway: Gateway, address: str) -> str | None:
        """Return why there is no answer, None where there is one."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": {"chain": "ethereum", "address": address}}
        try:
            async with self._http.post(f"{gateway.base}/{self._key}/v1", json=body) as response:
                document = await response.json(content_type=None)
                status = response.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return f"{type(error).__name__} {error}"
        if status == 429:
            self.refused += 1
            return None
        if "result" not in document:
            return f"{status} {document}"
        self.answers.append((monotonic(), gateway))
        return None


async def ask_steadily(caller: Caller, seconds: float, ending: asyncio.Event) -> None:
    """Ask one question after the other, at a steady pace."""
    due = monotonic()
    while not ending.is_set():
        await caller.ask()
        due = max(due + seconds, monotonic())
        await asyncio.sleep(due - monotonic())


@asynccontextmanager
async def running(gateways: list[Gateway]) -> AsyncIterator[None]:
    try:
        await asyncio.gather(*(gateway.start() for gateway in gateways))
        yield
    finally:
        await asyncio.gather(*(gateway.close() for gateway in gateways))


def most_in_a_window(moments: list[float]) -> int:
    """Return how many fall into any window of ten seconds at most."""
    most = first = 0
    for number, moment in enumerate(moments):
        while moments[first] <= moment - WINDOW_SECONDS:
            first += 1
        most = max(most, number - first + 1)
    return most


@pytest.mark.timeout(240)
async def test_callers_see_nothing_of_what_goes_away(devnet: Devnet, tmp_path: Path) -> None:
    with run_postgresql() as postgresql:
        redis = RedisServer.start()
        url = postgresql.database()
        engine = await open_database(url, "devnet")
        store, records = KeyStore(engine), UsageRecords(engine)
        number, patient_key = await store.create_key("patient", rate=1000, burst=1000)
        _, greedy_key = await store.create_key("greedy", rate=GREEDY_RATE, burst=GREEDY_BURST)
        variables = {"DATABASE": url, "REDIS": redis.url}
        gateways = [Gateway(tmp_path, name, devnet.endpoints["ethereum"], variables) for name in ("a", "b")]
        a, b = gateways
        ending = asyncio.Event()
        async with running(gateways), aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as http:
            patient = [Caller(http, gateways, patient_key, salt) for salt in range(1, PATIENT + 1)]
            greedy = Caller(http, gateways, greedy_key, 99)
            asking = [asyncio.create_task(ask_steadily(caller, EVERY_SECONDS, ending)) for caller in patient]
            asking.append(asyncio.create_task(ask_steadily(greedy, GREEDY_EVERY_SECONDS, ending)))
            await asyncio.sleep(1)
            killed_at = monotonic()
            await a.kill()
            await asyncio.sleep(0.5)
            await a.start()
            redis.stop()
            await asyncio.sleep(1.5)
            redis = RedisServer.start(redis.port)
            await asyncio.sleep(1.5)
            await asyncio.to_thread(postgresql.stop)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(postgresql.start)
            await asyncio.sleep(1)
            for gateway in (b, a):
                await gateway.stop()
                await gateway.start()
            await asyncio.sleep(0.5)
            ending.set()
            await asyncio.gather(*asking)
            # What is counted is written as they end.
            await asyncio.gather(*(gateway.stop() for gateway in gateways))
        redis.stop()
        today = datetime.now(UTC)
        sums = await records.read("operation", today - timedelta(days=2), today + timedelta(days=2), f"key:{number}")
        await engine.dispose()

    assert [failure for caller in (*patient, greedy) for failure in caller.failures] == []
    assert sum(caller.retried for caller in patient) > 0, "nothing ever went away"
    assert greedy.refused > 0
    # A Redis that returns empty, and one that is away, give a burst more each.
    bound = 1.02 * (GREEDY_RATE * WINDOW_SECONDS + GREEDY_BURST) + 2 * GREEDY_BURST
    assert most_in_a_window(sorted(moment for moment, _ in greedy.answers)) <= bound
    answers = [answer for caller in patient for answer in caller.answers]
    assert len(answers) > 100
    lost = sum(gateway is a and killed_at - INTERVAL_SECONDS - 1 <= at <= killed_at for at, gateway in answers)
    counted = sum(one.figures["requests"] for one in sums)
    # The other direction: an answer that was lost on its way is counted, and was asked for once more.
    most = len(answers) + sum(caller.retried for caller in patient)
    assert len(answers) - lost <= counted <= most, Counter(one.group for one in sums)
