"""The chains of this process: facts, endpoints and drivers."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.settings import EndpointSettings
from server.chains.bitcoin import opening as bitcoin
from server.chains.capabilities import WritesAddresses
from server.chains.configured import check_configured
from server.chains.cosmos import opening as cosmos
from server.chains.evm import opening as evm
from server.chains.facts import ChainFacts, load_facts
from server.chains.solana import opening as solana
from server.chains.starknet import opening as starknet
from server.chains.suggestions import advise_chain
from server.errors import ChainUnknown, NotAvailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runtime.settings import Settings
    from server.chains.capabilities import Driver
    from server.upstream.cache import Cache
    from server.upstream.transport import Observer, Session

Capability = TypeVar("Capability")

# The families that this build reads, each with the function that opens a chain's driver.
_OPENERS: Mapping[str, Callable[..., Driver]] = {
    "evm": evm.open_driver,
    "bitcoin": bitcoin.open_driver,
    "solana": solana.open_driver,
    "starknet": starknet.open_driver,
    "cosmos": cosmos.open_driver,
}


class Chain:
    """One chain: its facts, its endpoints and, where this build reads the family, its driver."""

    def __init__(self, facts: ChainFacts, endpoints: Sequence[EndpointSettings], driver: Driver | None) -> None:
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

    def capability(self, wanted: Callable[..., Capability]) -> Capability:
        """Return what has the capability, one of the protocols of `capabilities`: an entry of the driver's, or itself.

        Raises:
            NotAvailable: this build does not read that from chains of this family.
        """
        # A protocol counts as abstract, so the type checker takes it as a callable only, not as type[Capability].
        driver: Any = self.driver
        if driver is not None:
            entry = driver.capabilities.get(wanted)
            if entry is not None:
                return entry  # type: ignore[no-any-return]
            if _has(driver, wanted):
                return driver  # type: ignore[no-any-return]
        raise NotAvailable(f"this build does not answer that for {self.slug} yet")

    def __repr__(self) -> str:
        return f"Chain({self.slug})"


class Chains:
    """Every chain by slug, in the order of the contract's table."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains = {chain.slug: chain for chain in chains}
        self.families: Mapping[str, str] = {chain.slug: chain.family for chain in chains}

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
        chains = []
        for facts in load_facts().values():
            endpoints = _endpoints(facts, settings)
            open_driver = _OPENERS.get(facts.family)
            configured = settings.chains.get(facts.slug)
            hedge = configured is not None and configured.hedge
            is_local = settings.profile == "devnet"
            if configured is not None and configured.mines_at_will is not None:
                is_local = configured.mines_at_will
            driver = open_driver and open_driver(
                facts, endpoints, http, observer, cache, is_local=is_local, hedge=hedge
            )
            chains.append(Chain(facts, endpoints, driver))
        return cls(chains)

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
        driver: Any = self._chains[slug].driver
        return str(driver.canonical_address(text)) if driver is not None and _has(driver, WritesAddresses) else text

    def __iter__(self) -> Iterator[Chain]:
        return iter(self._chains.values())

    def __len__(self) -> int:
        return len(self._chains)

    async def close(self) -> None:
        """Give up everything in flight on every chain."""
        await asyncio.gather(*(chain.driver.close() for chain in self if chain.driver is not None))


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


def _has(driver: Driver, wanted: object) -> bool:
    """Return whether the driver has the protocol's methods."""
    return _class_has(type(driver), wanted)


@cache
def _class_has(driver: type, wanted: object) -> bool:
    return all(hasattr(driver, name) for name in vars(wanted) if not name.startswith("_"))
