"""lend-c's vaults over scripted contracts: divided executions, empty and odd vaults, figures that cannot be."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode, encode

from server.apis.documents import Document
from server.catalog.protocols import load_address_book
from server.chains.view import ReadView
from server.contracts.calls import ContractOutcome
from server.errors import NotFound, UpstreamUnavailable
from server.prices import Price
from server.protocols.morpho.listing import VaultDataReader
from server.protocols.morpho.rates import WAD, Market, borrow_rate, earned
from server.protocols.morpho.vaults import MOST_MARKETS
from server.protocols.morpho.yields import BalanceReader, BestReader, LendingReader, PriceReader
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.protocols.tokens import multicall
from server.protocols.yields import PoolQuestion, VaultsQuestion, apy_of_apr
from server.yields.morpho import ListedVault, Listing
from tests.server.protocols.scripted import REVERTS, World, address

if TYPE_CHECKING:
    from collections.abc import Sequence

BOOK = load_address_book()
MORPHO = BOOK.find_contract("morpho", "ethereum", "morpho").address
CURRENT, FIRST, SECOND = (
    BOOK.find_contract("morpho", "ethereum", key).address
    for key in ("metaMorphoFactory", "firstMetaMorphoFactory", "vaultV2Factory")
)
POOL, TOKEN = "0xBEEF01735c132Ada46AA9aA4c54623cAA92A64CB", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
IRM = BOOK.find_contract("morpho", "ethereum", "adaptiveCurveIrm").address
WALLET = "0x00000000000000000000000000000000000000AA"
NOW = 1_800_000_000
YEAR = 31_536_000
TARGET_RATE = 4 * WAD // 100 // YEAR
LENDING, BALANCE, PRICE, BEST, DATA = LendingReader(), BalanceReader(), PriceReader(), BestReader(), VaultDataReader()
QUESTION = PoolQuestion("ethereum", pool=POOL)
TOTALS = ",".join(["uint128"] * 6)


def market_id(number: int) -> bytes:
    return number.to_bytes(32, "big")


class Vaults(World):
    """One vault that the first factory knows; markets by number: totals, the vault's shares, the rate at target."""

    def __init__(self, queue: Sequence[int] = (1, 2), *, symbol: str = "USDC", version: str = "V1") -> None:
        super().__init__()
        self.queue = list(queue)
        self.idle: set[int] = set()
        self.totals = dict.fromkeys((1, 2, 3), (10**12, 10**18, 9 * 10**11, 9 * 10**17, NOW, 0))
        self.shares = dict.fromkeys((1, 2, 3), 10**17)
        self.at_target = TARGET_RATE
        self.total, self.fee = 2 * 10**11, 0
        self.knows = {POOL.lower()} if version == "V1" else set[str]()
        self.knows_second = {POOL.lower()} if version == "V2" else set[str]()
        self.put(multicall("ethereum"), "getCurrentBlockTimestamp()", "uint256", NOW)
        for factory, asked in ((CURRENT, "isMetaMorpho(address)"), (FIRST, "isMetaMorpho(address)")):
            self.put_raw(factory, asked, lambda data, own=factory: self._known(data, own == FIRST, self.knows))
        self.put_raw(SECOND, "isVaultV2(address)", lambda data: self._known(data, True, self.knows_second))
        self.token(TOKEN, symbol, 6)
        self.put(POOL, "asset()", "address", TOKEN)
        self.put(POOL, "name()", "string", "A vault")
        self.put(POOL, "symbol()", "string", "aUSDC")
        self.put(POOL, "decimals()", "uint8", 18)
        self.put(POOL, "totalSupply()", "uint256", 2 * 10**23)
        self.put(POOL, "balanceOf(address)", "uint256", 10**18)
        self.answers(POOL, "totalAssets()", lambda _: ("uint256", self.total))
        self.answers(POOL, "fee()", lambda _: ("uint96", self.fee))
        self.answers(POOL, "withdrawQueueLength()", lambda _: ("uint256", len(self.queue)))
        self.answers(POOL, "convertToAssets(uint256)", lambda data: ("uint256", int.from_bytes(data, "big") // 10**12))
        self.put_raw(POOL, "withdrawQueue(uint256)", self._queued)
        self.answers(MORPHO, "idToMarketParams(bytes32)", self._parameters)
        self.answers(MORPHO, "market(bytes32)", lambda data: (TOTALS, *self.totals[int.from_bytes(data, "big")]))
        self.answers(
            MORPHO,
            "position(bytes32,address)",
            lambda data: ("uint256,uint128,uint128", self.shares[int.from_bytes(data[:32], "big")], 0, 0),
        )
        self.put(MORPHO, "accrueInterest((address,address,address,address,uint256))", "")
        self.answers(IRM, "rateAtTarget(bytes32)", lambda _: ("int256", self.at_target))

    def answers(self, to: str, signature: str, values: Any) -> None:
        """Have a function return the types and values that `values` gives for its arguments."""

        def answer(data: bytes) -> ContractOutcome:
            types, *found = values(data)
            return ContractOutcome(True, encode(types.split(","), found))

        self.put_raw(to, signature, answer)

    def _known(self, data: bytes, is_there: bool, known: set[str]) -> ContractOutcome:
        [asked] = decode(["address"], data)
        return ContractOutcome(True, encode(["bool"], [is_there and asked in known]))

    def _queued(self, data: bytes) -> ContractOutcome:
        place = int.from_bytes(data, "big")
        return ContractOutcome(True, market_id(self.queue[place])) if place < len(self.queue) else REVERTS

    def _parameters(self, data: bytes) -> tuple[Any, ...]:
        model = address(0) if int.from_bytes(data, "big") in self.idle else IRM
        return "address,address,address,address,uint256", TOKEN, address(2), address(3), model, 86 * 10**16


class Prices:
    """A price of the one token, or none."""

    def __init__(self, value: str | None = "1.5") -> None:
        self.value = value

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Price]:
        assert [tuple(token) for token in tokens] == [("ethereum", TOKEN)]
        if self.value is None:
            return {}
        return {("ethereum", TOKEN): Price(Decimal(self.value), datetime(2100, 1, 1, tzinfo=UTC), ("one",))}


class Documents:
    """A listing, or what its source failed with."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked = 0

    async def read(self, request: Any, *, deadline: Any, cache: Any) -> Document:
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return Document(Listing(1, tuple(self.found)), datetime(2026, 1, 1, tzinfo=UTC))


class Site:
    def __init__(self, world: World, listed: Any = (), price: str | None = "1.5") -> None:
        self.documents = Documents(listed)
        self._runner = Runner(lambda _slug, _wanted: world, TableStore(), Prices(price), self.documents)

    async def ask(self, reader: Any, question: Any = QUESTION) -> Any:
        return (await self._runner.answer(reader, question, ReadView())).answer


def listed(**members: Any) -> ListedVault:
    named = ListedVault(POOL, "A vault", "aUSDC", "V2", "Ethereum", TOKEN, "USDC", 6)
    return named._replace(**members)


async def test_at_its_target_a_market_brings_the_rate_at_target_times_its_use() -> None:
    row = await Site(Vaults()).ask(LENDING)
    # Two markets at 90 % use, each with a tenth of the shares: all of the vault earns 4 % * 0.9.
    assert row.supply_apy == pytest.approx(apy_of_apr(0.04 * 0.9), rel=1e-9)
    assert (row.tvl, row.updated_at.seconds, row.block_height) == (300_000.0, NOW, 100)


async def test_fees_of_market_and_vault_and_what_is_idle_lower_the_rate() -> None:
    world = Vaults(queue=(1, 2, 3))
    world.idle, world.fee, world.total = {3}, 10**17, 3 * 10**11
    world.totals[2] = (*world.totals[2][:5], 2 * 10**17)
    row = await Site(world).ask(LENDING)
    apr = (0.04 * 0.9 + 0.04 * 0.9 * 0.8) / 3 * 0.9
    assert row.supply_apy == pytest.approx(apy_of_apr(apr), rel=1e-9)


@pytest.mark.parametrize(
    ("use", "rate"), [(0, 0.25 * 0.04), (45, 0.625 * 0.04), (90, 0.04), (95, 2.5 * 0.04), (100, 4 * 0.04)]
)
def test_the_model_is_the_published_one(use: int, rate: float) -> None:
    """A quarter of the rate at target without use, four times as much at full use."""
    market = Market(10**20, 10**26, use * 10**18, 10**25, NOW, 0)
    found = borrow_rate(market, TARGET_RATE)
    assert found * YEAR / WAD == pytest.approx(rate, rel=1e-8)
    assert borrow_rate(market, 0) == found  # untouched markets begin at 4 %
    assert earned(market, 10**20, found) / 10**56 * YEAR == pytest.approx(rate * use / 100, rel=1e-8)


def test_an_empty_market_earns_nothing() -> None:
    empty = Market(0, 0, 0, 0, NOW, 0)
    assert earned(empty, 0, borrow_rate(empty, TARGET_RATE)) == 0


async def test_an_empty_vault_has_no_rate() -> None:
    world = Vaults()
    world.total, world.shares = 0, dict.fromkeys((1, 2, 3), 0)
    row = await Site(world).ask(LENDING)
    assert not row.HasField("supply_apy")
    assert not row.HasField("basis")
    assert row.tvl == 0


async def test_a_vault_without_markets_earns_nothing_on_what_it_has() -> None:
    row = await Site(Vaults(queue=())).ask(LENDING)
    assert (row.HasField("supply_apy"), row.supply_apy) == (True, 0.0)


async def test_a_market_that_was_not_accrued_in_the_execution_is_accrued_by_the_formula() -> None:
    """A node that had divided the execution: the accrual was lost with it. At its target the rate does not move."""
    world = Vaults()
    site = Site(world)
    world.totals[2] = (*world.totals[2][:4], NOW - 86_400, 0)
    row = await site.ask(LENDING)
    interest = 0.9 * math.expm1(0.04 / 365)
    use = (0.9 + interest) / (1 + interest)
    rate = 0.04 * (1 + (use - 0.9) / 0.1 * 3)
    apr = (0.04 * 0.9 + rate * use * (1 + interest)) / 2
    assert row.supply_apy == pytest.approx(apy_of_apr(apr), rel=1e-8)
    # One after the other: the proof, the vault, its markets, its state.
    assert len(world.requests) == 4


async def test_a_rate_model_that_is_not_the_protocols_gives_no_figure() -> None:
    world = Vaults()
    parameters = world._parameters
    world.answers(
        MORPHO,
        "idToMarketParams(bytes32)",
        lambda data: (*parameters(data)[:4], address(0x777), 0) if data[-1] == 2 else parameters(data),
    )
    with pytest.raises(ContractUnreadable, match=f"0x{market_id(2).hex()} of lend-c on ethereum has a rate model"):
        await Site(world).ask(LENDING)


async def test_a_rate_model_that_does_not_answer_is_named() -> None:
    world = Vaults()
    world.remove(IRM, "rateAtTarget(bytes32)")
    with pytest.raises(ContractUnreadable, match="rateAtTarget of the contract"):
        await Site(world).ask(LENDING)


@pytest.mark.parametrize("queue", [(2, 1), (1, 2, 3), (1,)])
async def test_another_queue_is_read_anew(queue: tuple[int, ...]) -> None:
    world = Vaults()
    site = Site(world)
    await site.ask(LENDING)
    world.queue = list(queue)
    world.total = len(queue) * 10**11
    row = await site.ask(LENDING)
    assert row.supply_apy == pytest.approx(apy_of_apr(0.04 * 0.9), rel=1e-9)


async def test_a_queue_that_no_vault_can_have_is_refused() -> None:
    with pytest.raises(ContractUnreadable, match="a longer queue than one may have"):
        await Site(Vaults(queue=(1,) * (MOST_MARKETS + 1))).ask(LENDING)


async def test_the_longest_queue_is_read_in_one_execution() -> None:
    """Within 200 calls and 10 million gas."""
    world = Vaults(queue=tuple(range(1, MOST_MARKETS + 1)))
    world.totals = dict.fromkeys(world.queue, world.totals[1])
    world.shares = dict.fromkeys(world.queue, 10**17)
    world.total = MOST_MARKETS * 10**11
    row = await Site(world).ask(LENDING)
    assert row.supply_apy == pytest.approx(apy_of_apr(0.04 * 0.9), rel=1e-9)
    proof, vault = world.requests[-1]
    assert (proof.is_known, vault.is_known) == (True, False)
    assert len(vault.calls) < 200
    assert sum(call.gas for call in vault.calls) < 10_000_000
    assert sum(len(call.data) for call in vault.calls) < 65_536 / 2


async def test_only_the_factories_are_asked_about_a_strangers_contract() -> None:
    world = Vaults()
    world.knows = set()
    for reader in (LENDING, BALANCE, PRICE):
        site = Site(world)
        del world.requests[:]
        with pytest.raises(NotFound, match="no such pool of lend-c on ethereum"):
            await site.ask(reader, PoolQuestion("ethereum", pool=POOL, address=WALLET))
        [[group]] = world.requests
        assert {call.to for call in group.calls} == {CURRENT, FIRST, SECOND}


async def test_a_vault_that_a_factory_does_not_know_any_more_is_none() -> None:
    world = Vaults()
    site = Site(world)
    await site.ask(LENDING)
    world.knows = set()
    with pytest.raises(NotFound):
        await site.ask(LENDING)


async def test_an_asset_called_usd_stands_under_its_address() -> None:
    for symbol in ("USD", "usd", "Usd", "", " usd "):
        row = await Site(Vaults(symbol=symbol)).ask(BALANCE, PoolQuestion("ethereum", pool=POOL, address=WALLET))
        assert dict(row.balance.amounts) == {TOKEN: 1.0}
        assert row.balance.usd == 1.5


async def test_of_the_second_generation_the_rate_is_the_apis_average() -> None:
    world = Vaults(version="V2")
    row = await Site(world, [listed(earned_apy=4.25, total_assets=1)]).ask(LENDING)
    assert (row.supply_apy, row.borrow_apy, row.tvl) == (4.25, 0.0, 300_000.0)
    assert row.updated_at.ToDatetime().year == 2026  # the older one of block and document


async def test_of_the_second_generation_unknown_unlisted_and_failed_are_three_answers() -> None:
    for vaults in ([listed(earned_apy=None)], []):
        row = await Site(Vaults(version="V2"), vaults).ask(LENDING)
        assert not row.HasField("supply_apy")
        assert not row.HasField("basis")
        assert row.HasField("tvl")
    with pytest.raises(UpstreamUnavailable, match="the source is away"):
        await Site(Vaults(version="V2"), UpstreamUnavailable("the source is away")).ask(LENDING)


async def test_the_first_generation_needs_no_api() -> None:
    site = Site(Vaults(), UpstreamUnavailable("the source is away"))
    for reader in (LENDING, PRICE, BALANCE):
        await site.ask(reader, PoolQuestion("ethereum", pool=POOL, address=WALLET if reader is BALANCE else ""))
    assert site.documents.asked == 0


async def test_a_vault_without_a_rate_is_no_zero_in_the_comparison() -> None:
    rows = await Site(Vaults(), [listed(), listed(earned_apy=2.0)]).ask(BEST, ChainQuestion("ethereum"))
    assert [row.row.apy == row.row.apy for row in rows] == [False, True]
    assert [row.row.HasField("tvl") for row in rows] == [False, False]
    assert rows[0].symbols == ("USDC",)


async def test_a_listed_vault_without_figures_is_read_from_the_chain() -> None:
    site = Site(Vaults(), [listed(version="V1")])
    [row] = await site.ask(DATA, VaultsQuestion("ethereum", vaults=(POOL, WALLET)))
    assert (row.name, row.total_assets, row.fee) == ("A vault", "200000000000", 0.0)
    assert row.total_assets_usd == 300_000.0
    site = Site(Vaults(version="V2"), [listed()])
    with pytest.raises(UpstreamUnavailable, match=f"no figures of the vault {POOL}"):
        await site.ask(DATA, VaultsQuestion("ethereum", vaults=(POOL,)))


async def test_many_vaults_share_what_they_have_in_common() -> None:
    """Fifty vaults without the API: the factories, the vaults, their markets, their state: four steps."""
    world = Vaults()
    pools = [f"0x{0x100000 + number:040x}" for number in range(50)]
    own = {key[1]: answer for key, answer in world.functions.items() if key[0] == POOL.lower()}
    for pool in pools:
        world.knows.add(pool)
        for selector, answer in own.items():
            world.functions[pool, selector] = answer
    site = Site(world, UpstreamUnavailable("the source is away"))
    began = time.perf_counter()
    rows = await site.ask(DATA, VaultsQuestion("ethereum", vaults=tuple(pools)))
    assert [row.address for row in rows] == pools
    assert len(world.requests) == 4
    del world.requests[:]
    await site.ask(DATA, VaultsQuestion("ethereum", vaults=tuple(reversed(pools))))
    assert len(world.requests) == 2
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize(
    ("reader", "name", "value"),
    [
        (LENDING, "fee()", WAD + 1),
        (LENDING, "totalAssets()", 1),
        (PRICE, "decimals()", 200),
        (BALANCE, "decimals()", 255),
    ],
)
async def test_figures_that_cannot_be_are_no_answer(reader: Any, name: str, value: int) -> None:
    world = Vaults()
    world.put(POOL, name, "uint256", value)
    with pytest.raises(ContractUnreadable):
        await Site(world).ask(reader, PoolQuestion("ethereum", pool=POOL, address=WALLET))
