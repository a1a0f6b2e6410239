"""The promises of the engine on every family besides EVM: one endpoint of three fails, and no caller notices.

Every kind of endpoint of a family (REST and RPC, node and indexer) is there three times, and the faulty machine is the
first of each kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from server.chains.view import ReadView
from server.errors import GatewayError, UpstreamUnavailable
from tests.faults.families import relay as faults

if TYPE_CHECKING:
    from tests.faults.families.conftest import Rig

pytestmark = pytest.mark.devnet

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


async def test_an_endpoint_that_becomes_another_chain_is_left_within_two_seconds(rig: Rig) -> None:
    await rig.read()
    rig.spoil(rig.subject.strays)
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        # Until it is noticed anything may be answered.
        with contextlib.suppress(AssertionError, GatewayError):
            await rig.read()
        await asyncio.sleep(0.02)
    for one in rig.bad:
        one.asked.clear()
    await rig.check()
    assert {name for one in rig.bad for name in one.asked} <= rig.subject.proofs


async def test_headers_are_read_from_every_kind_of_endpoint_and_are_linked(rig: Rig) -> None:
    """By them heads are proved and endpoints compared."""
    pools = {
        "solana": ("jsonrpc",),
        "starknet": ("jsonrpc",),
        "bitcoin": ("core", "esplora"),
        "cosmoshub": ("rest", "comet"),
    }
    for kind in pools[rig.subject.slug]:
        pool = rig.driver.pools[kind]
        endpoint = pool._endpoints[-1]
        header = await pool._proofs.read(endpoint, rig.head)
        parent = await pool._proofs.read(endpoint, header.parent)
        assert (header.number, parent.number) == (rig.head, header.parent)
        assert header.parent_hash == parent.hash != header.hash
        assert parent.made_at <= header.made_at <= time.time() + 60
        with pytest.raises(ValueError, match=r"\w"):
            await pool._proofs.read(endpoint, rig.head + 10**6)


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
