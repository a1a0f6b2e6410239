"""pool-a's lending vaults and stake-a over scripted contracts: no names, strange tokens, changed lists."""

from __future__ import annotations

import pytest

from server.catalog.protocols import load_address_book
from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.protocols.lido.reader import PositionReader as StakeReader
from server.protocols.llamalend.reader import MarketReader, PositionReader
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion, WalletQuestion
from tests.server.protocols.scripted import NO_CODE, REVERTS, Readers, World, address

WALLET = "0x00000000000000000000000000000000000000AA"
QUESTION, LISTING = WalletQuestion("ethereum", address=WALLET), ChainQuestion("ethereum")
BOOK = load_address_book()
V1, V2 = (
    BOOK.find_contract("curve-llamalend", "ethereum", key).address for key in ("oneWayLendingFactory", "lendFactoryV2")
)
NOWHERE = address(0)
DOLLARS, ETHER = (checksum_address(address(number)) for number in (0xD0, 0xE0))


def vault_at(place: int) -> str:
    return checksum_address(address(0x5A000 + place))


class Factories(World):
    """So many vaults in each factory; the second generation has no names."""

    def __init__(self, first: int = 2, second: int = 1) -> None:
        super().__init__()
        self.names: dict[int, str] = {0: "one"}
        self.token(DOLLARS, "crvUSD", 18)
        self.token(ETHER, "WETH", 18)
        for place in (*range(first + 3), *range(200, 202 + second)):
            vault = vault_at(place)
            self.token(vault, "cvcrvUSD", 18)
            self.put(vault, "totalAssets()", "uint256", 10**18)
            self.put(vault, "totalSupply()", "uint256", 10**21)
            self.put(vault, "balanceOf(address)", "uint256", 0)
        self.list(first, second)

    def list(self, first: int, second: int) -> None:
        self.put(V1, "market_count()", "uint256", first)
        self.put(V2, "market_count()", "uint256", second)

        def at(value_of):
            def answer(data: bytes) -> ContractOutcome:
                place = int.from_bytes(data[:32], "big")
                value = value_of(place) if place < first else NOWHERE
                return ContractOutcome(True, bytes(12) + bytes.fromhex(value[2:]))

            return answer

        self.put_raw(V1, "vaults(uint256)", at(vault_at))
        self.put_raw(V1, "collateral_tokens(uint256)", at(lambda _: ETHER))
        self.put_raw(V1, "borrowed_tokens(uint256)", at(lambda _: DOLLARS))
        self.put_for(V1, "names(uint256)", "string", {n: (self.names.get(n, ""),) for n in range(first)})
        rows = {n: ((vault_at(200 + n), NOWHERE, NOWHERE, ETHER, DOLLARS, NOWHERE, NOWHERE),) for n in range(second)}
        self.put_for(V2, "markets(uint256)", f"({','.join(['address'] * 7)})", rows)


async def test_names_are_the_factorys_or_the_pairs() -> None:
    found = (await Readers(Factories()).ask(MarketReader(), LISTING))["markets"]
    assert [(row.name, row.vault_address) for row in found] == [
        ("one", vault_at(0)),
        ("WETH/crvUSD", vault_at(1)),
        ("WETH/crvUSD", vault_at(200)),
    ]


async def test_factories_without_vaults_are_an_empty_list() -> None:
    readers = Readers(Factories(0, 0))
    assert (await readers.ask(MarketReader(), LISTING))["markets"] == []
    found = await readers.ask(PositionReader(), QUESTION)
    assert (list(found.markets), list(found.positions)) == ([], [])


async def test_more_vaults_than_were_asked_for_at_first_cost_one_request_more() -> None:
    found, requests = await Readers(Factories(150)).count(MarketReader(), LISTING)
    assert (len(found["markets"]), requests) == (151, 4)


async def test_a_place_that_was_given_up_holds_no_vault() -> None:
    world = Factories(3)
    world.put_for(V1, "vaults(uint256)", "address", {0: (vault_at(0),), 1: (NOWHERE,), 2: (vault_at(2),)})
    found = (await Readers(world).ask(MarketReader(), LISTING))["markets"]
    assert [row.vault_address for row in found] == [vault_at(0), vault_at(2), vault_at(200)]


async def test_positions_stand_only_where_shares_are_held() -> None:
    world = Factories()
    world.put(vault_at(1), "balanceOf(address)", "uint256", 5 * 10**20)
    found = await Readers(world).ask(PositionReader(), QUESTION)
    assert len(found.markets) == 3
    [position] = found.positions
    assert (position.vault_address, position.shares) == (vault_at(1), "500")
    # A thousand dead shares and a unit stand in the conversion.
    assert position.assets == f"0.{5 * 10**20 * (10**18 + 1) // (10**21 + 1000):018d}".rstrip("0")


async def test_two_readers_share_the_list() -> None:
    readers = Readers(Factories())
    await readers.ask(MarketReader(), LISTING)
    assert (await readers.count(PositionReader(), QUESTION))[1] == 1


async def test_a_vault_that_was_opened_since_costs_one_request() -> None:
    world = Factories()
    readers = Readers(world)
    await readers.ask(MarketReader(), LISTING)
    world.list(3, 2)
    world.put(vault_at(2), "balanceOf(address)", "uint256", 10**21)
    found, requests = await readers.count(PositionReader(), QUESTION)
    assert requests == 2
    expected = [vault_at(place) for place in (0, 1, 2, 200, 201)]
    assert [row.vault_address for row in found.markets] == expected
    assert [row.vault_address for row in found.positions] == [vault_at(2)]
    again, requests = await readers.count(MarketReader(), LISTING)
    assert ([row.vault_address for row in again["markets"]], requests) == (expected, 1)


