"""The chains of this process: facts, endpoints and drivers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.settings import EndpointSettings
from server.chains.bitcoin.factory import BitcoinFactory
from server.chains.capabilities import WritesAddresses
from server.chains.configured import check_configured
from server.chains.cosmos.factory import CosmosFactory
from server.chains.evm.factory import EvmFactory
from server.chains.facts import load_facts
from server.chains.solana.factory import SolanaFactory
from server.chains.starknet.factory import StarknetFactory
from server.chains.suggestions import advise_chain
from server.errors import ChainUnknown, NotAvailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runtime.settings import Settings
    from server.chains.facts import ChainFacts
    from server.chains.shared.factory import ChainFactory, Driver
    from server.upstream.cache import Cache
    from server.upstream.transport import Observer, Session

Capability = TypeVar("Capability")

# The families that this build reads.
_FACTORIES: Mapping[str, Callable[[ChainFacts], ChainFactory]] = {
    "evm": EvmFactory,
    "bitcoin": BitcoinFactory,
    "solana": SolanaFactory,
    "starknet": StarknetFactory,
    "cosmos": CosmosFactory,
}


class Chain:
    """One chain: its facts, its endpoints and its driver."""

    def __init__(self, facts: ChainFacts, endpoints: Sequence[EndpointSettings], driver: Driver) -> None:
        self.facts = facts
        self.slug = facts.slug
        self.name = facts.name
        self.type = facts.type
        self.family = facts.family
        self.chain_id = facts.chain_id
        self.native = facts.native
        self.hex_id = facts.hex_id
        self.endpoints = tuple(endpoints)
        self.driver = driver
        self._capabilities: Mapping[Any, Any] = driver.capabilities

    def capability(self, wanted: Callable[..., Capability]) -> Capability:
        """Return the driver's object that has the capability, one of the protocols of `capabilities`.

        Raises:
            NotAvailable: this build does not read that from chains of this family.
        """
        # A protocol counts as abstract, so the type checker takes it as a callable only, not as type[Capability].
        found: Capability | None = self._capabilities.get(wanted)
        if found is None:
            raise NotAvailable(f"this build does not answer that for {self.slug} yet")
        return found

    def __repr__(self) -> str:
        return f"Chain({self.slug})"


class Chains:
    """Every chain by slug, in the order of the contract's table."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains = {chain.slug: chain for chain in chains}
        self.families: Mapping[str, str] = {chain.slug: chain.family for chain in chains}
        self._writings = {
            chain.slug: chain.capability(WritesAddresses)
            for chain in chains
            if WritesAddresses in chain.driver.capabilities
        }

    @classmethod
    def load(
        cls,
        settings: Settings,
        http: Session,
        *,
        observer: Observer | None = None,
        cache: Cache | None = None,
    ) -> Chains:
        """Return the chains with the endpoints of the settings, or else their public ones.

        The profile `devnet` never falls back to public endpoints: a chain without configured ones has none there.
        Without a cache every read goes to a node. Nothing is sent yet. Raises ConfigError for a configured chain that
        does not exist.
        """
        check_configured(settings)
        return cls([open_chain(facts, settings, http, observer, cache) for facts in load_facts().values()])

    def get(self, slug: str) -> Chain:
        """Return the chain of that slug; ChainUnknown, naming the nearest slug, where there is none."""
        chain = self._chains.get(slug)
        if chain is None:
            raise ChainUnknown(f"no chain has that slug; {advise_chain(slug, self._chains)}", field="chain")
        return chain

    def capability(self, slug: str, wanted: Callable[..., Capability]) -> Capability:
        """Return what `Chain.capability` returns for the chain of that slug."""
        return self.get(slug).capability(wanted)

    def canonical_address(self, slug: str, text: str) -> str:
        """Return an address as the chain's answers write it; InvalidArgument for what is none.

        Where answers repeat the caller's writing, that is the text itself.
        """
        writing = self._writings.get(slug)
        return text if writing is None else writing.canonical_address(text)

    def __iter__(self) -> Iterator[Chain]:
        return iter(self._chains.values())

    def __len__(self) -> int:
        return len(self._chains)

    async def close(self) -> None:
        """Give up everything in flight on every chain."""
        await asyncio.gather(*(chain.driver.close() for chain in self))


def open_chain(
    facts: ChainFacts,
    settings: Settings,
    http: Session,
    observer: Observer | None = None,
    cache: Cache | None = None,
) -> Chain:
    """Return the chain of a table with its driver, as `Chains.load` opens it."""
    configured = settings.chains.get(facts.slug)
    is_local, hedge = settings.profile == "devnet", False
    if configured is not None:
        hedge = configured.hedge
        is_local = is_local if configured.mines_at_will is None else configured.mines_at_will
    endpoints = _endpoints(facts, settings)
    factory = _FACTORIES[facts.family](facts)
    return Chain(facts, endpoints, factory.open(endpoints, http, observer, cache, is_local=is_local, hedge=hedge))


def _endpoints(facts: ChainFacts, settings: Settings) -> tuple[EndpointSettings, ...]:
    configured = settings.chains.get(facts.slug)
    if configured is not None:
        return tuple(configured.endpoints)
    if settings.profile == "devnet":
        return ()
    return tuple(
        EndpointSettings.model_validate({"label": endpoint.label, "url": endpoint.url, "kind": endpoint.kind})
        for endpoint in facts.endpoints
    )
