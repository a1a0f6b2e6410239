"""Leases on a source that the test stops, with a clock that it moves: what is admitted, what waits, what is logged."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from runtime.metrics import REGISTRY
from server.access import leased_quotas
from server.access.admission import Policy, Principal
from server.access.leased_quotas import LeasedQuotas
from server.access.leases import LEASE, Take
from server.access.ledger import Ledger, LedgerSource
from server.access.quotas import Grant, Quotas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

pytestmark = pytest.mark.devnet


SECOND = 1_000_000_000
HOT = Principal("key:1", Policy("key", 1000, 100))
SLOW = Principal("key:2", Policy("key", 5, 10))
DEMO = Principal("demo:192.0.2.1", Policy("demo", 1, 1))


class Clock:
    def __init__(self) -> None:
        self.now = 7 * SECOND

    def __call__(self) -> int:
        return self.now


class Store:
    """What several processes count in: answers at once, while it is not away."""

    def __init__(self, clock: Clock, processes: int = 1) -> None:
        self.quotas = Quotas(clock=clock)
        self.processes = processes
        self.is_away = False
        self.exchanges = 0
        self.charged: list[Take] = []

    async def exchange(self, takes: Sequence[Take], seconds: float) -> Sequence[tuple[int, int]]:
        self.exchanges += 1
        if self.is_away:
            raise ConnectionError
        self.charged += takes
        return [self.quotas.take(*take) for take in takes]

    async def count_processes(self) -> int:
        if self.is_away:
            raise ConnectionError
        return self.processes

    async def close(self) -> None:
        pass


async def charged(quotas: LeasedQuotas, principal: Principal, units: int = 1) -> Grant:
    grant = quotas.charge(principal, units)
    return grant if isinstance(grant, Grant) else await grant


def degraded() -> float | None:
    return REGISTRY.get_sample_value("waypost_quota_degraded")


async def test_slow_quotas_and_the_demo_are_exact_in_all_processes() -> None:
    clock = Clock()
    store = Store(clock, 3)
    processes = [LeasedQuotas(store, clock=clock) for _ in range(3)]
    for principal in (SLOW, DEMO):
        grants = [await charged(processes[number % 3], principal) for number in range(30)]
        assert sum(grant.admitted for grant in grants) == principal.policy.burst
        assert [grant.admitted for grant in grants] == sorted((grant.admitted for grant in grants), reverse=True)
        left = [grant.remaining for grant in grants if grant.admitted]
        assert left == list(range(principal.policy.burst))[::-1]
        # A process that was refused asks again when there may be a unit, and not before.
        assert all(take.units == 1 for take in store.charged)
        before = store.exchanges
        assert (await charged(processes[0], principal)).retry_after_ms == 1000 / principal.policy.rate
        assert store.exchanges == before
        clock.now += round(SECOND / principal.policy.rate)
        assert [(await charged(one, principal)).admitted for one in processes] == [1, 0, 0]


async def test_a_batch_admits_a_prefix_and_debt_counts_in_all_processes() -> None:
    clock = Clock()
    store = Store(clock, 2)
    one, other = LeasedQuotas(store, clock=clock), LeasedQuotas(store, clock=clock)
    assert (await charged(one, SLOW, 7))[:2] == (7, 3)
    assert (await charged(other, SLOW, 7)) == (3, 0, 200, 2)
    clock.now += 130_000_000
    assert (await charged(one, SLOW, 7)) == (0, 0, 70, 2)
    clock.now += SECOND - 130_000_000
    assert (await charged(one, SLOW)).remaining == 4
    # 4 are left, 9 are owed: the next passes after 6 fifths of a second.
    assert one.owe(SLOW, 9).retry_after_ms == 1200
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await charged(other, SLOW) == (0, 0, 1200, 3)


async def test_a_key_within_its_rate_waits_for_nothing_once_it_is_hot() -> None:
    clock = Clock()
    store = Store(clock, 2)
    quotas = LeasedQuotas(store, clock=clock)
    waited = 0
    for number in range(2000):
        clock.now += 2_000_000
        grant = quotas.charge(HOT, 1)
        if not isinstance(grant, Grant):
            waited += number > 100
            grant = await grant
        assert grant.admitted
        assert grant.remaining <= HOT.policy.burst
        # What was asked for ahead arrives while others run.
        for _ in range(5):
            await asyncio.sleep(0)
    assert waited == 0
    # Four seconds: some forty questions a second instead of five hundred.
    assert store.exchanges < 250
    # A key in use takes little more than it uses.
    assert sum(take.units for take in store.charged) < 2200


@given(
    st.integers(1, 4),
    st.sampled_from([100.0, 250.0, 1000.0, 20_000.0]),
    st.sampled_from([1, 10, 100, 1000]),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 120), st.integers(1, 50), st.booleans()), max_size=80),
)
def test_no_window_has_more_than_a_lease_beyond_its_share(
    count: int, rate: float, burst: int, steps: list[tuple[int, int, int, bool]]
) -> None:
    clock = Clock()
    store = Store(clock, count)
    processes = [LeasedQuotas(store, clock=clock, replicas=count) for _ in range(count)]
    principal = Principal("key:1", Policy("key", rate, burst))
    admitted: list[tuple[int, int]] = []

    async def run() -> None:
        for which, pause, units, goes_on in steps:
            clock.now += pause * 1_000_000
            for _ in range(4 if goes_on else 1):
                grant = await charged(processes[which % count], principal, units)
                assert 0 <= grant.admitted <= units
                assert (grant.remaining == 0) == (grant.retry_after_ms > 0)
                admitted.append((clock.now, grant.admitted))

    asyncio.run(run())
    interval = round(SECOND / rate)
    for first, (begin, _) in enumerate(admitted):
        total = 0
        for time, units in admitted[first:]:
            total += units
            assert total <= burst + (time - begin + LEASE) // interval


async def test_a_source_that_is_away_costs_two_waits_and_nobody_is_refused_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leased_quotas, "BEAT_SECONDS", 0.02)
    clock = Clock()
    store = Store(clock, 4)
    quotas = LeasedQuotas(store, clock=clock)
    await quotas.start()
    await asyncio.sleep(0.01)
    assert (await charged(quotas, SLOW, 2)).remaining == 8
    with capture_logs() as lines:
        store.is_away = True
        # A quarter of what was left is this process's: two units, then one in four fifths of a second.
        assert [(await charged(quotas, SLOW)).admitted for _ in range(4)] == [1, 1, 0, 0]
        async with asyncio.timeout(5):
            while not quotas.is_degraded:  # noqa: ASYNC110  # it notices in its own time
                await asyncio.sleep(0.005)
        assert degraded() == 1
        grants = [quotas.charge(Principal(f"key:{number}", SLOW.policy), 1) for number in range(100, 120)]
        assert all(isinstance(grant, Grant) and grant.admitted for grant in grants)
        clock.now += 800_000_000
        assert [(await charged(quotas, SLOW)).admitted for _ in range(2)] == [1, 0]
        asked = store.exchanges
        assert asked <= 3
        store.is_away = False
        async with asyncio.timeout(5):
            while store.exchanges == asked:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    assert degraded() == 0
    # What passed meanwhile is charged: three units, of which two fifths of a second have brought half a one back.
    assert sum(take.debt for take in store.charged if take.name == SLOW.id) == 3
    assert [line["log_level"] for line in lines] == ["warning", "info"]
    await quotas.close()


async def test_a_source_that_hangs_holds_up_one_exchange_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_quotas, "EXCHANGE_SECONDS", 0.02)

    class Hanging(Store):
        async def exchange(self, takes: Sequence[Take], seconds: float) -> Sequence[tuple[int, int]]:
            self.exchanges += 1
            await asyncio.sleep(3600)
            return []

    store = Hanging(Clock())
    quotas = LeasedQuotas(store)
    first = [quotas.charge(Principal(f"key:{number}", SLOW.policy), 1) for number in range(50)]
    assert [(await grant).admitted for grant in first if not isinstance(grant, Grant)] == [1] * 50
    assert (store.exchanges, quotas.is_degraded) == (1, False)
    # Now one waits, and the others do not wait with it.
    waiting = quotas.charge(SLOW, 1)
    assert not isinstance(waiting, Grant)
    assert isinstance(quotas.charge(HOT, 1), Grant)
    assert (await waiting).admitted == 1
    assert (store.exchanges, quotas.is_degraded) == (2, True)
    assert isinstance(quotas.charge(SLOW, 1), Grant)
    await quotas.close()


async def test_other_rates_hold_from_the_next_charge_on() -> None:
    clock = Clock()
    quotas = LeasedQuotas(Store(clock), clock=clock)
    assert (await charged(quotas, SLOW, 10)).remaining == 0
    faster = Principal(SLOW.id, Policy("key", 50, 100))
    # The time of ten units at five a second is that of the whole burst of a hundred at fifty.
    clock.now += 100_000_000 + 200_000_000
    assert (await charged(quotas, faster)).remaining == 100 - 85 - 1


async def test_the_table_is_bounded() -> None:
    clock = Clock()
    quotas = LeasedQuotas(Store(clock), capacity=50, clock=clock)
    for number in range(200):
        await charged(quotas, Principal(f"demo:{number}", DEMO.policy))
    assert len(quotas) == 50
    clock.now += 2 * SECOND
    for number in range(30):
        await charged(quotas, Principal(f"again:{number}", DEMO.policy))
    assert len(quotas) <= 31


@pytest.fixture
async def ledger() -> AsyncIterator[Ledger]:
    made = Ledger(2)
    yield made
    await made.close()


async def test_workers_count_in_their_parents_ledger_and_a_new_one_finds_it_as_it_is(ledger: Ledger) -> None:
    for expected in (10, 0, 0):
        connection = await ledger.connect()
        quotas = LeasedQuotas(LedgerSource(connection.detach()))
        await quotas.start()
        steady = Principal("key:9", Policy("key", 0.001, 10))
        grants = await asyncio.gather(*(charged(quotas, steady) for _ in range(12)))
        assert sum(grant.admitted for grant in grants) == expected
        assert all(first.admitted >= second.admitted for first, second in pairwise(grants))
        await quotas.close()


async def test_a_ledger_charges_nothing_that_comes_too_late(ledger: Ledger) -> None:
    source = LedgerSource((await ledger.connect()).detach())
    assert await source.exchange([Take("key:1", SECOND, 10, 0, 4)], 60)
    with pytest.raises(TimeoutError):
        await source.exchange([Take("key:1", SECOND, 10, 5, 4)], -1)
    assert [admitted for admitted, _ in await source.exchange([Take("key:1", SECOND, 10, 0, 9)], 60)] == [6]
    assert await source.count_processes() == 2
    await source.close()


async def test_a_ledger_that_is_gone_is_noticed(ledger: Ledger) -> None:
    quotas = LeasedQuotas(LedgerSource((await ledger.connect()).detach()))
    assert (await charged(quotas, SLOW)).remaining == 9
    await ledger.close()
    assert [(await charged(quotas, SLOW)).admitted for _ in range(2)] == [1, 1]
    assert quotas.is_degraded
    await quotas.close()