async def test_a_place_that_was_given_up_at_once_costs_nothing() -> None:
    world = Factories()
    readers = Readers(world)
    await readers.ask(MarketReader(), LISTING)
    world.list(3, 1)
    world.put_for(V1, "vaults(uint256)", "address", {0: (vault_at(0),), 1: (vault_at(1),), 2: (NOWHERE,)})
    for _ in range(2):
        found, requests = await readers.count(MarketReader(), LISTING)
        assert (len(found["markets"]), requests) == (3, 1)


async def test_a_place_that_was_given_up_does_not_hide_a_vault_of_the_other_factory() -> None:
    world = Factories()
    readers = Readers(world)
    await readers.ask(MarketReader(), LISTING)
    world.list(3, 2)
    world.put_for(V1, "vaults(uint256)", "address", {0: (vault_at(0),), 1: (vault_at(1),), 2: (NOWHERE,)})
    found, requests = await readers.count(MarketReader(), LISTING)
    assert ([row.vault_address for row in found["markets"]][2:], requests) == ([vault_at(200), vault_at(201)], 2)


async def test_a_new_vault_of_a_strange_token_is_left_out() -> None:
    world = Factories()
    readers = Readers(world)
    await readers.ask(MarketReader(), LISTING)
    world.list(3, 1)
    strange = checksum_address(address(0xBAD))
    world.put_for(V1, "borrowed_tokens(uint256)", "address", dict.fromkeys(range(3), (strange,)))
    assert len((await readers.ask(PositionReader(), QUESTION)).markets) == 3
    assert (await readers.count(PositionReader(), QUESTION))[1] == 1


@pytest.mark.parametrize(("first", "second"), [(1, 1), (4, 1), (2, 0)])
async def test_any_other_change_of_the_lists_is_read_anew(first: int, second: int) -> None:
    world = Factories()
    readers = Readers(world)
    await readers.ask(MarketReader(), LISTING)
    world.list(first, second)
    found, requests = await readers.count(MarketReader(), LISTING)
    assert (len(found["markets"]), requests) == (first + second, 4)


@pytest.mark.parametrize("decimals", [None, 19, 255])
async def test_a_vault_of_a_strange_token_does_not_keep_others_from_being_read(decimals: int | None) -> None:
    """Anyone may open a market."""
    world = Factories()
    world.put_for(V1, "borrowed_tokens(uint256)", "address", {0: (DOLLARS,), 1: (checksum_address(address(0xBAD)),)})
    if decimals is not None:
        world.put(address(0xBAD), "decimals()", "uint8", decimals)
    found = (await Readers(world).ask(MarketReader(), LISTING))["markets"]
    assert [row.vault_address for row in found] == [vault_at(0), vault_at(200)]


async def test_a_vault_that_refuses_its_totals_is_left_out_unless_the_wallet_has_shares_of_it() -> None:
    world = Factories()
    world.put_raw(vault_at(0), "totalAssets()", lambda _: REVERTS)
    readers = Readers(world)
    assert len((await readers.ask(MarketReader(), LISTING))["markets"]) == 2
    assert len((await readers.ask(PositionReader(), QUESTION)).markets) == 2
    world.put(vault_at(0), "balanceOf(address)", "uint256", 1)
    with pytest.raises(ContractUnreadable, match=f"vault {vault_at(0)} on ethereum does not report what it holds"):
        await readers.ask(PositionReader(), QUESTION)


@pytest.mark.parametrize("count", [2_001, 2**256 - 1])
async def test_a_factory_of_too_many_vaults_is_refused(count: int) -> None:
    world = Factories()
    world.put(V1, "market_count()", "uint256", count)
    with pytest.raises(ContractUnreadable, match="more than 2000"):
        await Readers(world).ask(MarketReader(), LISTING)


async def test_a_factory_without_code_is_named() -> None:
    world = Factories()
    world.put_raw(V2, "market_count()", lambda _: NO_CODE)
    with pytest.raises(ContractUnreadable, match=f"market_count of the contract {V2} on ethereum .*no contract"):
        await Readers(world).ask(MarketReader(), LISTING)


def lido(chain: str, key: str) -> str:
    return BOOK.find_contract("lido", chain, key).address


async def test_staked_ether_of_nobody_is_zeros_and_the_rates() -> None:
    world = World()
    world.put(lido("ethereum", "wstETH"), "stEthPerToken()", "uint256", 12 * 10**17)
    world.put(lido("ethereum", "wstETH"), "tokensPerStEth()", "uint256", 8 * 10**17)
    for chain, key in (("ethereum", "wstETH"), ("ethereum", "stETH"), ("base", "wstETH")):
        world.put(lido(chain, key), "balanceOf(address)", "uint256", 0)
    found = await Readers(world).ask(StakeReader(), QUESTION)
    assert (found.st_eth.balance, found.wst_eth.balance, found.total_eth_equivalent) == ("0", "0", "0")
    assert (found.exchange_rates.st_eth_per_wst_eth, found.exchange_rates.wst_eth_per_st_eth) == ("1.2", "0.8")
    elsewhere = await Readers(world).ask(StakeReader(), WalletQuestion("base", address=WALLET))
    assert not elsewhere.HasField("st_eth")
    assert elsewhere.rate_block_height == 100


async def test_a_bridged_token_without_code_is_named() -> None:
    world = World()
    world.put(lido("ethereum", "wstETH"), "stEthPerToken()", "uint256", 12 * 10**17)
    world.put(lido("ethereum", "wstETH"), "tokensPerStEth()", "uint256", 8 * 10**17)
    with pytest.raises(ContractUnreadable, match=f"balanceOf of the contract {lido('base', 'wstETH')} on base"):
        await Readers(world).ask(StakeReader(), WalletQuestion("base", address=WALLET))
