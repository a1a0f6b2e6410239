"""lend-b's readers over scripted markets."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode

from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.protocols.compound_v2.reader import PositionReader as ReaderV2
from server.protocols.compound_v2.reader import _markets
from server.protocols.compound_v3.reader import PositionReader as ReaderV3
from server.protocols.compound_v3.tables import market_addresses
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import WalletQuestion
from tests.server.protocols.scripted import REVERTS, Readers, World, address

QUESTION = WalletQuestion("polygon", address="0x00000000000000000000000000000000000000AA")
FIRST, SECOND = market_addresses("polygon")
BASE = checksum_address(address(0xB0))
ASSETS = [checksum_address(address(0xA00 + place)) for place in range(30)]
INFO = "(uint8,address,address,uint64,uint64,uint64,uint64,uint128)"


class Markets(World):
    """The two markets of polygon; the first has collaterals, of which the wallet holds some."""

    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.held: dict[str, int] = {}
        self.token(BASE, "USDC", 6)
        for place, asset in enumerate(ASSETS):
            self.token(asset, f"T{place}", 18)
        for market in (FIRST, SECOND):
            self.put(market, "symbol()", "string", "cUSDCv3")
            self.put(market, "baseToken()", "address", BASE)
            self.list(market, 0)
            self.balance(market)
            self.put(market, "isLiquidatable(address)", "bool", False)
            self.put_raw(market, "userCollateral(address,address)", self._held)
        self.list(FIRST, count)

    def list(self, market: str, count: int) -> None:
        rows = {place: ((place, asset, BASE, 1, 1, 1, 1, 1),) for place, asset in enumerate(ASSETS[:count])}
        self.put(market, "numAssets()", "uint8", count)
        self.put_for(market, "getAssetInfo(uint8)", INFO, rows)

    def balance(self, market: str, supply: int = 0, debt: int = 0, used: int = 0) -> None:
        self.put(market, "balanceOf(address)", "uint256", supply)
        self.put(market, "borrowBalanceOf(address)", "uint256", debt)
        principal = supply - debt
        types = "int104,uint64,uint64,uint16,uint8"
        self.put(market, "userBasic(address)", types, principal, 0, 0, used & 0xFFFF, used >> 16)

    def _held(self, data: bytes) -> ContractOutcome:
        held = self.held.get(checksum_address("0x" + data[44:64].hex()), 0)
        return ContractOutcome(True, encode(["uint128", "uint128"], [held, 0]))


READER = ReaderV3()


async def test_a_wallet_without_anything_is_an_empty_list() -> None:
    assert list((await Readers(Markets()).ask(READER, QUESTION)).markets) == []


async def test_the_17th_and_the_24th_asset_stand_in_the_reserved_byte() -> None:
    world = Markets(24)
    world.held = {ASSETS[0]: 1, ASSETS[16]: 10**18, ASSETS[23]: 2 * 10**18}
    world.balance(FIRST, used=1 | 1 << 16 | 1 << 23)
    [row] = (await Readers(world).ask(READER, QUESTION)).markets
    assert [(one.token.symbol, one.balance) for one in row.collateral] == [
        ("T0", "0.000000000000000001"),
        ("T16", "1"),
        ("T23", "2"),
    ]


async def test_collateral_that_the_record_does_not_show_is_no_answer() -> None:
    world = Markets(17)
    world.held = {ASSETS[16]: 1}
    with pytest.raises(ContractUnreadable, match=f"{FIRST} on polygon has collateral of T16"):
        await Readers(world).ask(READER, QUESTION)


async def test_a_market_of_more_assets_than_there_are_bits_is_named() -> None:
    with pytest.raises(ContractUnreadable, match=f"{FIRST} on polygon has more than 24 assets"):
        await Readers(Markets(25)).ask(READER, QUESTION)


@pytest.mark.parametrize("state", [True, False, None])
async def test_a_debt_without_prices_is_neither_liquidatable_nor_not(state: bool | None) -> None:
    world = Markets()
    world.balance(FIRST, debt=1)
    if state is None:
        world.remove(FIRST, "isLiquidatable(address)")
    else:
        world.put(FIRST, "isLiquidatable(address)", "bool", state)
    [row] = (await Readers(world).ask(READER, QUESTION)).markets
    assert row.HasField("is_liquidatable") is (state is not None)
    assert row.is_liquidatable is bool(state)
    assert row.borrow_balance == "0.000001"


async def test_without_a_debt_feeds_do_not_matter() -> None:
    world = Markets()
    world.balance(FIRST, supply=1)
    world.remove(FIRST, "isLiquidatable(address)")
    [row] = (await Readers(world).ask(READER, QUESTION)).markets
    assert row.HasField("is_liquidatable")
    assert row.is_liquidatable is False


async def test_an_asset_that_was_listed_since_costs_one_request() -> None:
    world = Markets(2)
    world.balance(FIRST, supply=5, used=0b100)
    world.held = {ASSETS[2]: 7}
    readers = Readers(world)
    world.balance(FIRST, supply=5)
    world.held = {}
    await readers.ask(READER, QUESTION)
    world.list(FIRST, 3)
    world.list(SECOND, 1)
    world.balance(FIRST, supply=5, used=0b100)
    world.held = {ASSETS[2]: 10**18}
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 2
    [row] = found.markets
    assert [(one.token.symbol, one.balance) for one in row.collateral] == [("T2", "1")]
    assert await readers.count(READER, QUESTION) == (found, 1)


@pytest.mark.parametrize("count", [0, 5])
async def test_any_other_change_of_the_list_is_read_anew(count: int) -> None:
    world = Markets(2)
    readers = Readers(world)
    await readers.ask(READER, QUESTION)
    world.list(FIRST, count)
    world.balance(FIRST, supply=5)
    found, requests = await readers.count(READER, QUESTION)
    assert (requests, len(found.markets)) == (4, 1)


async def test_a_market_without_code_is_named() -> None:
    world = Markets()
    world.functions = {key: value for key, value in world.functions.items() if key[0] != SECOND.lower()}
    with pytest.raises(ContractUnreadable, match=f"contract {SECOND} on polygon .*no contract is there"):
        await Readers(world).ask(READER, QUESTION)


class CTokens(World):
    """The five markets of version 2."""

    def __init__(self) -> None:
        super().__init__()
        for place, (key, market) in enumerate(_markets("ethereum").items()):
            if key != "cETH":
                self.put(market, "underlying()", "address", ASSETS[place])
                self.token(ASSETS[place], f"T{place}", 6)
            self.put(market, "balanceOfUnderlying(address)", "uint256", 0)
            self.put(market, "borrowBalanceCurrent(address)", "uint256", 0)


V2_QUESTION = WalletQuestion("ethereum", address=QUESTION.address)


async def test_v2_answers_markets_with_a_supply_or_a_debt() -> None:
    world, markets = CTokens(), _markets("ethereum")
    assert list((await Readers(world).ask(ReaderV2(), V2_QUESTION)).markets) == []
    world.put(markets["cETH"], "borrowBalanceCurrent(address)", "uint256", 10**18)
    world.put(markets["cWBTC2"], "balanceOfUnderlying(address)", "uint256", 2**256 - 1)
    ether, bitcoin = (await Readers(world).ask(ReaderV2(), V2_QUESTION)).markets
    assert (ether.c_token_symbol, ether.underlying_symbol, ether.underlying_address) == ("cETH", "ETH", "native")
    assert (ether.underlying_decimals, ether.supply_balance, ether.borrow_balance) == (18, "0", "1")
    assert bitcoin.c_token_symbol == "cWBTC2"
    assert bitcoin.supply_balance.replace(".", "") == str(2**256 - 1)


async def test_v2_a_market_that_refuses_is_named() -> None:
    world, market = CTokens(), _markets("ethereum")["cDAI"]
    world.put_raw(market, "borrowBalanceCurrent(address)", lambda _: REVERTS)
    with pytest.raises(ContractUnreadable, match=f"borrowBalanceCurrent of the contract {market} on ethereum"):
        await Readers(world).ask(ReaderV2(), V2_QUESTION)


def test_v2_balances_leave_in_an_execution_of_their_own() -> None:
    """They accrue, which changes state for the calls after them."""
    tables = dict.fromkeys(_markets("ethereum"))
    plan = ReaderV2().plan(V2_QUESTION, tables)  # type: ignore[arg-type]
    assert [group.is_known for group in plan.groups.values()] == [False]
