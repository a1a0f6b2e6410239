"""vault-d: tokens with a feed whose reports have any shape, vaults of EIP-4626 with any history."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils.address import to_checksum_address

from server.contracts.calls import ContractOutcome
from server.errors import NotFound, PriceUnavailable
from server.protocols.hyperbeat.reader import BalanceReader, BestReader, VaultReader, load_vaults
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.yields import MANY_SHARES, PoolQuestion
from server.yields.share_prices import SharePrice
from tests.server.protocols.funds import DAY, NOW, Asking, Feed, Market, Shelf, moment
from tests.server.protocols.scripted import REVERTS, World

if TYPE_CHECKING:
    from datetime import datetime

CHAIN = "hyperliquid"
HB_USDT = "0x5e105266db42f78FA814322Bce7f388B4C2e61eb"
LST_HYPE = "0x81e064d0eB539de7c3170EDF38C1A42CBd752A76"
HB_XAUT = "0x6EB6724D8D3D4FF9E24d872E8c38403169dC05f8"
USDT0_VAULT = "0x53A333e51E96FE288bC9aDd7cdC4B1EAD2CD2FfA"
USDT0 = "0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb"
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
VAULTS, BALANCE, BEST = VaultReader(), BalanceReader(), BestReader()
YEAR = 365 * DAY
PHASE = 1 << 64


def feed_vault(world: World, address: str, rounds: dict[int, tuple[int, int]], **more: Any) -> Feed:
    """Put a token with its feed; one in four billionths of its 2.5 million shares is WALLET's."""
    row: Any = load_vaults(CHAIN)[address]
    world.token(address, row.name, 18)
    world.put(address, "totalSupply()", "uint256", 2_500_000 * 10**18)
    world.put_for(
        address, "balanceOf(address)", "uint256", {WALLET.lower(): (10 * 10**18,), "0x" + "0" * 39 + "1": (0,)}
    )
    return Feed(world, row.data_feed, row.custom_feed, rounds, **more).put()


def daily(count: int, *, first: int = 1, step: int = 30_000) -> dict[int, tuple[int, int]]:
    """Return a round a day, the last of them an hour ago, each a little higher."""
    return {first + day: (10**8 + step * day, NOW - 3600 - (count - 1 - day) * DAY) for day in range(count)}


def share_vault(world: World, assets: int, total: int = 1_000_000 * 10**6) -> None:
    """Put the vault of USDT0: `assets` are those of 10^30 shares."""
    world.put("0xcA11bde05977b3631167028862bE2a173976CA11", "getCurrentBlockTimestamp()", "uint256", NOW)
    world.token(USDT0, "USDT0", 6)
    world.put(USDT0_VAULT, "asset()", "address", USDT0)
    world.put(USDT0_VAULT, "totalAssets()", "uint256", total)
    world.put_for(USDT0_VAULT, "convertToAssets(uint256)", "uint256", {MANY_SHARES: (assets * 10**6,)})
    world.put_for(USDT0_VAULT, "balanceOf(address)", "uint256", {WALLET.lower(): (3 * 10**18 + 1,)})


class History:
    """Stored share prices, and what was to be stored."""

    def __init__(self, *prices: SharePrice) -> None:
        self.prices, self.observed = sorted(prices, reverse=True), list[SharePrice]()

    def last_before(self, at: datetime) -> SharePrice | None:
        return next((price for price in self.prices if price.at <= at), None)

    def observe(self, price: SharePrice) -> None:
        self.observed.append(price)


def stored(at: int, assets: int) -> SharePrice:
    """Return a price by what 10^30 shares were worth."""
    return SharePrice(moment(at), assets * 10**6)


def pool(address: str, wallet: str = "") -> PoolQuestion:
    return PoolQuestion(CHAIN, pool=address, address=wallet)


def time_of(row: Any) -> datetime:
    found: datetime = row.updated_at.ToDatetime(moment(NOW).tzinfo)
    return found


