"""What a plain transfer costs on every chain that has gas (contract section 4.9; decisions section 3.8)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import structlog

from runtime.upstream_metrics import count_left_out
from server.chains.capabilities.contracts import GasPrice, ReadsGasPrices
from server.chains.view import ReadView
from server.errors import GatewayError, NotAvailable, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.registry import Chain, Chains
    from server.prices import Price, Prices
    from server.upstream.cache import CacheContext

_log = structlog.get_logger("waypost.gas")

TRANSFER_GAS = 21_000
"""The gas of a plain transfer, on which the comparison stands (contract section 8)."""

# One silent chain does not keep the others waiting for the caller's whole deadline, nor lose them by using it up.
_LONGEST_SECONDS = 5.0
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class TransferCost:
    """Fees per gas in wei, and US dollars of a plain transfer: None where the native coin has no live price.

    `l1_usd` is what posting it to layer 1 costs besides, None where that is nothing or unknown.
    """

    chain: str
    base_fee: int
    priority_fee: int
    usd: Decimal | None
    l1_usd: Decimal | None
    read_at: datetime


class GasComparison:
    """Compares the chains."""

    def __init__(self, chains: Chains, prices: Prices) -> None:
        self._chains = chains
        self._prices = prices

    @property
    def slugs(self) -> list[str]:
        """The chains that are compared."""
        return [chain.slug for chain in self._chains if _has_gas(chain)]

    async def compare(
        self, deadline: float | None, cache: CacheContext | None = None, slugs: Sequence[str] | None = None
    ) -> list[TransferCost]:
        """Return those of the chains (None: all) that answer, cheapest first, those of unknown cost last.

        A chain that does not answer in time is left out, and named in the log and in a metric. Every chain is asked in
        one request for its fees and for the price feeds on it. `deadline` is in seconds of the monotonic clock; `cache`
        is the caller's context of the cache.

        Raises:
            GatewayError: not one chain answered; the first one's failure.
        """
        until = _budget(deadline)
        chains = [self._chains.get(slug) for slug in (self.slugs if slugs is None else slugs)]
        symbols = {chain.native.symbol for chain in chains}
        prices, gas_prices = await asyncio.gather(
            self._prices.read(symbols, deadline=until, cache=cache),
            asyncio.gather(*(_gas_price(chain, ReadView(deadline=until, cache=cache)) for chain in chains)),
        )
        read_at = datetime.now(UTC)
        costs = [
            _cost(chain, gas, prices.get(chain.native.symbol), read_at)
            for chain, gas in zip(chains, gas_prices, strict=True)
            if isinstance(gas, GasPrice)
        ]
        if not costs:
            raise next(
                (gas for gas in gas_prices if isinstance(gas, GatewayError)),
                UpstreamUnavailable("no chain can be read"),
            )
        return sorted(costs, key=lambda cost: (cost.usd is None, cost.usd or 0))


def _budget(deadline: float | None) -> float:
    now = time.monotonic()
    return now + (_LONGEST_SECONDS if deadline is None else min(_LONGEST_SECONDS, (deadline - now) * _SHARE))


def _has_gas(chain: Chain) -> bool:
    try:
        chain.capability(ReadsGasPrices)
    except NotAvailable:
        return False
    return True


async def _gas_price(chain: Chain, view: ReadView) -> GasPrice | GatewayError:
    try:
        return await chain.capability(ReadsGasPrices).read_gas_price(view)
    except GatewayError as error:
        _log.warning("chain left out of the gas comparison", chain=chain.slug, reason=error.reason, why=error.message)
        count_left_out("compareGas", chain.slug)
        return error


def _cost(chain: Chain, gas: GasPrice, price: Price | None, read_at: datetime) -> TransferCost:
    usd = l1_usd = None
    if price is not None:
        usd = _in_coins(TRANSFER_GAS * (gas.base_fee + gas.priority_fee), chain) * price.value
        l1_usd = None if gas.l1_fee is None else _in_coins(gas.l1_fee, chain) * price.value
    return TransferCost(chain.slug, gas.base_fee, gas.priority_fee, usd, l1_usd, read_at)


def _in_coins(wei: int, chain: Chain) -> Decimal:
    return Decimal(wei).scaleb(-chain.native.decimals)
