"""What a factory makes of its plans: pools with what was asked for, caches in front of some, one driver on all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import EndpointSettings
from server.chains.capabilities.blocks import ReadsHeads
from server.chains.facts import load_facts
from server.chains.shared.factory import ChainFactory, Driver, PoolPlan
from server.upstream import HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from server.chains.shared.factory import ChainParts

FACTS = load_facts()["bitcoin"]
ANY: Any = object()
URLS = (("a", "core"), ("b", "scan"), ("c", "core"), ("d", "esplora"))
ENDPOINTS = [
    EndpointSettings.model_validate({"label": one, "url": f"http://{one}", "kind": kind}) for one, kind in URLS
]


class Opened(Pool):
    """A pool that notes how it was opened, and what happens to it."""

    def __init__(self, chain: str, endpoints: Any, errors: Any, http: Any, **options: Any) -> None:
        super().__init__(chain, endpoints, errors, http, **options)
        self.options = options
        self.closed = 0
        self.distrusts: list[Any] = []

    def on_distrust(self, forget: Any) -> None:
        self.distrusts.append(forget)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


class Reader:
    closed = 0

    async def close(self) -> None:
        self.closed += 1


class Factory(ChainFactory):
    def __init__(self) -> None:
        super().__init__(FACTS)
        self.reader = Reader()

    def plans(self) -> tuple[PoolPlan, ...]:
        verify = IdentityCheck("who", [], lambda _: None)
        head = HeadQuery("head", [], int)
        states = frozenset({"state"})
        return (
            PoolPlan(kind="core", errors=ANY, verify=verify, head=head, state_methods=states, opens=Opened),
            PoolPlan(kind="scan", errors=ANY, verify=verify, opens=Opened, is_cached=False),
        )

    def driver(self, parts: ChainParts) -> Driver:
        self.parts = parts
        return Driver(parts, {ReadsHeads: self.reader}, (self.reader,))


@pytest.fixture
def factory() -> Factory:
    return Factory()


class Http:
    """A client that connects to nothing."""

    def retire(self, origin: object) -> None:
        """Close the connections to the origin, of which there are none."""


def opened(factory: Factory, **options: Any) -> Driver:
    http: Any = Http()
    return factory.open(ENDPOINTS, http, None, None, **{"is_local": False, **options})


async def test_each_kind_has_a_pool_of_its_endpoints(factory: Factory) -> None:
    driver = opened(factory)
    assert {kind: list(pool.labels) for kind, pool in driver.pools.items()} == {"core": ["a", "c"], "scan": ["b"]}
    core, scan = driver.pools["core"].options, driver.pools["scan"].options
    assert (core["state_methods"], scan["state_methods"]) == ({"state"}, frozenset())
    assert core["block_time"] == scan["block_time"] == FACTS.block_time


@pytest.mark.parametrize("hedge", [False, True])
async def test_a_kind_without_heads_is_neither_hedged_nor_watched(factory: Factory, hedge: bool) -> None:
    pools = opened(factory, hedge=hedge).pools
    assert [pool.options["hedge"] for pool in pools.values()] == [hedge, False]
    assert [pool.options["watched"] for pool in pools.values()] == [True, False]


@pytest.mark.parametrize("is_local", [False, True])
async def test_local_nodes_are_not_judged_by_the_age_of_their_blocks(factory: Factory, is_local: bool) -> None:
    pools = opened(factory, is_local=is_local).pools
    assert factory.parts.judges_age is not is_local
    assert [pool.options["growth"] for pool in pools.values()] == [None if is_local else FACTS.growth] * 2


async def test_every_pool_clears_every_cache(factory: Factory) -> None:
    driver = opened(factory)
    [cache] = driver.caches.values()
    assert list(driver.caches) == ["core"]
    assert [pool.distrusts for pool in driver.pools.values()] == [[cache.forget]] * 2


async def test_a_driver_closes_its_readers_and_pools(factory: Factory) -> None:
    driver = opened(factory)
    await driver.close()
    assert factory.reader.closed == 1
    assert [pool.closed for pool in driver.pools.values()] == [1, 1]
