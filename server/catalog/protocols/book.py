"""The address book: which contracts of which protocols are deployed where.

It is the one place that addresses of protocols come from; whoever reads a protocol asks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.nearest import nearest_few
from server.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

CATEGORIES = ("lending", "dex", "staking", "aggregator", "derivatives")
"""The categories of contract section 4.15, in its order."""


@dataclass(frozen=True, slots=True)
class RegisteredContract:
    """A contract at its address in canonical writing; `source` says where the address is published.

    `abi` is a JSON array, of a pinned package or of the published app that calls the contract; where it is None,
    `why_no_abi` says why (decisions section 5.4).
    """

    name: str
    address: str
    source: str
    abi: bytes | None = None
    why_no_abi: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredProtocol:
    """A protocol with its contracts by chain slug and key.

    `neutral` is the word that other operations have for the product (contract section 2.6), None where none has.
    """

    slug: str
    name: str
    neutral: str | None
    category: str
    url: str
    version: str
    description: str
    contracts: Mapping[str, Mapping[str, RegisteredContract]]


class AddressBook:
    """Every registered protocol by slug, sorted by it."""

    def __init__(self, protocols: Iterable[RegisteredProtocol]) -> None:
        self.protocols = {one.slug: one for one in sorted(protocols, key=lambda one: one.slug)}

    @property
    def chains(self) -> frozenset[str]:
        """The slugs of the chains on which something is registered."""
        return frozenset(chain for one in self.protocols.values() for chain in one.contracts)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that hold a protocol, in the contract's order."""
        used = {one.category for one in self.protocols.values()}
        return tuple(category for category in CATEGORIES if category in used)

    def find_protocol(self, slug: str) -> RegisteredProtocol:
        """Return the protocol of that slug; NotFound (field `slug`), naming the nearest slugs, where there is none."""
        found = self.protocols.get(slug)
        if found is None:
            raise NotFound(f"no protocol has that slug; {self._nearest_protocols(slug)}", field="slug")
        return found

    def find_contracts(self, slug: str, chain: str) -> Mapping[str, RegisteredContract]:
        """Return a protocol's contracts on a chain by key; NotFound where there are none, naming where there are."""
        protocol = self.find_protocol(slug)
        found = protocol.contracts.get(chain)
        if found is None:
            places = f"it has them on {', '.join(protocol.contracts)}" if protocol.contracts else "it has none anywhere"
            raise NotFound(f"{slug} has no registered contracts on {chain}; {places}", field="chain")
        return found

    def find_contract(self, slug: str, chain: str, key: str) -> RegisteredContract:
        """Return one contract; NotFound, naming the nearest keys, where the protocol has none of that key there."""
        contracts = self.find_contracts(slug, chain)
        found = contracts.get(key)
        if found is None:
            advice = _nearest(key, contracts) or f"its contracts there are {', '.join(contracts)}"
            raise NotFound(f"{slug} has no contract of that key on {chain}; {advice}", field="contract")
        return found

    def _nearest_protocols(self, text: str) -> str:
        meant = [one.slug for one in self.protocols.values() if one.neutral == text]
        if meant:
            return f"what is called {text} elsewhere is here {' or '.join(meant)}"
        return _nearest(text, self.protocols) or "getProtocols lists the slugs"


def _nearest(text: str, known: Collection[str]) -> str:
    near = nearest_few(text, known, most=3)
    return f"did you mean {' or '.join(near)}?" if near else ""