async def test_a_rate_is_the_growth_since_the_round_a_week_older() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12))
    asking = Asking(world)
    row, cold = await asking.count(VAULTS, pool(HB_USDT))
    # Rounds 12 and 5: 100,330,000 and 100,120,000, seven days apart.
    assert math.isclose(row.apy, ((100_330_000 / 100_120_000) ** (365 / 7) - 1) * 100, rel_tol=1e-9)
    assert math.isclose(row.tvl, 2_500_000 * 1.0033, rel_tol=1e-15)
    assert (row.basis, row.block_height, time_of(row)) == (4, world.block, moment(NOW))
    assert cold == 2
    assert (await asking.count(VAULTS, pool(HB_USDT)))[1] == 1
    assert asking.market.asked == []


async def test_a_new_round_costs_no_request() -> None:
    world = World()
    feed = feed_vault(world, HB_USDT, daily(12))
    asking = Asking(world)
    await asking.ask(VAULTS, pool(HB_USDT))
    for later in range(1, 4):
        feed.rounds[12 + later] = (100_330_000 + 50_000 * later, NOW - 3600 + later * DAY)
        feed.put(now=NOW + later * DAY)
        row, requests = await asking.count(VAULTS, pool(HB_USDT))
        now, before = 100_330_000 + 50_000 * later, 10**8 + 30_000 * (4 + later)
        assert math.isclose(row.apy, ((now / before) ** (365 / 7) - 1) * 100, rel_tol=1e-9)
        assert requests == 1


@pytest.mark.parametrize(("seconds", "cold"), [(180, 3), (600, 3), (3600, 3), (DAY, 2), (8 * DAY, 2)])
async def test_many_rounds_a_week_take_few_requests(seconds: int, cold: int) -> None:
    world = World()
    rounds = {number: (10**8 + number, NOW - (6_000 - number) * seconds) for number in range(1, 6_001)}
    feed_vault(world, HB_USDT, {number: one for number, one in rounds.items() if one[1] > 0})
    asking = Asking(world)
    first, requests = await asking.count(VAULTS, pool(HB_USDT))
    assert requests == cold
    row, requests = await asking.count(VAULTS, pool(HB_USDT))
    assert requests == 1
    assert math.isclose(first.apy, row.apy, rel_tol=0.01)
    back = -(-7 * DAY // seconds)
    ratio = (10**8 + 6_000) / (10**8 + 6_000 - back)
    assert math.isclose(row.apy, math.expm1(math.log(ratio) * YEAR / (back * seconds)) * 100, rel_tol=1e-6)
    assert (await asking.count(VAULTS, pool(HB_USDT)))[1] == 1


@pytest.mark.parametrize("phase", [1, 5])
async def test_rounds_of_a_phase(phase: int) -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(9, first=phase * PHASE + 1))
    row = await Asking(world).ask(VAULTS, pool(HB_USDT))
    assert math.isclose(row.apy, ((100_240_000 / 100_030_000) ** (365 / 7) - 1) * 100, rel_tol=1e-9)


@pytest.mark.parametrize("rounds", [daily(7), daily(1), daily(7, first=PHASE + 1) | daily(100)])
async def test_without_a_round_that_old_there_is_no_rate(rounds: dict[int, tuple[int, int]]) -> None:
    world = World()
    feed_vault(world, HB_USDT, rounds)
    row = await Asking(world).ask(VAULTS, pool(HB_USDT))
    assert not row.HasField("apy")
    assert not row.HasField("basis")
    assert row.tvl > 0


