"""The promises of the engine on every family besides EVM: one endpoint of three fails, and no caller notices.

Every kind of endpoint of a family (REST and RPC, node and indexer) is there three times, and the faulty machine is the
first of each kind.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.launcher import Devnet
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import open_session
from tests.faults.families import relay as faults
from tests.faults.families.subjects import SUBJECTS, Subject

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.faults.families.relay import Relay

MACHINES = ("bad", "one", "two")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def families() -> AsyncIterator[Devnet]:
    """One chain of each family, none of which moves by itself."""
    async with Devnet.start([subject.slug for subject in SUBJECTS], mines=False) as devnet:
        yield devnet


@pytest_asyncio.fixture(scope="module", loop_scope="session")
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

    @property
    def bad(self) -> list[Relay]:
        return self.machines["bad"]

    async def read(self) -> None:
        await self.subject.read(self.driver, self.head)

    def spoil(self, fault: faults.Fault) -> None:
        for one in self.bad:
            one.fault = fault

    async def check(self) -> None:
        """Read everything several times, and ask for the health (which waits for the silent, as it says)."""
        for _ in range(3):
            await self.read()
        if any(one.fault is faults.is_silent for one in self.bad):
            return
        health = await self.driver.read_health()
        assert (health.state, health.height) == ("ok", self.head)


@asynccontextmanager
async def rig_of(subject: Subject, devnet: Devnet, plain: aiohttp.ClientSession) -> AsyncIterator[Rig]:
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
                # The faulty machine is everybody's favourite: what it answers is asked for.
                weight = 1000 if name == "bad" else 1
                label = f"{name}-{endpoint.kind}"
                endpoints.append({"label": label, "url": url, "kind": endpoint.kind, "weight": weight})
        settings = {"profile": "devnet", "chains": {subject.slug: {"endpoints": endpoints}}}
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(Settings.model_validate(settings), http)
        stack.push_async_callback(chains.close)
        driver: Any = chains.get(subject.slug).driver
        async with open_session() as own:
            direct = Chains.load(Settings.model_validate(devnet.settings_overrides()), own)
            head = await direct.get(subject.slug).driver.read_height(ReadView())  # type: ignore[union-attr]
            await direct.close()
        yield Rig(subject, driver, machines, head)


@pytest_asyncio.fixture(loop_scope="session", params=SUBJECTS, ids=lambda subject: subject.slug)
async def rig(request: pytest.FixtureRequest, families: Devnet, plain: aiohttp.ClientSession) -> AsyncIterator[Rig]:
    async with rig_of(request.param, families, plain) as made:
        yield made


FAULTS = {
    "drops": faults.drops,
    "is silent": faults.is_silent,
    "answers 502": faults.fails,
    "answers a web page": faults.shows_a_page,
    "throttles": faults.throttles,
}


async def test_without_a_fault_everything_is_read(rig: Rig) -> None:
    await rig.check()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_an_endpoint_that_fails_from_the_start_is_not_noticed(rig: Rig, fault: faults.Fault) -> None:
    rig.spoil(fault)
    await rig.check()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_an_endpoint_that_begins_to_fail_is_not_noticed(rig: Rig, fault: faults.Fault) -> None:
    await rig.read()
    rig.spoil(fault)
    await rig.check()


async def test_with_one_good_endpoint_left_everything_is_read(rig: Rig) -> None:
    await rig.read()
    rig.spoil(faults.fails)
    for one in rig.machines["one"]:
        one.fault = faults.throttles
    await rig.check()


async def test_an_endpoint_that_lags_is_passed_over_from_the_start(rig: Rig) -> None:
    rig.spoil(rig.subject.lags)
    await rig.check()


async def test_an_endpoint_that_begins_to_lag_is_passed_over(rig: Rig) -> None:
    await rig.read()
    rig.spoil(rig.subject.lags)
    await rig.check()


async def test_an_endpoint_that_lies_about_its_height_is_not_believed(rig: Rig) -> None:
    rig.spoil(rig.subject.lies)
    await rig.check()


async def test_an_endpoint_that_begins_to_lie_is_not_believed(rig: Rig) -> None:
    await rig.read()
    rig.spoil(rig.subject.lies)
    await rig.check()


async def test_an_endpoint_of_another_chain_is_never_read(rig: Rig) -> None:
    rig.spoil(rig.subject.strays)
    await rig.check()
    asked = {name for one in rig.bad for name in one.asked}
    assert asked <= rig.subject.proofs


async def test_where_every_endpoint_is_of_another_chain_it_is_said(rig: Rig) -> None:
    for machine in rig.machines.values():
        for one in machine:
            one.fault = rig.subject.strays
    with pytest.raises(UpstreamUnavailable) as refused:
        await rig.driver.read_height(ReadView())
    assert "instead of" in refused.value.message or "begins with" in refused.value.message
    assert not any(one.url in refused.value.message for one in rig.bad)
    health = await rig.driver.read_health()
    assert (health.state, health.height) == ("down", None)


async def test_where_all_fail_the_chain_is_down_and_comes_back(rig: Rig) -> None:
    await rig.read()
    for machine in rig.machines.values():
        for one in machine:
            one.fault = faults.fails
    with pytest.raises(UpstreamUnavailable):
        await rig.driver.read_height(ReadView())
    assert (await rig.driver.read_health()).state == "down"
    assert rig.driver.last_state() == "down"
    for machine in rig.machines.values():
        for one in machine:
            one.fault = faults.honest
    health = await rig.driver.read_health()
    assert (health.state, health.height) == ("ok", rig.head)
