"""What lend-c's vaults are: proved by the protocol's factories, with the asset and the markets that they supply.

An address that a caller names may be any contract's, so a factory has to confirm it, and it is read in executions of
its own. What it answers as well as a vault does is of no matter then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.protocols.morpho.rates import WAD, Market, advance, borrow_rate, earned, supplied
from server.protocols.plan import ContractUnreadable, Group, StaleTables
from server.protocols.tokens import TokenFacts, describe, read_facts
from server.protocols.yields import YEAR_SECONDS, apy_of_apr, block_clock, read_block_time
from server.yields.morpho import FIRST, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from server.contracts.calls import ContractCall
    from server.contracts.interface import Function
    from server.protocols.plan import Answered


SLUG = "morpho"
MOST_MARKETS = 30
"""The longest queue that a vault takes (ConstantsLib.MAX_QUEUE_LENGTH)."""

_VAULT = Interface.load("server.protocols.morpho", "vault")
_FACTORY = Interface.load("server.protocols.morpho", "vault_factory")
_PARAMETERS = Interface.load("server.protocols.morpho", "morpho")["idToMarketParams"]

ASSET = _VAULT["asset"]
_NAMES = (_VAULT["name"], _VAULT["symbol"])
DECIMALS = _VAULT["decimals"]
QUEUE_LENGTH = _VAULT["withdrawQueueLength"]
QUEUE = _VAULT["withdrawQueue"]
# Keys of the address book with the function that is called there; the first factory made many of the large vaults.
_FACTORIES: tuple[tuple[str, str, Function], ...] = (
    ("metaMorphoFactory", FIRST, _FACTORY["isMetaMorpho"]),
    ("firstMetaMorphoFactory", FIRST, _FACTORY["isMetaMorpho"]),
    ("vaultV2Factory", SECOND, _FACTORY["isVaultV2"]),
)

_WORD_GAS = 20_000
# Where the ids begin in what `describe_vault` returns.
_AT_QUEUE = 5
_NO_MODEL = "0x" + "0" * 40


class VaultMarket(NamedTuple):
    """A market of a vault's queue: its id and the contract's parameters, in their order."""

    id: bytes
    params: tuple[Any, ...]

    @property
    def irm(self) -> str:
        """The rate model."""
        return str(self.params[3])

    @property
    def is_idle(self) -> bool:
        """Whether it has no borrowers: without a rate model there is no interest."""
        return self.irm == _NO_MODEL


class Vault(NamedTuple):
    """A vault that a factory confirms. `markets` are those of its withdraw queue, empty for generation V2.

    `name` and `symbol` are empty where it does not answer for them.
    """

    address: str
    version: str
    name: str
    symbol: str
    asset: TokenFacts
    decimals: int
    markets: tuple[VaultMarket, ...]


def has_vaults(chain: str) -> bool:
    """Return whether the protocol has a factory of vaults on a chain."""
    return bool(_factories(chain))


def prove(chain: str, vaults: Iterable[str]) -> Group:
    """Return the calls by which `proved` knows what addresses are: of the protocol's own contracts alone."""
    factories = _factories(chain)
    return Group(
        tuple(asked.call(factory, vault, gas=_WORD_GAS) for vault in vaults for factory, _, asked in factories)
    )


def proved(chain: str, vaults: Sequence[str], returned: Sequence[Answered]) -> dict[str, str]:
    """Return the generation by address of those that are vaults; ContractUnreadable where a factory does not answer."""
    factories = _factories(chain)
    answers = iter(returned)
    found = dict[str, str]()
    for vault in vaults:
        for _, version, asked in factories:
            if next(answers).read_one(asked):
                found[vault] = version
    return found


def describe_vault(version: str, vault: str) -> Group:
    """Return the first of the calls that a vault's facts come from; the queue is read as long as it may be."""
    calls: list[ContractCall] = [ASSET.call(vault), DECIMALS.call(vault)]
    calls += [one.call(vault, is_optional=True) for one in _NAMES]
    if version == FIRST:
        calls.append(QUEUE_LENGTH.call(vault))
        calls += [QUEUE.call(vault, place, gas=_WORD_GAS, is_optional=True) for place in range(MOST_MARKETS)]
    return Group(tuple(calls), is_known=False)


def read_queue(version: str, returned: Sequence[Answered]) -> tuple[bytes, ...]:
    """Return the ids of the markets of what `describe_vault` returned; ContractUnreadable where it is no queue."""
    if version == SECOND:
        return ()
    length = int(returned[_AT_QUEUE - 1].read_one(QUEUE_LENGTH))
    if length > MOST_MARKETS:
        raise ContractUnreadable(f"the vault {returned[2].call.to} has a longer queue than one may have")
    return tuple(one.read_one(QUEUE) for one in returned[_AT_QUEUE : _AT_QUEUE + length])


def describe_asset(returned: Sequence[Answered]) -> Group:
    """Return the calls that describe the asset of what `describe_vault` returned: a token of the vault's choice."""
    return Group(describe(returned[0].read_one(ASSET)), is_known=False)


def describe_markets(chain: str, ids: Sequence[bytes]) -> Group:
    """Return the calls for the parameters of markets."""
    morpho = load_address_book().find_contract(SLUG, chain, "morpho").address
    return Group(tuple(_PARAMETERS.call(morpho, one) for one in ids))


def read_parameters(ids: Sequence[bytes], returned: Sequence[Answered]) -> dict[bytes, VaultMarket]:
    """Return the markets of what `describe_markets` returned, by id."""
    return {
        one: VaultMarket(one, tuple(answered.read(_PARAMETERS))) for one, answered in zip(ids, returned, strict=True)
    }


def read_vault(
    version: str,
    returned: Sequence[Answered],
    asset: Sequence[Answered],
    markets: Mapping[bytes, VaultMarket],
) -> Vault:
    """Return a vault of what `describe_vault` and `describe_asset` returned."""
    name, symbol = ((one.read_if_answered(asked) or ("",))[0] for one, asked in zip(returned[2:4], _NAMES, strict=True))
    return Vault(
        address=returned[0].call.to,
        version=version,
        name=name,
        symbol=symbol,
        asset=read_facts(*asset),
        decimals=int(returned[1].read_one(DECIMALS)),
        markets=tuple(markets[one] for one in read_queue(version, returned)),
    )


def _factories(chain: str) -> list[tuple[str, str, Function]]:
    contracts = load_address_book().protocols[SLUG].contracts.get(chain, {})
    return [(contracts[key].address, version, asked) for key, version, asked in _FACTORIES if key in contracts]


# A vault earns what its markets do, weighted by its assets in them, less its fee; rewards do not count. The rate is
# that of this moment: markets are accrued first, so that the rate model's state is of this block.

_MORPHO = Interface.load("server.protocols.morpho", "morpho")
_ACCRUE = _MORPHO["accrueInterest"]
_MARKET = _MORPHO["market"]
_POSITION = _MORPHO["position"]
_RATE_AT_TARGET = Interface.load("server.protocols.morpho", "rate_model")["rateAtTarget"]
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
