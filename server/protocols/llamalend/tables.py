"""The lending vaults of pool-a on a chain, out of both generations of factories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.calls import read_text
from server.contracts.interface import Interface
from server.protocols.plan import ContractUnreadable, Group, More, Plan, StaleTables
from server.protocols.tokens import DECIMALS, SYMBOL, ZERO, TokenFacts, describe, read_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes

SLUG = "curve-llamalend"
_V1 = Interface.load("server.protocols.llamalend", "factory_v1")
_V2 = Interface.load("server.protocols.llamalend", "factory_v2")
COUNT = _V1["market_count"]
_NAMES = _V1["names"]

# How many places of a factory are read before their number is known; Ethereum's first had 48.
_AT_FIRST = 64
_MOST = 2_000

MOST_DECIMALS = 18
"""Vaults compute in units of 18 decimals, and none can be opened of an asset with more."""


class Vault(NamedTuple):
    """A vault: its name, its shares' symbol and decimals, its asset.

    The name is the factory's, or collateral/borrowed where that has none.
    """

    address: str
    name: str
    symbol: str
    decimals: int
    asset: TokenFacts


class Tables(NamedTuple):
    """The vaults by factory, and how many places each factory has."""

    counts: tuple[int, ...]
    by_factory: tuple[tuple[Vault, ...], ...]

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """All vaults, in the factories' order."""
        return tuple(vault for vaults in self.by_factory for vault in vaults)

    def extended(self, new: Mapping[int, Entry], vaults: Sequence[Vault]) -> Tables:
        """Return the tables with a place more in some factories, and those of the new vaults that can be read."""
        readable = {vault.address: vault for vault in vaults}
        counts = tuple(count + (index in new) for index, count in enumerate(self.counts))
        by_factory = (
            (*old, readable[new[index].vault]) if index in new and new[index].vault in readable else old
            for index, old in enumerate(self.by_factory)
        )
        return Tables(counts, tuple(by_factory))


class Entry(NamedTuple):
    """What a factory lists at a place; the zero address for a vault that was given up."""

    vault: str
    collateral: str
    asset: str
    name: str


class _Generation(NamedTuple):
    """A factory's way of listing: what is called for each place, how many calls that takes, how it is read."""

    calls: Any
    read: Any
    width: int


def _calls_v1(factory: str, place: int) -> list[ContractCall]:
    names = ("vaults", "collateral_tokens", "borrowed_tokens", "names")
    return [_V1[name].call(factory, place, gas=100_000, is_optional=True) for name in names]


def _read_v1(returned: tuple[Answered, ...]) -> Entry:
    vault, collateral, asset = (
        one.read_one(_V1[name])
        for one, name in zip(returned, ("vaults", "collateral_tokens", "borrowed_tokens"), strict=False)
    )
    return Entry(vault, collateral, asset, _name(returned[3]))


def _calls_v2(factory: str, place: int) -> list[ContractCall]:
    return [_V2[name].call(factory, place, gas=100_000, is_optional=True) for name in ("markets", "names")]


def _read_v2(returned: tuple[Answered, ...]) -> Entry:
    market = returned[0].read_one(_V2["markets"])
    return Entry(market[0], market[3], market[4], _name(returned[1]))


_GENERATIONS = {
    "oneWayLendingFactory": _Generation(_calls_v1, _read_v1, 4),
    "lendFactoryV2": _Generation(_calls_v2, _read_v2, 2),
}


def factories(chain: str) -> list[tuple[str, _Generation]]:
    """Return the chain's factories in order, with the way that each lists."""
    contracts = load_address_book().find_contracts(SLUG, chain)
    return [(contracts[key].address, kind) for key, kind in _GENERATIONS.items() if key in contracts]


def check_calls(chain: str, tables: Tables) -> tuple[ContractCall, ...]:
    """Return the calls that `find_new` reads: of each factory how many places it has, and what the next one holds."""
    calls = []
    for (address, kind), count in zip(factories(chain), tables.counts, strict=True):
        calls += [COUNT.call(address), *kind.calls(address, count)]
    return tuple(calls)


def find_new(chain: str, returned: tuple[Answered, ...], tables: Tables) -> dict[int, Entry]:
    """Return what was listed since, by the number of the factory; StaleTables where that is more than a place each."""
    new, start = {}, 0
    for index, ((_, kind), count) in enumerate(zip(factories(chain), tables.counts, strict=True)):
        end = start + 1 + kind.width
        more = returned[start].read_one(COUNT) - count
        if more not in (0, 1):
            raise StaleTables
        if more:
            new[index] = kind.read(returned[start + 1 : end])
        start = end
    return new