@pytest.mark.parametrize("kind", ["missing", "reverts", "zero", "negative", "incomplete", "of another number"])
async def test_rounds_that_are_none_are_passed_over(kind: str) -> None:
    world = World()
    rounds = daily(12)
    gone = (3, 4, 5)
    for number in gone:
        answer, at = rounds.pop(number)
        if kind in ("zero", "negative"):
            rounds[number] = (0 if kind == "zero" else -answer, at)
        elif kind == "incomplete":
            rounds[number] = (answer, 0)
    feed = feed_vault(world, HB_USDT, rounds)
    table = {number: (number, answer, at, at, number) for number, (answer, at) in rounds.items()}
    if kind in ("missing", "of another number"):
        # Zeros, as the issuer's aggregators answer; or another round's report.
        table |= dict.fromkeys(gone, (0, 0, 0, 0, 0) if kind == "missing" else table[6])
        world.put_for(feed.aggregator, "getRoundData(uint80)", "uint80,int256,uint256,uint256,uint80", table)
    row = await Asking(world).ask(VAULTS, pool(HB_USDT))
    # Round 2 is the newest that is left: ten days older.
    assert math.isclose(row.apy, ((100_330_000 / 100_030_000) ** (365 / 10) - 1) * 100, rel_tol=1e-9)


async def test_an_old_feed_is_answered_with_the_reports_own_time() -> None:
    world = World()
    feed_vault(world, HB_USDT, {1: (10**8, NOW - 50 * DAY), 2: (101_000_000, NOW - 31 * DAY)})
    row = await Asking(world).ask(VAULTS, pool(HB_USDT))
    assert math.isclose(row.apy, (1.01 ** (365 / 19) - 1) * 100, rel_tol=1e-9)
    assert time_of(row) == moment(NOW - 31 * DAY)


async def test_a_price_out_of_bounds_is_none() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12), most=10**8)
    asking = Asking(world)
    with pytest.raises(PriceUnavailable, match="out of the bounds"):
        await asking.ask(VAULTS, pool(HB_USDT))
    # What a wallet has is known all the same.
    row = await asking.ask(BALANCE, pool(HB_USDT, WALLET))
    assert dict(row.balance.amounts) == {"hbUSDT": 10.0}
    assert not row.balance.HasField("usd")


@pytest.mark.parametrize(
    ("address", "token", "price"),
    [
        (LST_HYPE, (CHAIN, "native"), "38.75"),
        (HB_XAUT, ("ethereum", "0x68749665FF8D2d112Fa859AA293F07A622782F38"), "4100"),
    ],
)
async def test_a_feed_in_something_else_than_dollars(address: str, token: tuple[str, str], price: str) -> None:
    world = World()
    feed_vault(world, address, daily(12))
    row = await Asking(world, Market({token: price}, NOW - 77)).ask(VAULTS, pool(address))
    assert math.isclose(row.tvl, 2_500_000 * 1.0033 * float(price), rel_tol=1e-12)
    assert time_of(row) == moment(NOW - 77)
    unpriced = await Asking(world).ask(VAULTS, pool(address))
    assert not unpriced.HasField("tvl")
    assert unpriced.apy == row.apy
    assert time_of(unpriced) == moment(NOW)


async def test_what_a_wallet_has_of_a_token_with_a_feed() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12))
    asking = Asking(world)
    row, cold = await asking.count(BALANCE, pool(HB_USDT, WALLET))
    assert dict(row.balance.amounts) == {"hbUSDT": 10.0}
    assert math.isclose(row.balance.usd, 10.033, rel_tol=1e-15)
    assert cold == 2
    stranger, warm = await asking.count(BALANCE, pool(HB_USDT, "0x" + "0" * 39 + "1"))
    assert (dict(stranger.balance.amounts), stranger.balance.usd, warm) == ({"hbUSDT": 0.0}, 0.0, 1)


async def test_a_token_that_calls_itself_usd_stands_under_its_address() -> None:
    for symbol in ("USD", "usd"):
        world = World()
        feed_vault(world, HB_USDT, daily(12))
        world.token(HB_USDT, symbol, 18)
        row = await Asking(world).ask(BALANCE, pool(HB_USDT, WALLET))
        assert dict(row.balance.amounts) == {HB_USDT: 10.0}


async def test_a_replaced_aggregator_is_searched_anew() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12))
    row: Any = load_vaults(CHAIN)[HB_USDT]
    new = "0x00000000000000000000000000000000000aBcDe"
    Feed(world, row.data_feed, new, daily(30, step=60_000)).put()
    asking = Asking(world)
    found, requests = await asking.count(VAULTS, pool(HB_USDT))
    assert math.isclose(found.apy, ((101_740_000 / 101_320_000) ** (365 / 7) - 1) * 100, rel_tol=1e-9)
    assert requests == 4
    assert (await asking.count(VAULTS, pool(HB_USDT)))[1] == 1


