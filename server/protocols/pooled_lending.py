"""Lending pools of lend-a's design: positions of a wallet, and the markets with their rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from server.catalog.protocols import load_address_book
from server.catalog.tokens import load_tokens
from server.chains.facts import load_facts
from server.contracts.interface import Interface
from server.errors import InvalidArgument, PriceUnavailable
from server.protocols.plan import ContractUnreadable, Group, More, Plan, StaleTables
from server.protocols.tokens import SYMBOL, read_symbol
from server.protocols.yields import PoolForm, block_clock, canonical_pool

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes


# Source: lend-a's `IPool.getUserAccountData` (the sums are in the market's base currency, threshold and ltv in basis
# points, the health factor times 1e18 and 2^256-1 without debt); `IPriceOracleGetter` (prices in the base currency).

_POOL = Interface.load("server.protocols", "lending_pool")
GET_RESERVES_LIST = _POOL["getReservesList"]
GET_ACCOUNT_DATA = _POOL["getUserAccountData"]
_ORACLE = Interface.load("server.protocols", "lending_oracle")
_GET_PRICES = _ORACLE["getAssetsPrices"]
_GET_PRICE = _ORACLE["getAssetPrice"]
GET_UNIT = _ORACLE["BASE_CURRENCY_UNIT"]

# It grows with the reserves that a wallet uses: 41,000 were measured with three.
ACCOUNT_GAS = 600_000

# The list grows by a storage read per reserve, 67 of them on Ethereum.
LIST_GAS = 400_000

# Measured 10,000 per asset (facts/protocol_reads_2, 2.3).
_PRICE_GAS = 20_000

_BASIS_POINTS = 10_000
_WAD = 10**18


class Account(NamedTuple):
    """A wallet's account, in integers of the pool: sums in the base currency, shares in basis points."""

    collateral: int
    debt: int
    available: int
    threshold: int
    ltv: int
    health: int

    @property
    def health_factor(self) -> float | None:
        """The health factor; None without debt."""
        return self.health / _WAD if self.debt else None

    @property
    def is_liquidatable(self) -> bool:
        """Whether there is a debt that its collateral no longer covers."""
        return self.debt > 0 and self.health < _WAD

    @property
    def max_ltv(self) -> float:
        """The pool's weighted most that may be borrowed, a fraction."""
        return self.ltv / _BASIS_POINTS

    @property
    def liquidation_threshold(self) -> float:
        """The weighted liquidation threshold, a fraction."""
        return self.threshold / _BASIS_POINTS


