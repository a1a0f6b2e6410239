"""A chain has a capability by an entry of its driver's map, and each entry has what the capability's protocol asks."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.capabilities import accounts, blocks, contracts, following, logs
from server.chains.capabilities.accounts import ReadsBalances
from server.chains.capabilities.blocks import ReadsHeads, ReadsHealth
from server.chains.capabilities.contracts import CallsContracts
from server.chains.facts import load_facts
from server.chains.registry import KINDS, Chain, Chains
from server.errors import NotAvailable
from server.upstream.transport import open_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FAMILIES = {"evm", "bitcoin", "solana", "starknet", "cosmos"}
PROTOCOLS = {
    found
    for module in (accounts, blocks, contracts, following, logs)
    for found in vars(module).values()
    if getattr(found, "_is_protocol", False) and found.__module__ == module.__name__
}


class Heads:
    async def read_height(self, view: object) -> int:
        return 7


class Driver:
    def __init__(self, entries: dict[object, object]) -> None:
        self.capabilities = entries


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def chains() -> AsyncIterator[Chains]:
    async with open_session() as http:
        opened = Chains.load(Settings(), http)
        yield opened
        await opened.close()


def chain(driver: Any) -> Chain:
    return Chain(load_facts()["ethereum"], (), driver)


def test_an_entry_is_found_by_its_type() -> None:
    heads = Heads()
    assert chain(Driver({ReadsHeads: heads})).capability(ReadsHeads) is heads


@pytest.mark.parametrize("entries", [{}, {ReadsHeads: Heads()}])
def test_what_has_no_entry_is_not_available(entries: dict[object, object]) -> None:
    with pytest.raises(NotAvailable, match="ethereum"):
        chain(Driver(entries)).capability(ReadsBalances)


async def test_only_evm_chains_call_contracts(chains: Chains) -> None:
    for one in chains:
        if one.family == "evm":
            assert one.capability(CallsContracts)
        else:
            with pytest.raises(NotAvailable):
                one.capability(CallsContracts)


async def test_entries_have_the_methods_of_their_protocols(chains: Chains) -> None:
    """Names, parameters in their order, how each is passed, defaults, annotations, and whether it is awaited."""
    wrong = [
        f"{one.slug}: {type(entry).__name__}.{name} is not {wanted.__name__}.{name}"
        for one in chains
        for wanted, entry in one.driver.capabilities.items()
        for name, method in methods(wanted).items()
        if shape(method) != shape(getattr(type(entry), name, None))
    ]
    assert wrong == []


async def test_families_have_only_protocols_and_each_protocol_is_some_familys(chains: Chains) -> None:
    having = defaultdict(set)
    for one in chains:
        for wanted in one.driver.capabilities:
            having[wanted].add(one.family)
    assert set(having) == PROTOCOLS
    for wanted in (ReadsHealth, ReadsHeads, accounts.ReadsHoldings, blocks.PassesCalls):
        assert having[wanted] == FAMILIES


async def test_chains_of_a_family_have_the_same_capabilities_and_kinds_of_endpoints(chains: Chains) -> None:
    for family in FAMILIES:
        drivers = [one.driver for one in chains if one.family == family]
        assert {frozenset(driver.capabilities) for driver in drivers} == {frozenset(drivers[0].capabilities)}
        assert {tuple(sorted(driver.pools)) for driver in drivers} == {tuple(sorted(KINDS[family]))}


def methods(wanted: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(wanted).items() if not name.startswith("_")}


def shape(method: Any) -> object:
    if method is None:
        return None
    signature = inspect.signature(method)
    parameters = [(one.name, one.kind, one.default, plain(one.annotation)) for one in signature.parameters.values()]
    returned = plain(signature.return_annotation)
    return inspect.iscoroutinefunction(method), parameters, returned


def plain(annotation: object) -> str:
    """A list is a sequence."""
    return str(annotation).replace("list[", "Sequence[")
