"""The chains of this process: facts, endpoints and drivers."""

from __future__ import annotations

import asyncio
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from runtime.settings import EndpointSettings
from server.chains.configured import check_configured
from server.chains.evm.driver import EvmDriver
from server.chains.evm.node_errors import EvmErrors
from server.chains.evm.quantity import json_quantity, quantity
from server.chains.facts import ChainFacts, load_facts
from server.errors import ChainUnknown, NotAvailable
from server.upstream import HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import aiohttp

    from runtime.settings import Settings
    from server.upstream.observer import Observer

Capability = TypeVar("Capability")


class Chain:
    """One chain: its facts, its endpoints and, where this build reads the family, its driver."""

    def __init__(self, facts: ChainFacts, endpoints: Sequence[EndpointSettings], driver: EvmDriver | None) -> None:
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
        """Return the driver as what it can do, one of the protocols of `capabilities`.

        Raises:
            NotAvailable: this build does not read that from chains of this family.
        """
        # A protocol counts as abstract, so the type checker takes it as a callable only, not as type[Capability].
        driver: Any = self.driver
        if driver is None or not _has(type(driver), wanted):
            raise NotAvailable(f"this build does not answer that for {self.slug} yet")
        return driver  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Chain({self.slug})"


class Chains:
    """Every chain by slug, in the order of the contract's table."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains = {chain.slug: chain for chain in chains}
        self.families: Mapping[str, str] = {chain.slug: chain.family for chain in chains}

    @classmethod
    def load(cls, settings: Settings, http: aiohttp.ClientSession, *, observer: Observer | None = None) -> Chains:
        """Return the chains with the endpoints of the settings, or else their public ones.

        The profile `devnet` never falls back to public endpoints: a chain without configured ones has none there.
        Nothing is sent yet. Raises ConfigError for a configured chain that does not exist.
        """
        check_configured(settings)
        chains = []
        for facts in load_facts().values():
            endpoints = _endpoints(facts, settings)
            open_driver = _DRIVERS.get(facts.family)
            driver = None if open_driver is None else open_driver(facts, endpoints, settings, http, observer)
            chains.append(Chain(facts, endpoints, driver))
        return cls(chains)

    def get(self, slug: str) -> Chain:
        """Return the chain of that slug; ChainUnknown, naming the nearest slug, where there is none."""
        chain = self._chains.get(slug)
        if chain is None:
            near = get_close_matches(slug.lower()[:64], self._chains, n=1)
            advice = f"did you mean `{near[0]}`?" if near else f"chains are: {', '.join(self._chains)}"
            raise ChainUnknown(f"no chain has that slug; {advice}", field="chain")
        return chain

    def capability(self, slug: str, wanted: Callable[..., Capability]) -> Capability:
        """Return what `Chain.capability` returns for the chain of that slug."""
        return self.get(slug).capability(wanted)

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


def _open_evm(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    settings: Settings,
    http: aiohttp.ClientSession,
    observer: Observer | None,
) -> EvmDriver:
    pool = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "jsonrpc"],
        _EVM_ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("eth_chainId", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery("eth_blockNumber", [], json_quantity),
        observer=observer,
    )
    return EvmDriver(facts, pool, judges_age=settings.profile != "devnet")


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `eth_chainId` so is of another chain, None if it is of this one."""
    try:
        chain_id = quantity(msgspec.json.decode(result, type=str))
    except (msgspec.MsgspecError, ValueError):
        return "does not tell its chain id"
    return None if chain_id == facts.chain_id else f"serves chain id {chain_id} instead of {facts.chain_id}"


_has_cache: dict[tuple[type, object], bool] = {}


def _has(driver: type, wanted: object) -> bool:
    """Return whether the class has the protocol's methods; remembered, because asking a protocol is slow."""
    key = (driver, wanted)
    if key not in _has_cache:
        names = [name for name in vars(wanted) if not name.startswith("_")]
        _has_cache[key] = all(callable(getattr(driver, name, None)) for name in names)
    return _has_cache[key]


_EVM_ERRORS = EvmErrors()

# The families that this build reads, each with the function that opens a chain's driver.
_DRIVERS = {"evm": _open_evm}
