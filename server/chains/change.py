"""Other endpoints for the chains of a running gateway: proved beside those in use, then applied all at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from runtime.config_errors import ConfigError
from server.chains.registry import KINDS, check_configured, endpoints_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.settings import EndpointSettings, Settings
    from server.chains.registry import Chain, Chains
    from server.upstream.roster import Replacement


class _Change(NamedTuple):
    chain: Chain
    endpoints: Sequence[EndpointSettings]
    pools: Sequence[Replacement]


class ChainsChange:
    """What new settings change of the chains' endpoints. Building it sends nothing; end it by `apply` or `discard`.

    `before` are the settings that hold now. Raises ConfigError for endpoints that cannot be, and for a kind of endpoint
    that a chain begins or ceases to have.
    """

    def __init__(self, chains: Chains, before: Settings, settings: Settings) -> None:
        check_configured(settings)
        wanted = [(chain, endpoints_of(chain.facts, settings)) for chain in chains]
        mistakes = [mistake for chain, endpoints in wanted for mistake in _refuse_kinds(chain, endpoints)]
        if mistakes:
            raise ConfigError(mistakes[0].key, mistakes[0].value, mistakes[0].fix, others=mistakes[1:])
        self._configured = settings.chains
        self._changes: list[_Change] = []
        for chain, endpoints in wanted:
            hedge, hedged = (one.chains.get(chain.slug) for one in (settings, before))
            is_hedged = hedge is not None and hedge.hedge
            if _terms(endpoints) == _terms(chain.endpoints) and is_hedged == (hedged is not None and hedged.hedge):
                continue
            pools = [
                pool.replace([one for one in endpoints if one.kind == kind], hedge=is_hedged)
                for kind, pool in chain.driver.pools.items()
            ]
            self._changes.append(_Change(chain, endpoints, pools))

    async def prove(self) -> None:
        """Return once every new endpoint has proved which chain it serves.

        Raises ConfigError with those that serve another one or do not answer. Built-in public ones prove it before
        their first use, as at the start.
        """
        proofs = [(change, pool.prove()) for change in self._changes for pool in change.pools]
        failures = await asyncio.gather(*(proof for _, proof in proofs))
        mistakes = [
            mistake
            for (change, _), failed in zip(proofs, failures, strict=True)
            if change.chain.slug in self._configured
            for mistake in _refuse_unproved(change, failed)
        ]
        if mistakes:
            raise ConfigError(mistakes[0].key, mistakes[0].value, mistakes[0].fix, others=mistakes[1:])

    def apply(self) -> None:
        """Have the chains read from their new endpoints from now on."""
        for change in self._changes:
            change.chain.endpoints = tuple(change.endpoints)
            for pool in change.pools:
                pool.apply()

    async def discard(self) -> None:
        """Close what was opened; the chains stay as they are."""
        for change in self._changes:
            for pool in change.pools:
                await pool.discard()


def _terms(endpoints: Sequence[EndpointSettings]) -> list[tuple[object, ...]]:
    return [(one.route_key, one.kind, one.weight, one.rate) for one in endpoints]


def _refuse_kinds(chain: Chain, endpoints: Sequence[EndpointSettings]) -> Iterator[ConfigError]:
    """Yield a mistake for each kind that the chain begins or ceases to have, where its readers depend on that."""
    kinds = KINDS[chain.family]
    if len(kinds) == 1:
        return
    for kind in kinds:
        has, had = (any(one.kind == kind for one in some) for some in (endpoints, chain.endpoints))
        if has != had:
            what = f"the {'first' if has else 'last'} endpoint of kind {kind} is {'added' if has else 'removed'}"
            fix = f"{what}, which changes what {chain.name} is read through: restart for this"
            yield ConfigError(f"chains.{chain.slug}.endpoints", f'kind = "{kind}"', fix)


def _refuse_unproved(change: _Change, failed: dict[str, str]) -> Iterator[ConfigError]:
    for position, endpoint in enumerate(change.endpoints):
        if endpoint.label in failed:
            key = f"chains.{change.chain.slug}.endpoints[{position}].url"
            words = failed[endpoint.label]
            fix = f"it cannot be used ({words}): give an endpoint that answers for {change.chain.name}, or leave it out"
            yield ConfigError(key, f'(hidden) (endpoint "{endpoint.label}")', fix)