@pytest.mark.parametrize("part", ["vault", "data feed", "aggregator", "clock"])
async def test_what_is_no_vault_is_said_so(part: str) -> None:
    world = World()
    feed = feed_vault(world, HB_USDT, daily(12))
    asking = Asking(world)
    await asking.ask(VAULTS, pool(HB_USDT))
    gone = {
        "vault": HB_USDT,
        "data feed": feed.data_feed,
        "aggregator": feed.aggregator,
        "clock": "0xcA11bde05977b3631167028862bE2a173976CA11",
    }[part]
    world.functions = {key: answer for key, answer in world.functions.items() if key[0] != gone.lower()}
    with pytest.raises(ContractUnreadable, match="no contract is there"):
        await asking.ask(VAULTS, pool(HB_USDT))


async def test_an_address_of_nobody_is_404_with_the_nearest() -> None:
    asking = Asking(World())
    for reader in (VAULTS, BALANCE):
        with pytest.raises(NotFound, match="no such pool of vault-d on hyperliquid") as failed:
            await asking.ask(reader, pool(HB_USDT[:-2] + "Eb", WALLET))
        assert HB_USDT in failed.value.message
    assert asking.world.requests == []


async def test_shares_of_eip_4626_are_compared_with_what_was_stored() -> None:
    world = World()
    share_vault(world, 1_050_000 * 10**12)
    old = stored(NOW - 7 * DAY, 1_049_000 * 10**12)
    older = stored(NOW - 9 * DAY, 1_000_000 * 10**12)
    young = stored(NOW - 7 * DAY + 1, 1_049_900 * 10**12)
    history = History(young, old, older)
    kept = Shelf({(CHAIN, USDT0_VAULT): history})
    asking = Asking(world, Market({(CHAIN, USDT0): "0.999"}, NOW - 5), kept)
    row, cold = await asking.count(VAULTS, pool(USDT0_VAULT))
    assert math.isclose(row.apy, ((1_050 / 1_049) ** (365 / 7) - 1) * 100, rel_tol=1e-9)
    assert (row.tvl, row.basis, time_of(row)) == (999_000, 4, moment(NOW - 5))
    assert history.observed == [stored(NOW, 1_050_000 * 10**12)]
    assert cold == 2
    assert (await asking.count(VAULTS, pool(USDT0_VAULT)))[1] == 1


@pytest.mark.parametrize("stored", [None, History(), History(stored(NOW - 7 * DAY + 1, 5))])
async def test_before_there_is_a_week_and_without_the_database_the_rate_is_null(stored: History | None) -> None:
    world = World()
    share_vault(world, 10**18)
    asking = Asking(
        world, Market({(CHAIN, USDT0): "1"}), Shelf({} if stored is None else {(CHAIN, USDT0_VAULT): stored})
    )
    row = await asking.ask(VAULTS, pool(USDT0_VAULT))
    assert not row.HasField("apy")
    assert not row.HasField("basis")
    assert row.tvl == 1_000_000


async def test_what_a_wallet_has_in_a_vault_of_eip_4626() -> None:
    world = World()
    share_vault(world, 1_050_000_999_999_999_999)
    asking = Asking(world, Market({(CHAIN, USDT0): "0.999"}))
    row, cold = await asking.count(BALANCE, pool(USDT0_VAULT, WALLET))
    # 3 shares and a bit of 1.050000999999999999 each, rounded down as the vault does.
    assert dict(row.balance.amounts) == {"USDT0": 3.150002}
    assert math.isclose(row.balance.usd, 3.150002 * 0.999, rel_tol=1e-15)
    assert cold == 2
    assert not (await Asking(world).ask(BALANCE, pool(USDT0_VAULT, WALLET))).balance.HasField("usd")


