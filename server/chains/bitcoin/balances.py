"""Balances of addresses, which nodes keep no index of: by whichever way endpoints are configured for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from server.chains.bitcoin.address import parse_address
from server.chains.capabilities import Balance, Holding, Holdings, is_accepted
from server.chains.shared.cache import CachedState
from server.errors import (
    GatewayError,
    InvalidArgument,
    NotSupported,
    TooMuchWork,
    UpstreamDisagrees,
    UpstreamUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities import KnownAsset
    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView

_CACHED = CachedState("balance", msgspec.msgpack.encode, msgspec.msgpack.Decoder(Balance).decode)


class Way(Protocol):
    """One way to a balance."""

    async def read_balance(self, address: str, known: str, view: ReadView) -> Balance:
        """Return the confirmed balance of an address, `known` to nodes so, and settle the view at its block."""
        ...


class BalanceReader:
    """Reads confirmed balances by the first of the `ways` that works; there is nothing to hold but the own coin."""

    def __init__(self, facts: ChainFacts, ways: Sequence[Way], cache: ChainCache) -> None:
        self._facts = facts
        self._ways = tuple(ways)
        self._cache = cache

    def check_holder(self, address: str) -> str:
        """Return the address as nodes write it; InvalidArgument for what is no address of the chain."""
        return parse_address(address)

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an address of the chain."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balance, no row where it is zero."""
        balance = await self.read_balance(address, view)
        rows = (Holding(None, balance.raw, self._facts.native.decimals),) if balance.raw else ()
        return Holdings(balance.address, balance.block, rows)

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the confirmed satoshi of an address and the newest block that they count; settles the view."""
        known = self._check(address, view)
        return await self._cache.read_state(view, _CACHED, address.encode(), lambda: self._read(address, known, view))

    async def _read(self, address: str, known: str, view: ReadView) -> Balance:
        failure: GatewayError | None = None
        for way in self._ways:
            try:
                return await way.read_balance(address, known, view)
            except InvalidArgument as error:
                raise InvalidArgument(error.message, field="address") from None
            except (UpstreamUnavailable, UpstreamDisagrees, TooMuchWork) as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def _check(self, address: str, view: ReadView) -> str:
        """Return the address as nodes write it.

        Raises:
            InvalidArgument: it is no address of the chain.
            NotSupported: the caller named a block, or no endpoint that tells balances is configured.
        """
        known = parse_address(address)
        if view.is_chosen:
            message = "blockHeight: no balances of the past are known of Bitcoin; leave it out"
            raise NotSupported(message, field="blockHeight")
        if not self._ways:
            raise NotSupported(f"balances on {self._facts.slug} need a configured endpoint of kind esplora or scan")
        return known