def find_new(listed: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the assets of a pool's list that were not known, in its order.

    Raises:
        StaleTables: the others stand in another order: one was dropped and listed again, with tokens of its own.
    """
    if listed == known:
        return []
    if [asset for asset in listed if asset in known] != [asset for asset in known if asset in listed]:
        raise StaleTables
    return [asset for asset in listed if asset not in known]


def read_account(answered: Answered, market: str) -> Account:
    """Return the account; PriceUnavailable, naming the market, where the pool refuses: an oracle gives no price."""
    if answered.has_failed:
        raise PriceUnavailable(
            f"{market} on {answered.chain} has no price for a reserve of this account: its pool refuses the account's "
            "sums",
            retry_after_ms=1000,
        )
    return Account(*answered.read(GET_ACCOUNT_DATA))


def call_prices(oracle: str, assets: Sequence[str]) -> ContractCall:
    """Return the call of all prices together, which fails where one feed does."""
    return _GET_PRICES.call(oracle, assets, gas=_PRICE_GAS * max(1, len(assets)), is_optional=True)


def call_price(oracle: str, asset: str) -> ContractCall:
    """Return the call of one price, which fails where the asset's feed does."""
    return _GET_PRICE.call(oracle, asset, gas=4 * _PRICE_GAS, is_optional=True)


def price_group(oracle: str, assets: Iterable[str]) -> Group:
    """Return the prices of assets one by one."""
    return Group(tuple(call_price(oracle, asset) for asset in assets))


def read_price(returned: Answered) -> int | None:
    """Return what `call_price` returned, in the oracle's unit; None where the feed gives no price, which 0 is."""
    found = returned.read_if_answered(_GET_PRICE)
    return None if found is None else found[0] or None


def read_prices(together: Answered, outcomes: Outcomes, count: int) -> list[int | None] | None:
    """Return the price of each of so many assets, None for those without.

    `together` is what `call_prices` returned; where that failed they come from the group "prices", a `price_group`.
    None where that was not read yet: a feed fails the array of all.
    """
    found = together.read_if_answered(_GET_PRICES)
    if found is not None and len(found[0]) == count:
        return [price or None for price in found[0]]
    return [read_price(returned) for returned in outcomes["prices"]] if "prices" in outcomes else None


# Oracle and data provider are those that the market's own registry of addresses names. They, and the list of
# reserves, are read again by every read and compared: a market that changed is read anew.

_REGISTRY = Interface.load("server.protocols", "lending_registry")
_GET_ORACLE = _REGISTRY["getPriceOracle"]
_GET_DATA_PROVIDER = _REGISTRY["getPoolDataProvider"]

_ZERO_ADDRESS = "0x" + "00" * 20
# Calls of a market's state; the block's time stands behind them.
_STATE = 3
# Of two assets of one symbol the first kind has it: the asset itself, one that we know nothing of, a bridged form.
_ISSUED, _UNKNOWN, _BRIDGED = range(3)


class Deployment(NamedTuple):
    """Where a market stands, by the address book. `data_provider` is that of a registry that names none."""

    slug: str
    chain: str
    pool: str
    registry: str
    data_provider: str

    @classmethod
    def find(cls, slug: str, chain: str) -> Deployment:
        """Return the market of a protocol on a chain."""
        keys = ("pool", "poolAddressesProvider", "protocolDataProvider")
        return cls(slug, chain, *(load_address_book().find_contract(slug, chain, key).address for key in keys))


class Asset(NamedTuple):
    """A reserve's asset. `symbol` is what its contract calls itself, "" where that answers nothing.

    `symbols` are what no other asset of the market is called, `pools` what identifies its pool; of both the usual one
    is first. An asset may have none.
    """

    address: str
    symbol: str
    symbols: tuple[str, ...]
    pools: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return the asset's own symbol; one that it shares, or its address, where it has none."""
        return self.symbols[0] if self.symbols else self.symbol or self.address


@dataclass(frozen=True, eq=False)
class Market:
    """A market as it is: `unit` is what its oracle's prices of one US dollar are."""

    deployment: Deployment
    oracle: str
    data_provider: str
    unit: int
    assets: tuple[Asset, ...]
    returned: tuple[bytes, ...]
    """What the contracts returned for `checks` when the market was read."""

    plans: dict[Hashable, Any] = field(default_factory=dict)
    """What readers have made for pools of the market, by keys of their own; gone with it."""

    @cached_property
    def checks(self) -> tuple[ContractCall, ...]:
        """The calls that `check` reads."""
        return _checks(self.deployment)

    @cached_property
    def _by_pool(self) -> Mapping[str, Asset]:
        return {name.casefold(): asset for asset in self.assets for name in asset.pools}

    def find(self, pool: str) -> Asset | None:
        """Return the asset of a pool, whatever its casing; None where the market has none."""
        return self._by_pool.get(pool.casefold())

    def check(self, answered: Sequence[Answered]) -> None:
        """Raise StaleTables where the market is no longer what it was."""
        # Dozens of addresses: they are decoded where anything is different at all.
        if _raw(answered) == self.returned:
            return
        state = _State.of(answered, self.deployment)
        if state != ([asset.address for asset in self.assets], self.oracle, self.data_provider):
            raise StaleTables


class _State(NamedTuple):
    """What a market is by its own contracts."""

    listed: list[str]
    oracle: str
    data_provider: str

    @classmethod
    def of(cls, answered: Sequence[Answered], deployment: Deployment) -> _State:
        listed, oracle, data_provider = answered[:_STATE]
        state = cls(
            listed.read_one(GET_RESERVES_LIST),
            oracle.read_one(_GET_ORACLE),
            data_provider.read_one(_GET_DATA_PROVIDER),
        )
        return state._replace(data_provider=deployment.data_provider) if state.data_provider == _ZERO_ADDRESS else state


def load_market(deployment: Deployment, form: PoolForm, outcomes: Outcomes) -> Market | More:
    """Return the market, its pools identified in this form, or what has to be read for it."""
    if "list" not in outcomes:
        return More(Plan({"list": Group(_checks(deployment))}))
    state = _State.of(outcomes["list"], deployment)
    if "facts" not in outcomes:
        symbols = (SYMBOL.call(asset) for asset in state.listed)
        return More(Plan({"facts": Group((GET_UNIT.call(state.oracle), *symbols))}))
    unit, *returned = outcomes["facts"]
    named = dict(zip(state.listed, map(_read_symbol, returned), strict=True))
    assets = name_assets(deployment.chain, named, form)
    return Market(
        deployment, state.oracle, state.data_provider, unit.read_one(GET_UNIT), assets, _raw(outcomes["list"])
    )


def name_assets(chain: str, named: Mapping[str, str], form: PoolForm) -> tuple[Asset, ...]:
    """Return the assets of these addresses, each with the symbol that its contract names ("" without one), in order.

    Where two have one symbol, the asset itself has it, and a bridged form the symbol that the gateway's catalogue has
    for it (USDC and USDC.e). An asset also goes by the catalogue's symbols, unless another one is called so: USDT where
    it calls itself USDT0. The wrapped coin is not the coin.
    """
    listings, wrapped = load_tokens().on_chain(chain), load_facts()[chain].wrapped_native
    coin = None if wrapped is None else wrapped.address
    ranked: dict[int, list[str]] = {_ISSUED: [], _UNKNOWN: [], _BRIDGED: []}
    for address in named:
        listing = listings.get(address)
        rank = _UNKNOWN if listing is None else _BRIDGED if listing.deployment.is_bridged else _ISSUED
        ranked[rank].append(address)
    in_order = [address for addresses in ranked.values() for address in addresses]
    known = [listings[address] for address in in_order if address in listings]
    owned: set[str] = set()
    symbols: dict[str, list[str]] = {address: [] for address in named}
    for symbol, address in (
        *((named[address], address) for address in in_order),
        *((one.deployment.symbol, one.deployment.address) for one in known),
        *(
            (one.token.symbol, one.deployment.address)
            for one in known
            if not one.deployment.is_bridged and one.deployment.address != coin
        ),
    ):
        if symbol and symbol.casefold() not in owned:
            owned.add(symbol.casefold())
            symbols[address].append(symbol)
    return tuple(
        Asset(
            address,
            named[address],
            tuple(found),
            tuple(_identify(found if form is PoolForm.SYMBOL else [address], form)),
        )
        for address, found in symbols.items()
    )


def _checks(deployment: Deployment) -> tuple[ContractCall, ...]:
    """Return the calls of a market's state and of the block's time."""
    return (
        GET_RESERVES_LIST.call(deployment.pool, gas=LIST_GAS),
        _GET_ORACLE.call(deployment.registry),
        _GET_DATA_PROVIDER.call(deployment.registry),
        block_clock(deployment.chain),
    )


def _raw(answered: Sequence[Answered]) -> tuple[bytes, ...]:
    """Return what the market's state is made of, as it came."""
    return tuple([one.outcome.data if one.outcome.succeeded else b"" for one in answered[:_STATE]])


def _read_symbol(answered: Answered) -> str:
    try:
        return read_symbol(answered).strip()
    except ContractUnreadable:
        # One token without a description must not make the market fail.
        return ""


def _identify(names: Iterable[str], form: PoolForm) -> Iterable[str]:
    """Yield the names that callers can give."""
    for name in names:
        try:
            yield canonical_pool(form, name)
        except InvalidArgument:
            continue
