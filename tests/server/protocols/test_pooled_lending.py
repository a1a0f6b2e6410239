"""lend-a's readers over scripted pools: what a healthy market does not show."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode

from server.catalog.protocols import load_address_book
from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.errors import PriceUnavailable
from server.protocols.aave_v2.reader import PositionReader as ReaderV2
from server.protocols.aave_v3.reader import PositionReader as ReaderV3
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import WalletQuestion
from tests.server.protocols.scripted import REVERTS, Readers, World, address

WALLET = "0x00000000000000000000000000000000000000AA"
QUESTION = WalletQuestion("ethereum", address=WALLET)
NEVER = 2**256 - 1
DOLLAR = 10**8
ASSETS = [checksum_address(address(number)) for number in (0xA1, 0xA2, 0xA3)]
_STATE = "uint256,uint128,uint128,uint128,uint128,uint128,uint40"
DATA = f"({_STATE},uint16,address,address,address,address,uint128,uint128,uint128)"
USER_RESERVE = "uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint40,bool"


def place(slug: str, key: str) -> str:
    return load_address_book().find_contract(slug, "ethereum", key).address


POOL, ORACLE, PROVIDER = (place("aave-v3", key) for key in ("pool", "oracle", "protocolDataProvider"))
OLD_POOL, OLD_PROVIDER = (place("aave-v2", key) for key in ("lendingPool", "protocolDataProvider"))


class Market(World):
    """A market of version 3: supplies, debts and prices by asset; ids by asset."""

    def __init__(self) -> None:
        super().__init__()
        self.supplies = dict.fromkeys(ASSETS, 0)
        self.debts = dict.fromkeys(ASSETS, 0)
        self.prices: dict[str, int | None] = dict.fromkeys(ASSETS, 2 * DOLLAR)
        self.ids = {asset: place for place, asset in enumerate(ASSETS)}
        self.build(ASSETS[:2])
        self.account()
        self.put(POOL, "getUserConfiguration(address)", "(uint256)", (0,))

    def account(self, *figures: int) -> None:
        self.put(POOL, "getUserAccountData(address)", ",".join(["uint256"] * 6), *(figures or (0, 0, 0, 0, 0, NEVER)))

    def build(self, listed: list[str]) -> None:
        """List these reserves."""
        self.put(POOL, "getReservesList()", "address[]", listed)
        rows = {}
        for asset in listed:
            supply_token, debt_token = address(int(asset, 16) + 0x1000), address(int(asset, 16) + 0x2000)
            none = address(0)
            rows[asset.lower()] = ((6 << 48, *[0] * 6, self.ids[asset], supply_token, none, debt_token, none, 0, 0, 0),)
            self.put_raw(supply_token, "balanceOf(address)", self._held(self.supplies, asset))
            self.put_raw(debt_token, "balanceOf(address)", self._held(self.debts, asset))
            self.put(asset, "symbol()", "string", f"T{self.ids[asset]}")
            self.put(asset, "decimals()", "uint8", 6)
        self.put_for(POOL, "getReserveData(address)", DATA, rows)
        self.put_raw(ORACLE, "getAssetsPrices(address[])", self._all_prices)
        self.put_raw(ORACLE, "getAssetPrice(address)", self._price)
        self.put_raw(PROVIDER, "getUserReserveData(address,address)", self._user_reserve)
        self.listed = listed

    def _held(self, table: dict[str, int], asset: str):
        return lambda _: ContractOutcome(True, encode(["uint256"], [table[asset]]))

    def _all_prices(self, data: bytes) -> ContractOutcome:
        count = int.from_bytes(data[32:64], "big")
        asked = [checksum_address("0x" + data[64 + 32 * n + 12 : 96 + 32 * n].hex()) for n in range(count)]
        found = [self.prices.get(asset) for asset in asked]
        return REVERTS if None in found else ContractOutcome(True, encode(["uint256[]"], [found]))

    def _price(self, data: bytes) -> ContractOutcome:
        found = self.prices.get(checksum_address("0x" + data[12:32].hex()))
        return REVERTS if found is None else ContractOutcome(True, encode(["uint256"], [found]))

    def _user_reserve(self, data: bytes) -> ContractOutcome:
        asset = checksum_address("0x" + data[12:32].hex())
        row = (self.supplies.get(asset, 0), 0, self.debts.get(asset, 0), 0, 0, 0, 0, 0, False)
        return ContractOutcome(True, encode(USER_RESERVE.split(","), row))


@pytest.fixture
def market() -> Market:
    return Market()


@pytest.fixture
def readers(market: Market) -> Readers:
    return Readers(market)


READER = ReaderV3()


async def test_a_market_without_reserves_is_an_answer(market: Market, readers: Readers) -> None:
    market.build([])
    found = await readers.ask(READER, QUESTION)
    assert list(found.reserves) == []
    assert (found.total_collateral_usd, found.HasField("health_factor"), found.is_liquidatable) == (0, False, False)


async def test_a_price_of_zero_is_no_price(market: Market, readers: Readers) -> None:
    market.supplies[ASSETS[0]], market.prices[ASSETS[0]] = 5_000_000, 0
    market.debts[ASSETS[1]] = 1
    unpriced, priced = (await readers.ask(READER, QUESTION)).reserves
    assert unpriced.balance == "5"
    assert not unpriced.HasField("balance_usd")
    assert not unpriced.HasField("debt_usd")
    assert (priced.balance_usd, priced.debt_usd) == (0, 2e-6)


async def test_a_feed_that_reverts_costs_one_request_and_its_own_reserves_values(
    market: Market, readers: Readers
) -> None:
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    await readers.ask(READER, QUESTION)
    market.prices[ASSETS[1]] = None
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 2
    assert [row.balance for row in found.reserves] == ["1", "1"]
    assert found.reserves[0].balance_usd == 2
    assert not found.reserves[1].HasField("balance_usd")


async def test_an_account_that_reverts_names_the_protocol(market: Market, readers: Readers) -> None:
    market.remove(POOL, "getUserAccountData(address)")
    with pytest.raises(PriceUnavailable, match="lend-a version 3 on ethereum"):
        await readers.ask(READER, QUESTION)
    # Asking prices one by one would change nothing.
    market.prices[ASSETS[1]] = None
    del market.requests[:]
    with pytest.raises(PriceUnavailable):
        await readers.ask(READER, QUESTION)
    assert len(market.requests) == 1


async def test_collateral_is_by_the_reserves_id_not_by_its_place(market: Market, readers: Readers) -> None:
    """A reserve with a smaller id was dropped: the place in the list is no longer the bit."""
    market.ids = {ASSETS[0]: 1, ASSETS[1]: 3, ASSETS[2]: 0}
    market.build(ASSETS[:2])
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    market.put(POOL, "getUserConfiguration(address)", "(uint256)", (1 << 7,))
    assert [row.is_collateral for row in (await readers.ask(READER, QUESTION)).reserves] == [False, True]


async def test_a_collateral_bit_without_a_supply_is_none(market: Market, readers: Readers) -> None:
    market.debts[ASSETS[0]] = 7
    market.put(POOL, "getUserConfiguration(address)", "(uint256)", (0b11,))
    market.account(0, 14, 0, 0, 0, 0)
    found = await readers.ask(READER, QUESTION)
    [row] = found.reserves
    assert (row.is_collateral, row.balance, row.debt) == (False, "0", "0.000007")
    # A debt without collateral: nothing covers it.
    assert (found.health_factor, found.is_liquidatable) == (0, True)
    assert found.net_worth_usd == -14 / DOLLAR


@pytest.mark.parametrize(("health", "liquidatable"), [(10**18 - 1, True), (10**18, False), (NEVER, False)])
async def test_health_below_one_can_be_liquidated(
    market: Market, readers: Readers, health: int, liquidatable: bool
) -> None:
    market.account(10, 1, 0, 8_000, 7_500, health)
    found = await readers.ask(READER, QUESTION)
    assert (found.is_liquidatable, found.health_factor) == (liquidatable, health / 10**18)


async def test_symbols_may_be_words(market: Market, readers: Readers) -> None:
    market.put(ASSETS[0], "symbol()", "bytes32", b"MKR".ljust(32, b"\0"))
    market.supplies[ASSETS[0]] = 1
    [row] = (await readers.ask(READER, QUESTION)).reserves
    assert row.symbol == "MKR"


async def test_a_token_without_a_symbol_is_named(market: Market, readers: Readers) -> None:
    market.remove(ASSETS[1], "symbol()")
    with pytest.raises(ContractUnreadable, match=f"token {ASSETS[1]} on ethereum has no readable symbol"):
        await readers.ask(READER, QUESTION)


async def test_a_pool_without_code_is_named() -> None:
    with pytest.raises(ContractUnreadable, match=f"getReservesList of the contract {POOL} on ethereum .*no contract"):
        await Readers(World()).ask(READER, QUESTION)


async def test_a_reserve_that_was_listed_since_costs_one_request(market: Market, readers: Readers) -> None:
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    await readers.ask(READER, QUESTION)
    market.build(ASSETS)
    market.prices[ASSETS[2]] = 3 * DOLLAR
    market.debts[ASSETS[2]] = 500_000
    market.put(POOL, "getUserConfiguration(address)", "(uint256)", (0b100000,))
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 2
    assert [row.symbol for row in found.reserves] == ["T0", "T1", "T2"]
    new = found.reserves[2]
    assert (new.balance, new.balance_usd, new.debt, new.debt_usd, new.is_collateral) == ("1", 3, "0.5", 1.5, True)
    assert await readers.count(READER, QUESTION) == (found, 1)


async def test_a_reserve_that_was_dropped_costs_nothing(market: Market, readers: Readers) -> None:
    market.build(ASSETS)
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    await readers.ask(READER, QUESTION)
    market.build([ASSETS[0], ASSETS[2]])
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 1
    assert [row.symbol for row in found.reserves] == ["T0", "T2"]
    assert await readers.count(READER, QUESTION) == (found, 1)


async def test_a_list_in_another_order_is_read_anew(market: Market, readers: Readers) -> None:
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    await readers.ask(READER, QUESTION)
    market.build([ASSETS[1], ASSETS[0]])
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 4
    assert [row.symbol for row in found.reserves] == ["T1", "T0"]


async def test_a_new_reserve_and_a_feed_that_reverts_are_one_request(market: Market, readers: Readers) -> None:
    market.supplies.update(dict.fromkeys(ASSETS, 1_000_000))
    await readers.ask(READER, QUESTION)
    market.build(ASSETS)
    market.prices[ASSETS[0]] = market.prices[ASSETS[2]] = None
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 2
    assert [row.HasField("balance_usd") for row in found.reserves] == [False, True, False]


class OldMarket(World):
    """A market of version 2: (supply, stable debt, variable debt) by asset."""

    def __init__(self, listed: list[str]) -> None:
        super().__init__()
        self.held = dict.fromkeys(ASSETS, (0, 0, 0))
        self.put(OLD_POOL, "getUserAccountData(address)", ",".join(["uint256"] * 6), 0, 0, 0, 0, 0, NEVER)
        self.put_raw(OLD_PROVIDER, "getUserReserveData(address,address)", self._row)
        for place, asset in enumerate(ASSETS):
            self.token(asset, f"T{place}", 18)
        self.list(listed)

    def list(self, listed: list[str]) -> None:
        self.put(OLD_POOL, "getReservesList()", "address[]", listed)

    def _row(self, data: bytes) -> ContractOutcome:
        row = (*self.held.get(checksum_address("0x" + data[12:32].hex()), (0, 0, 0)), 0, 0, 0, 0, 0, False)
        return ContractOutcome(True, encode(USER_RESERVE.split(","), row))


async def test_v2_sums_both_debts_and_shows_a_supply_beside() -> None:
    market = OldMarket(ASSETS[:2])
    market.held[ASSETS[0]] = (10**18, 3, 4)
    found = await Readers(market).ask(ReaderV2(), QUESTION)
    assert [(row.symbol, row.balance) for row in found.supplies] == [("T0", "1")]
    assert [(row.symbol, row.balance) for row in found.borrows] == [("T0", "0.000000000000000007")]


async def test_v2_a_new_reserve_costs_one_request_a_dropped_one_none() -> None:
    market = OldMarket(ASSETS[:2])
    market.held = dict.fromkeys(ASSETS, (10**18, 0, 0))
    readers, reader = Readers(market), ReaderV2()
    await readers.ask(reader, QUESTION)
    market.list(ASSETS)
    found, requests = await readers.count(reader, QUESTION)
    assert (requests, [row.symbol for row in found.supplies]) == (2, ["T0", "T1", "T2"])
    assert await readers.count(reader, QUESTION) == (found, 1)
    market.list(ASSETS[1:])
    found, requests = await readers.count(reader, QUESTION)
    assert (requests, [row.symbol for row in found.supplies]) == (1, ["T1", "T2"])


async def test_v2_an_account_that_reverts_names_the_protocol() -> None:
    market = OldMarket(ASSETS)
    market.remove(OLD_POOL, "getUserAccountData(address)")
    with pytest.raises(PriceUnavailable, match="lend-a version 2 on ethereum"):
        await Readers(market).ask(ReaderV2(), QUESTION)
