"""A chain has a capability by an entry of its driver's map, or else by the driver's own methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import Settings
from server.chains.capabilities import CallsContracts, ReadsBalances, ReadsHeads, TracesTransactions
from server.chains.facts import load_facts
from server.chains.registry import Chain, Chains
from server.errors import NotAvailable
from server.upstream.transport import open_session

if TYPE_CHECKING:
    from collections.abc import Mapping

FACTS = load_facts()["ethereum"]


class Heads:
    async def read_height(self, view: object) -> int:
        return 7


class Driver(Heads):
    def __init__(self, capabilities: Mapping[object, object]) -> None:
        self.capabilities = capabilities

    def last_state(self) -> None:
        return None

    async def close(self) -> None:
        return None


def chain(driver: Any) -> Chain:
    return Chain(FACTS, (), driver)


def test_an_entry_goes_before_the_drivers_own_methods() -> None:
    heads, driver = Heads(), Driver({})
    assert chain(driver).capability(ReadsHeads) is driver
    assert chain(Driver({ReadsHeads: heads})).capability(ReadsHeads) is heads


@pytest.mark.parametrize("driver", [None, Driver({}), Driver({ReadsHeads: Heads()})])
def test_what_is_neither_is_not_available(driver: Driver | None) -> None:
    with pytest.raises(NotAvailable, match="ethereum"):
        chain(driver).capability(ReadsBalances)


async def test_evm_chains_call_contracts_by_an_entry_and_other_families_do_not() -> None:
    async with open_session() as http:
        chains = Chains.load(Settings(), http)
        for one in chains:
            if one.family == "evm":
                assert one.capability(CallsContracts) is not one.driver
                assert one.capability(TracesTransactions) is one.driver
            else:
                with pytest.raises(NotAvailable):
                    one.capability(CallsContracts)
        await chains.close()
