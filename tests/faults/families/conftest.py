"""One chain of each family, and drivers on three machines of it, the first of which misbehaves on request."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest_asyncio

from devnet.launcher import Devnet
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from tests.faults.conftest import load_alone
from tests.faults.families import relay as faults
from tests.faults.families.subjects import SUBJECTS, Subject
from tests.operations import Operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from tests.faults.families.relay import Relay

MACHINES = ("bad", "one", "two")


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def families() -> AsyncIterator[Devnet]:
    """One chain of each family, none of which moves by itself."""
    async with Devnet.start([subject.slug for subject in SUBJECTS], mines=False) as devnet:
        yield devnet


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def plain() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@dataclass
class Rig:
    """A driver on three machines, each with every kind of endpoint; `bad` are the relays of the first."""

    subject: Subject
    driver: Any
    machines: dict[str, list[Relay]]
    head: int
    settings: Settings

    @property
    def bad(self) -> list[Relay]:
        return self.machines["bad"]

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Any]:
        """A driver on the same machines that knows nothing yet."""
        async with open_session() as http:
            chains = load_alone(self.subject.slug, self.settings, http)
            try:
                yield Operations(chains.get(self.subject.slug))
            finally:
                await chains.close()

    async def read(self) -> None:
        await self.subject.read(self.driver, self.head)

    def spoil(self, fault: faults.Fault) -> None:
        for one in self.bad:
            one.fault = fault

    async def check(self) -> None:
        """Read everything several times, and ask for the health (which waits for the silent)."""
        for _ in range(3):
            await self.read()
        if any(one.fault is faults.is_silent for one in self.bad):
            return
        health = await self.driver.read_health()
        assert (health.state, health.height) == ("ok", self.head)


@asynccontextmanager
async def rig_of(
    subject: Subject, devnet: Devnet, plain: aiohttp.ClientSession, **options: object
) -> AsyncIterator[Rig]:
    """A rig of one family; `options` are more of its chain's settings."""
    async with AsyncExitStack() as stack:
        endpoints, machines = [], {}
        for name in MACHINES:
            machines[name] = []
            relays: dict[str, Relay] = {}
            for endpoint in devnet.kinds[subject.slug]:
                # Two kinds may be two paths of one address.
                base, slash, path = endpoint.url.removeprefix("http://").partition("/")
                if base not in relays:
                    relays[base] = await stack.enter_async_context(faults.relay(f"http://{base}", plain))
                    machines[name].append(relays[base])
                url = relays[base].url + slash + path
                # The faulty machine is the favourite of all: what it answers is asked for.
                weight = 1000 if name == "bad" else 1
                label = f"{name}-{endpoint.kind}"
                endpoints.append({"label": label, "url": url, "kind": endpoint.kind, "weight": weight})
        chain = {"endpoints": endpoints} | options
        settings = Settings.model_validate({"profile": "devnet", "chains": {subject.slug: chain}})
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(settings, http)
        stack.push_async_callback(chains.close)
        driver: Any = Operations(chains.get(subject.slug))
        async with open_session() as own:
            direct = Chains.load(Settings.model_validate(devnet.settings_overrides()), own)
            head = await Operations(direct.get(subject.slug)).read_height(ReadView())
            await direct.close()
        yield Rig(subject, driver, machines, head, settings)


@pytest_asyncio.fixture(loop_scope="session", params=SUBJECTS, ids=lambda subject: subject.slug)
async def rig(request: pytest.FixtureRequest, families: Devnet, plain: aiohttp.ClientSession) -> AsyncIterator[Rig]:
    async with rig_of(request.param, families, plain) as made:
        yield made