def test_the_table_is_that_of_the_facts() -> None:
    vaults = load_vaults(CHAIN)
    assert len(vaults) == 11
    assert all(address == to_checksum_address(address) for address in vaults)
    wrapped: Any = vaults["0xd19e3d00f8547f7d108abFD4bbb015486437B487"]
    assert wrapped.asset == "0x5555555555555555555555555555555555555555"


async def test_a_vault_over_another_asset_is_none_of_theirs() -> None:
    world = World()
    share_vault(world, 10**18)
    world.put(USDT0_VAULT, "asset()", "address", HB_USDT)
    with pytest.raises(ContractUnreadable, match="holds another asset"):
        await Asking(world).ask(VAULTS, pool(USDT0_VAULT))


async def test_an_empty_vault_has_no_rate_and_stores_nothing() -> None:
    world = World()
    share_vault(world, 0, total=0)
    history = History(stored(NOW - 8 * DAY, 10**18))
    row = await Asking(world, kept=Shelf({(CHAIN, USDT0_VAULT): history})).ask(VAULTS, pool(USDT0_VAULT))
    assert not row.HasField("apy")
    assert row.tvl == 0
    assert history.observed == []


async def test_the_best_are_all_vaults_that_can_be_read_in_one_read() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12))
    feed_vault(world, LST_HYPE, daily(3))
    feed_vault(world, HB_XAUT, daily(12), most=10**8)
    share_vault(world, 1_050 * 10**15)
    history = History(stored(NOW - 8 * DAY, 1_000 * 10**15))
    asking = Asking(world, Market({(CHAIN, USDT0): "1"}), Shelf({(CHAIN, USDT0_VAULT): history}))
    rows, cold = await asking.count(BEST, ChainQuestion(CHAIN))
    assert {row.row.pool: row.symbols for row in rows} == {HB_USDT: ("USDT0", "hbUSDT"), USDT0_VAULT: ("USDT0",)}
    assert cold == 2
    single = await asking.ask(VAULTS, pool(HB_USDT))
    [best] = [row.row for row in rows if row.row.pool == HB_USDT]
    assert (best.apy, best.tvl, best.block_height) == (single.apy, single.tvl, single.block_height)
    assert (best.updated_at, best.symbol) == (single.updated_at, "USDT0")
    again, warm = await asking.count(BEST, ChainQuestion(CHAIN))
    assert (again, warm) == (rows, 1)


async def test_best_of_vaults_that_all_fail_is_a_failure() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12), least=2 * 10**8)
    with pytest.raises(PriceUnavailable):
        await Asking(world).ask(BEST, ChainQuestion(CHAIN))
    with pytest.raises(ContractUnreadable):
        await Asking(World()).ask(BEST, ChainQuestion(CHAIN))


async def test_a_second_read_is_at_any_block() -> None:
    """HyperEVM's nodes answer for the newest block whatever is asked: no read may be pinned to that of another."""
    world = World()
    rounds = {number: (10**8 + number, NOW - (3_000 - number) * 600) for number in range(1, 3_001)}
    feed_vault(world, HB_USDT, rounds)
    asked_at: list[int | None] = []
    real = world.call_groups

    async def call_groups(groups: Any, view: Any) -> Any:
        asked_at.append(view.block)
        world.block += 1
        return await real(groups, view)

    world.call_groups = call_groups  # type: ignore[method-assign]
    row = await Asking(world).ask(VAULTS, pool(HB_USDT))
    assert asked_at == [None, None, None]
    assert row.block_height == 102


async def test_what_fails_once_is_not_kept() -> None:
    world = World()
    feed_vault(world, HB_USDT, daily(12))
    asking = Asking(world)
    world.spoil = lambda call, outcome: REVERTS
    with pytest.raises(ContractUnreadable):
        await asking.ask(VAULTS, pool(HB_USDT))
    world.spoil = lambda call, outcome: ContractOutcome(outcome.succeeded, outcome.data)
    assert (await asking.ask(VAULTS, pool(HB_USDT))).apy > 0
