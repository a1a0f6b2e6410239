"""A real node for the fault tests, and pools in front of faulty copies of it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.install import anvil_binary
from devnet.ports import free_port
from runtime.settings import EndpointSettings, Settings
from server.chains.evm.node_errors import EvmErrors
from server.chains.facts import load_facts
from server.chains.registry import Chains, open_chain
from server.upstream import Pool, open_session
from server.upstream.batcher import BatchDelay
from server.upstream.cache import Cache
from tests.faults.simulator import FaultyNode
from tests.operations import Operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


CHAIN_ID = 31337
LABELS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")


class Tally:
    """Counts what the pools send, exactly."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, int]] = []
        self.failures: Counter[tuple[str, str]] = Counter()
        self.states: list[tuple[str, str]] = []
        self.shared = 0
        self.hedges: list[str] = []
        self.disagreements: list[tuple[str, int]] = []
        self.head: int | None = None

    def opened(self, chain: str, endpoint: str) -> None:
        pass

    def reported(self, chain: str, endpoint: str, head: int) -> None:
        pass

    def sent(self, chain: str, endpoint: str, purpose: str, calls: int) -> None:
        self.requests.append((endpoint, purpose, calls))

    def ended(self, chain: str, endpoint: str, outcome: str, seconds: float, calls: int) -> None:
        pass

    def transferred(self, chain: str, endpoint: str, purpose: str, sent: int, received: int) -> None:
        pass

    def failed(self, chain: str, endpoint: str, kind: Any) -> None:
        self.failures[endpoint, kind.value] += 1

    def joined(self, chain: str) -> None:
        self.shared += 1

    def hedged(self, chain: str, endpoint: str) -> None:
        self.hedges.append(endpoint)

    def disagreed(self, chain: str, endpoint: str, block: int) -> None:
        self.disagreements.append((endpoint, block))

    def changed(self, chain: str, endpoint: str, state: str) -> None:
        self.states.append((endpoint, state))

    def moved(self, chain: str, head: int) -> None:
        self.head = head


class Clock:
    """The real clock, which a test can put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def anvil() -> Iterator[Callable[..., tuple[subprocess.Popen[bytes], str]]]:
    """Starts real nodes; all are stopped at the end."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> tuple[subprocess.Popen[bytes], str]:
        port = free_port()
        process = subprocess.Popen(
            [anvil_binary(), "--port", str(port), "--silent", "--max-persisted-states", "0", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
        return process, f"http://127.0.0.1:{port}"

    yield start
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait(10)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node(anvil: Callable[..., tuple[subprocess.Popen[bytes], str]]) -> str:
    """The URL of a running anvil with ten blocks."""
    _, url = anvil("--chain-id", str(CHAIN_ID))
    await wait_for_node(url)
    async with aiohttp.ClientSession() as session:
        await session.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": ["0xa"]})
    return url


async def wait_for_node(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(200):
            with contextlib.suppress(aiohttp.ClientError):
                async with session.post(
                    url, json={"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
                ) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.05)
    raise AssertionError("the node did not start")


@pytest_asyncio.fixture(loop_scope="session")
async def faulty(node: str) -> AsyncIterator[Callable[[], Any]]:
    """Makes faulty nodes in front of the real one."""
    made: list[FaultyNode] = []

    async def make(target: str = node) -> FaultyNode:
        one = FaultyNode(target)
        await one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        await one.close()


@pytest_asyncio.fixture(loop_scope="session")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    session = open_session()
    yield session
    await session.close()


@pytest.fixture
def tally() -> Tally:
    return Tally()


@dataclass
class Holds:
    """Every read that asked how long to wait for company, in their order: for how many seconds it had to, and when."""

    seconds: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def joined(self) -> int:
        """How many of them must have travelled with an earlier one, because they came while that was held."""
        joined, leaves_at = 0, 0.0
        # A test may have cleared what came before.
        for now, seconds in zip(self.times[len(self.times) - len(self.seconds) :], self.seconds, strict=True):
            if now < leaves_at:
                joined += 1
            else:
                leaves_at = now + seconds
        return joined


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch) -> Holds:
    """What the hold rule returned, so that no test has to derive it from the clock of a busy machine."""
    seen = Holds()
    rule = BatchDelay.seconds

    def spy(self: BatchDelay, now: float) -> float:
        seen.times.append(now)
        seen.seconds.append(rule(self, now))
        return seen.seconds[-1]

    monkeypatch.setattr(BatchDelay, "seconds", spy)
    return seen


def load_alone(slug: str, settings: Settings, http: aiohttp.ClientSession, **options: Any) -> Chains:
    """Return this chain alone: opening all two dozen for each of a thousand drivers takes longer than their reads."""
    return Chains([open_chain(load_facts()[slug], settings, http, **options)])


def endpoints_of(*urls: str, weights: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the settings of endpoints alpha, beta, gamma and so on."""
    return [
        {"label": label, "url": url, "weight": weight}
        for label, url, weight in zip(LABELS, urls, weights, strict=False)
    ]


@pytest_asyncio.fixture(loop_scope="session")
async def make_driver(http: aiohttp.ClientSession) -> AsyncIterator[Callable[..., Operations]]:
    """Makes drivers by their chain's settings."""
    made: list[Chains] = []

    def make(chain: str, facts: dict[str, Any], cache: Cache | None = None) -> Operations:
        settings = Settings.model_validate({"profile": "devnet", "chains": {chain: facts}})
        made.append(load_alone(chain, settings, http, cache=cache))
        driver: Any = Operations(made[-1].get(chain))
        return driver

    yield make
    for chains in made:
        await chains.close()


@pytest.fixture
def open_driver(make_driver: Callable[..., Operations]) -> Callable[..., Operations]:
    """Opens drivers of ethereum on endpoints alpha (the favourite), beta, gamma; with a cache of their own."""

    def open_on(*urls: str) -> Operations:
        endpoints = endpoints_of(*urls, weights=(1000, 1, 1))
        return make_driver("ethereum", {"endpoints": endpoints}, Cache(1 << 24))

    return open_on


@pytest_asyncio.fixture(loop_scope="session")
async def make_pool(http: aiohttp.ClientSession, tally: Tally) -> AsyncIterator[Callable[..., Pool]]:
    """Makes pools over URLs, labelled alpha, beta, gamma and so on in that order."""
    made: list[Pool] = []

    def make(*urls: str, weights: tuple[int, ...] = (1,) * len(LABELS), **options: Any) -> Pool:
        settings = [EndpointSettings.model_validate(one) for one in endpoints_of(*urls, weights=weights)]
        known: dict[str, Any] = {"block_time": 12.0, "observer": tally} | options
        pool = Pool("ethereum", settings, EvmErrors(), http, **known)
        made.append(pool)
        return pool

    yield make
    for pool in made:
        await pool.close()
