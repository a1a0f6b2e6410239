"""What lies in a vault of lend-c and what it earns now: all of its markets accrued in the execution that reads them.

A vault earns what its markets do, weighted by its assets in them, less its fee; rewards do not count. The rate is that
of this moment: markets are accrued first, so that the rate model's state is of this block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.protocols.morpho.accrual import WAD, Market, supplied
from server.protocols.morpho.rates import advance, borrow_rate, earned
from server.protocols.morpho.vaults import QUEUE, QUEUE_LENGTH, SLUG
from server.protocols.plan import ContractUnreadable, Group, StaleTables
from server.protocols.yields import YEAR_SECONDS, apy_of_apr, block_clock, read_block_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from server.contracts.calls import ContractCall
    from server.protocols.morpho.vaults import Vault, VaultMarket
    from server.protocols.plan import Answered

_MORPHO = Interface.load("server.protocols.morpho", "morpho")
_ACCRUE = _MORPHO["accrueInterest"]
_MARKET = _MORPHO["market"]
_POSITION = _MORPHO["position"]
_RATE_AT_TARGET = Interface.load("server.protocols.morpho", "rate_model")["rateAtTarget"]
_VAULT = Interface.load("server.protocols.morpho", "vault")
_TOTAL_ASSETS = _VAULT["totalAssets"]
_TOTAL_SUPPLY = _VAULT["totalSupply"]
_FEE = _VAULT["fee"]
_OWN = (_TOTAL_SUPPLY, _FEE, QUEUE_LENGTH)

# Measured 39,000, 10,000, 8,000 and 47,000 for each market of a vault (facts/protocol_reads_2, 2.3), cold; so that a
# vault of 30 markets fits into one execution.
_ACCRUE_GAS = 90_000
_READ_GAS = 20_000
_TOTAL_GAS = 60_000
_PER_MARKET = 4
_E36 = WAD * WAD


class VaultState(NamedTuple):
    """A vault at a block: raw amounts, the fee (1e18), and what it earns per second in units of the asset times 1e36.

    `earned` is before the vault's fee.
    """

    time: datetime
    total_assets: int
    total_supply: int
    fee: int
    earned: int

    def apy(self, *, after_fee: bool) -> float | None:
        """Return what a share earns now in percent per year; None where nothing lies in the vault."""
        if not self.total_assets:
            return None
        kept = WAD - self.fee if after_fee else WAD
        return apy_of_apr(self.earned * kept * YEAR_SECONDS / (self.total_assets * _E36 * WAD))

    @property
    def fee_percent(self) -> float:
        """The vault's share of what it earns, in percent."""
        return self.fee * 100 / WAD


def plan_state(chain: str, vault: Vault) -> Group:
    """Return the calls that `read_state` reads, for a vault of generation V1: an execution of their own."""
    calls: list[ContractCall] = [block_clock(chain)]
    calls += [call for market in _lent(vault) for call in _accrue(chain, vault, market)]
    calls += [asked.call(vault.address, gas=_READ_GAS) for asked in _OWN]
    calls.append(_TOTAL_ASSETS.call(vault.address, gas=_READ_GAS + len(vault.markets) * _TOTAL_GAS))
    calls += [QUEUE.call(vault.address, place, gas=_READ_GAS, is_optional=True) for place in range(len(vault.markets))]
    return Group(tuple(calls), is_known=False)


def read_state(chain: str, vault: Vault, answered: Sequence[Answered]) -> VaultState:
    """Return a vault's state of what `plan_state` returned.

    Raises:
        StaleTables: the vault has other markets now.
        ContractUnreadable: a contract does not answer as it does, or a market has a rate model that is not known.
    """
    clock, *returned = answered
    lent = _lent(vault)
    rows = [returned[at : at + _PER_MARKET] for at in range(0, _PER_MARKET * len(lent), _PER_MARKET)]
    own = returned[_PER_MARKET * len(lent) :]
    total_supply, fee, length, total_assets = (
        one.read_one(asked) for one, asked in zip(own, (*_OWN, _TOTAL_ASSETS), strict=False)
    )
    if fee > WAD:
        raise ContractUnreadable(f"the vault {vault.address} on {chain} has a fee of more than all that it earns")
    queue = own[len(_OWN) + 1 :]
    is_same = length == len(queue)
    if not is_same or any(one.read_one(QUEUE) != market.id for one, market in zip(queue, vault.markets, strict=True)):
        raise StaleTables
    model = load_address_book().find_contract(SLUG, chain, "adaptiveCurveIrm").address
    other = next((market for market in lent if market.irm != model), None)
    if other is not None:
        raise ContractUnreadable(
            f"the market 0x{other.id.hex()} of lend-c on {chain} has a rate model that is not known"
        )
    time = read_block_time(clock)
    in_all = sum(_earned(int(time.timestamp()), *row[1:]) for row in rows)
    return VaultState(time, total_assets, total_supply, fee, in_all)


def _lent(vault: Vault) -> list[VaultMarket]:
    """Return the markets that earn."""
    return [market for market in vault.markets if not market.is_idle]


def _accrue(chain: str, vault: Vault, market: VaultMarket) -> tuple[ContractCall, ...]:
    """Return the calls that accrue a market and read it, `_PER_MARKET` of them."""
    morpho = load_address_book().find_contract(SLUG, chain, "morpho").address
    return (
        _ACCRUE.call(morpho, market.params, gas=_ACCRUE_GAS, is_optional=True),
        _MARKET.call(morpho, market.id, gas=_READ_GAS),
        _POSITION.call(morpho, market.id, vault.address, gas=_READ_GAS),
        _RATE_AT_TARGET.call(market.irm, market.id, gas=_READ_GAS),
    )


def _earned(now: int, market: Answered, position: Answered, rate: Answered) -> int:
    """Return what the vault earns in a market (see `earned`).

    Where a node had divided the execution, the accrual was lost with the part that it ran in, and is computed here.
    """
    totals, at_target = Market(*market.read(_MARKET)), int(rate.read_one(_RATE_AT_TARGET))
    if not totals.last_update:
        raise ContractUnreadable(
            f"a market of a vault of lend-c on {market.chain} is not in the contract {market.call.to}"
        )
    if totals.last_update != now:
        totals, at_target = advance(totals, at_target, now)
    return earned(totals, supplied(totals, position.read(_POSITION)[0]), borrow_rate(totals, at_target))