def load_vaults(chain: str, outcomes: Outcomes) -> Tables | More:
    """Return the chain's vaults, or what has to be read for them.

    The first places of each factory are read together with their number: those beyond it refuse.
    """
    if "counts" not in outcomes:
        groups = {"counts": Group(tuple(COUNT.call(address) for address, _ in factories(chain)))}
        for address, kind in factories(chain):
            groups[address] = Group(tuple(call for place in range(_AT_FIRST) for call in kind.calls(address, place)))
        return More(Plan(groups))
    counts = tuple(returned.read_one(COUNT) for returned in outcomes["counts"])
    if sum(counts) > _MOST:
        raise ContractUnreadable(f"the factories of lending vaults on {chain} list more than {_MOST}")
    rest = {
        f"{address} rest": Group(
            tuple(call for place in range(_AT_FIRST, count) for call in kind.calls(address, place))
        )
        for (address, kind), count in zip(factories(chain), counts, strict=True)
        if count > _AT_FIRST and f"{address} rest" not in outcomes
    }
    if rest:
        return More(Plan(rest))
    by_factory = [
        _read_entries(address, kind, count, outcomes)
        for (address, kind), count in zip(factories(chain), counts, strict=True)
    ]
    entries = [entry for of_factory in by_factory for entry in of_factory]
    if "vaults" not in outcomes:
        return More(Plan(vault_groups(entries)))
    readable = {vault.address: vault for vault in read_vaults(entries, outcomes)}
    vaults = (
        tuple(readable[entry.vault] for entry in of_factory if entry.vault in readable) for of_factory in by_factory
    )
    return Tables(counts, tuple(vaults))


def vault_groups(entries: Sequence[Entry]) -> dict[str, Group]:
    """Return the groups that `read_vaults` reads."""
    assets = dict.fromkeys(entry.asset for entry in entries)
    collaterals = dict.fromkeys(entry.collateral for entry in entries if not entry.name)
    return {
        "assets": Group(tuple(call for asset in assets for call in describe(asset))),
        "collaterals": Group(tuple(SYMBOL.call(token) for token in collaterals)),
        "vaults": Group(tuple(call for entry in entries for call in describe(entry.vault))),
    }


def read_vaults(entries: Sequence[Entry], outcomes: Outcomes) -> list[Vault]:
    """Return the vaults whose assets they can compute with; ContractUnreadable where a vault does not answer."""
    returned = outcomes["assets"]
    facts = {one.address: one for one in map(_read_asset, returned[::2], returned[1::2]) if one is not None}
    symbols = {one.call.to: _name(one) for one in outcomes["collaterals"]}
    shares = outcomes["vaults"]
    return [
        Vault(
            entry.vault,
            entry.name or f"{symbols[entry.collateral]}/{facts[entry.asset].symbol}",
            read_symbol(symbol),
            decimals.read_one(DECIMALS),
            facts[entry.asset],
        )
        for entry, symbol, decimals in zip(entries, shares[::2], shares[1::2], strict=True)
        if entry.asset in facts
    ]


def _read_asset(symbol: Answered, decimals: Answered) -> TokenFacts | None:
    """Return what a vault's asset is; None where it is no token that a vault can compute with.

    Anyone may open a market of any token, which must not keep others from reading the rest.
    """
    found = decimals.read_if_answered(DECIMALS)
    if found is None or found[0] > MOST_DECIMALS:
        return None
    return TokenFacts(symbol.call.to, _name(symbol), found[0])


def _read_entries(address: str, kind: _Generation, count: int, outcomes: Outcomes) -> list[Entry]:
    returned = outcomes[address]
    if f"{address} rest" in outcomes:
        returned += outcomes[f"{address} rest"]
    entries = [kind.read(returned[place * kind.width : (place + 1) * kind.width]) for place in range(count)]
    # A place that was given up holds no vault.
    return [entry for entry in entries if entry.vault != ZERO]


def _name(returned: Answered) -> str:
    """Return a text that need not be there: a factory's name of a market, a token's symbol; "" where none is."""
    return (read_text(returned.outcome.data) or "") if returned.outcome.succeeded else ""
