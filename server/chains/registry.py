"""The chains of this process: facts, endpoints and drivers; settings and slugs that name no chain."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.config_errors import ConfigError, edits_between
from runtime.logs import redact_text
from runtime.settings import EndpointSettings
from server.chains.bitcoin.factory import BitcoinFactory
from server.chains.capabilities.accounts import WritesAddresses
from server.chains.cosmos.factory import CosmosFactory
from server.chains.evm.factory import EvmFactory
from server.chains.facts import load_facts
from server.chains.solana.factory import SolanaFactory
from server.chains.starknet.factory import StarknetFactory
from server.errors import ChainUnknown, NotAvailable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from runtime.settings import Settings
    from server.chains.facts import ChainFacts
    from server.chains.shared.factory import ChainFactory, Driver
    from server.upstream.cache import Cache
    from server.upstream.transport import Observer, Session


# A distant suggestion misleads: half of all unknown chains are chains that the gateway does not have.

_LONGEST = 64
_BETWEEN_WORDS = re.compile(r"[\s._-]+")
# Words that people add to the name of any chain.
_ADDED = re.compile(r"(?:chain|mainnet|network|pos)$")
# Slips are looked for in names of so many letters: the letters of shorter ones are those of other chains as well.
_SHORTEST = 4
_LONG = 7


def suggest_chain(text: str, slugs: Collection[str]) -> str | None:
    """Return the one of these slugs that is meant by a text that is none of them; None where none is near."""
    if len(text) > _LONGEST:
        return None
    name = _plain(text)
    by_name, written = _names(), _ADDED.sub("", name)
    for known in (name, written):
        if known in by_name and by_name[known] in slugs:
            return by_name[known]
    near = [
        (edits, slug)
        for slug in slugs
        for mine, its in ((name, slug), (written, _ADDED.sub("", slug)))
        if (edits := _slips(mine, its)) is not None
    ]
    return min(near, key=lambda found: found[0])[1] if near else None


def advise_chain(text: str, slugs: Collection[str]) -> str:
    """Return what to write instead of a slug that no chain has."""
    slug = suggest_chain(text, slugs)
    return f"did you mean `{slug}`?" if slug is not None else f"chains are: {', '.join(slugs)}"


def _slips(name: str, slug: str) -> int | None:
    """Return by how many slips one differs from the other; None where it is another name."""
    shorter = min(len(name), len(slug))
    if shorter < _SHORTEST:
        return None
    # Two slips at once count only in long names that begin alike: litecoin is no bitcoin.
    most = 2 if shorter >= _LONG and name[0] == slug[0] else 1
    return edits_between(name, slug, most=most)


@cache
def _names() -> dict[str, str]:
    """Return the slug by every plain name of its chain: slug, name, chain id, aliases."""
    names: dict[str, str] = {}
    for slug, facts in load_facts().items():
        for name in (slug, facts.name, str(facts.chain_id), facts.hex_id, *facts.aliases):
            names.setdefault(_plain(name), slug)
    return names


def _plain(text: str) -> str:
    return _BETWEEN_WORDS.sub("", text.casefold())


# The interfaces that each family's drivers ask.
KINDS: dict[str, tuple[str, ...]] = {
    "evm": ("jsonrpc",),
    "solana": ("jsonrpc",),
    "starknet": ("jsonrpc",),
    "bitcoin": ("core", "esplora", "scan"),
    "cosmos": ("rest", "comet"),
}

PUSHING = frozenset({"evm"})
"""The families whose nodes announce new blocks over a WebSocket that is read (`ws_url`)."""


def check_configured(settings: Settings) -> None:
    """Return when every configured chain exists and every endpoint is of a kind that its family reads.

    Raises ConfigError with all mistakes; an unknown slug is answered with the nearest known one.
    """
    facts = load_facts()
    mistakes: list[ConfigError] = []
    for slug, chain in settings.chains.items():
        if slug not in facts:
            near = suggest_chain(slug, facts)
            advice = f'did you mean "{near}"?' if near else f"the chains are {', '.join(facts)}"
            mistakes.append(ConfigError(f"chains.{redact_text(slug)}", "", f"there is no such chain: {advice}"))
            continue
        kinds = KINDS[facts[slug].family]
        for position, endpoint in enumerate(chain.endpoints):
            if endpoint.kind not in kinds:
                fix = f"{facts[slug].name} is read through {' or '.join(kinds)}: set kind to one of them"
                key = f"chains.{slug}.endpoints[{position}].kind"
                mistakes.append(ConfigError(key, f'"{endpoint.kind}" (endpoint "{endpoint.label}")', fix))
            if endpoint.ws_url is not None and facts[slug].family not in PUSHING:
                fix = f"nodes of {facts[slug].name} announce no blocks in a way that Waypost reads: leave it out"
                key = f"chains.{slug}.endpoints[{position}].ws_url"
                mistakes.append(ConfigError(key, f'(hidden) (endpoint "{endpoint.label}")', fix))
    if mistakes:
        first = mistakes[0]
        raise ConfigError(first.key, first.value, first.fix, others=mistakes[1:])


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
    endpoints = endpoints_of(facts, settings)
    factory = _FACTORIES[facts.family](facts)
    return Chain(facts, endpoints, factory.open(endpoints, http, observer, cache, is_local=is_local, hedge=hedge))


def endpoints_of(facts: ChainFacts, settings: Settings) -> tuple[EndpointSettings, ...]:
    """Return the endpoints that the settings have a chain read from: configured ones, else public ones on mainnet."""
    configured = settings.chains.get(facts.slug)
    if configured is not None:
        return tuple(configured.endpoints)
    if settings.profile == "devnet":
        return ()
    return tuple(
        EndpointSettings.model_validate({"label": endpoint.label, "url": endpoint.url, "kind": endpoint.kind})
        for endpoint in facts.endpoints
    )
