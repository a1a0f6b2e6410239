"""Rates and balances of vault-b where contracts say what they seldom say."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi.abi import encode
from waypost.v1 import yield_protocol_pb2

from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.errors import NotFound, UpstreamUnavailable
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import ChainQuestion
from server.protocols.yearn.reader import BalanceReader, BestReader, VaultReader
from server.protocols.yields import MANY_SHARES, PoolQuestion, growth_apy
from server.yields import kong
from tests.server.protocols.archive import DOCUMENTED_AT, Desk
from tests.server.protocols.scripted import REVERTS, World, address

MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
REGISTRY = "0xff31A1B020c868F6eA3f61Eb953344920EeCA3af"
V2_REGISTRY = "0x50c1a2eA0a861A967D9d0FFE2AE4012c2E053804"
ORACLE = "0x1981AD9F44F2EA9aDd2dC4AD7D075c102C70aF92"
VAULT, ASSET = (checksum_address(address(number)) for number in (0xBB, 0xCC))
WALLET = "0x00000000000000000000000000000000000000AA"
LISTED = kong.vaults_of("ethereum")
NOW, WEEK = 1_796_000_000, 7 * 86_400
GROWTH = yield_protocol_pb2.YIELD_BASIS_GROWTH


def desk(version: str = "3.0.2", *, now: int = 1_010_000, then: int | None = 1_000_000, is_listed: bool = True) -> Desk:
    """A vault without a rate at Kong; the price of a share, in millionths of the asset, now and a week ago."""
    found = Desk()
    row = kong.Vault(VAULT, version, "TOK", None, None, is_open=True)
    found.documents = {LISTED: {VAULT: row} if is_listed else {}}
    put_vault(found.world, version, now, NOW)
    found.world.token(ASSET, "TOK", 6)
    if then is not None:
        found.world.past = World(block=40)
        put_vault(found.world.past, version, then, NOW - WEEK)
    return found


def put_vault(world: World, version: str, price: int, at: int) -> None:
    world.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", at)
    world.put(VAULT, "apiVersion()", "string", version)
    world.put(VAULT, "totalAssets()", "uint256", 10**12)
    world.put(VAULT, "decimals()", "uint8", 6)
    world.put(VAULT, "balanceOf(address)", "uint256", 2_000_000)
    if version.startswith("3"):
        world.put(VAULT, "asset()", "address", ASSET)
        world.put(VAULT, "convertToAssets(uint256)", "uint256", price * 10**30)
        world.remove(ORACLE, "getStrategyApr(address,int256)")
        world.put(ORACLE, "getCurrentApr(address)", "uint256", 0)
    else:
        world.put(VAULT, "token()", "address", ASSET)
        world.put(VAULT, "pricePerShare()", "uint256", price)


async def rate(found: Desk) -> Any:
    return await found.ask(VaultReader(), PoolQuestion("ethereum", pool=VAULT))


async def balance(found: Desk) -> Any:
    return await found.ask(BalanceReader(), PoolQuestion("ethereum", pool=VAULT, address=WALLET))


@pytest.mark.parametrize("version", ["3.0.2", "3.1.0", "0.4.3", "0.3.0"])
async def test_growth_is_annualised_by_the_two_blocks_times(version: str) -> None:
    found = desk(version)
    row = await rate(found)
    assert (row.apy, row.basis) == (pytest.approx((1.01 ** (365 / 7) - 1) * 100, rel=1e-12), GROWTH)
    assert row.updated_at.seconds == NOW
    found.world.past.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", NOW - 3 * WEEK)  # type: ignore[union-attr]
    assert (await rate(found)).apy == pytest.approx((1.01 ** (365 / 21) - 1) * 100, rel=1e-12)


@pytest.mark.parametrize(
    ("now", "then", "apy"),
    [(990_000, 1_000_000, (0.99 ** (365 / 7) - 1) * 100), (1_000_000, 1_000_000, 0.0), (0, 5, None), (5, 0, None)],
)
async def test_a_share_may_lose_and_without_a_price_says_nothing(now: int, then: int, apy: float | None) -> None:
    row = await rate(desk("0.4.3", now=now, then=then))
    assert (row.apy if row.HasField("apy") else None) == (None if apy is None else pytest.approx(apy, rel=1e-12))


async def test_a_vault_that_was_not_there_a_week_ago_has_no_rate() -> None:
    found = desk()
    assert found.world.past is not None
    found.world.past.functions = {
        key: answer for key, answer in found.world.past.functions.items() if key[0] == MULTICALL3.lower()
    }
    assert not (await rate(found)).HasField("apy")
    assert not (await rate(desk(then=None))).HasField("apy")


async def test_blocks_of_one_time_say_no_growth() -> None:
    found = desk()
    found.world.past.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", NOW)  # type: ignore[union-attr]
    assert not (await rate(found)).HasField("apy")


def test_growth_beyond_all_numbers_says_nothing() -> None:
    assert growth_apy(1, 2**255, 1.0) is None
    assert growth_apy(10**18, 10**18 + 10**15, 604_800) == pytest.approx((1.001 ** (365 / 7) - 1) * 100, rel=1e-12)


async def test_an_oracle_without_sense_is_no_rate_of_a_kind() -> None:
    found = desk()
    found.world.put(ORACLE, "getStrategyApr(address,int256)", "uint256", 2**255)
    with pytest.raises(ContractUnreadable, match="figures that cannot be"):
        await rate(found)


async def test_a_proxy_of_another_release_is_read_as_what_it_is_now() -> None:
    found = desk("0.4.3")
    await balance(found)
    assert len(found.world.requests) == 3
    put_vault(found.world, "3.0.2", 1_010_000, NOW)
    found.world.remove(VAULT, "pricePerShare()")
    row = await balance(found)
    assert dict(row.balance.amounts) == {"TOK": 2.02}


async def test_a_listed_vault_that_does_not_answer_is_a_failure_and_not_unknown() -> None:
    found = desk()
    found.world.functions.clear()
    for asked in (rate, balance):
        with pytest.raises(UpstreamUnavailable):
            await asked(found)
    put_vault(found.world, "3.0.2", 1_010_000, NOW)
    found.world.token(ASSET, "TOK", 6)
    assert (await rate(found)).basis == GROWTH


async def test_a_proved_vault_without_its_figures_is_unreadable() -> None:
    found = desk()
    found.world.remove(VAULT, "totalAssets()")
    with pytest.raises(ContractUnreadable, match="totalAssets"):
        await rate(found)


async def test_only_the_registry_of_its_version_is_proof() -> None:
    """A registry of V2 knows a token's vaults: one that names another vault, or none, proves nothing."""
    found = desk("0.4.3", is_listed=False)
    found.world.put(REGISTRY, "isEndorsed(address)", "bool", True)
    for named in ("0x" + "0" * 40, WALLET):
        found.world.put(V2_REGISTRY, "vaults(address,uint256)", "address", named)
        with pytest.raises(NotFound, match="neither its API nor a registry"):
            await rate(found)
    found.world.put(V2_REGISTRY, "vaults(address,uint256)", "address", VAULT)
    assert (await rate(found)).basis == GROWTH


@pytest.mark.parametrize("answer", [b"", b"\1", b"\0" * 31 + b"\2", b"\xff" * 32])
async def test_what_is_no_truth_value_is_no_proof(answer: bytes) -> None:
    found = desk(is_listed=False)
    found.world.put_raw(REGISTRY, "isEndorsed(address)", lambda _: ContractOutcome(True, answer))
    with pytest.raises(NotFound):
        await rate(found)


async def test_a_vault_for_which_many_shares_are_too_many_is_asked_for_the_wallets() -> None:
    found = desk()

    def few(data: bytes) -> ContractOutcome:
        shares = int.from_bytes(data, "big")
        return REVERTS if shares == MANY_SHARES else ContractOutcome(True, encode(["uint256"], [shares * 3]))

    found.world.put_raw(VAULT, "convertToAssets(uint256)", few)
    assert dict((await balance(found)).balance.amounts) == {"TOK": 6.0}


async def test_kongs_age_counts_where_its_figures_are_used() -> None:
    found = desk()
    found.documents[LISTED] = {VAULT: kong.Vault(VAULT, "3.0.2", "TOK", 4.5, 123.0, is_open=True)}
    row = await rate(found)
    assert (row.apy, row.basis, row.tvl) == (4.5, yield_protocol_pb2.YIELD_BASIS_AVERAGE, 123.0)
    assert row.updated_at.ToDatetime(DOCUMENTED_AT.tzinfo) == DOCUMENTED_AT
    assert found.world.asked == []


async def test_the_comparison_leaves_closed_vaults_out_and_asks_for_no_rate_that_kong_has() -> None:
    found = desk()
    rows = {
        VAULT: kong.Vault(VAULT, "3.0.2", "TOK", 4.5, 123.0, is_open=True),
        WALLET: kong.Vault(WALLET, "0.4.3", "OLD", 9.0, 1.0, is_open=False),
    }
    found.documents[LISTED] = rows
    [best] = await found.ask(BestReader(), ChainQuestion("ethereum"))
    assert (best.row.pool, best.row.apy, best.row.tvl, best.symbols) == (VAULT, 4.5, 123.0, ("TOK",))
    assert (found.world.requests, found.world.asked) == ([], [])


async def test_an_api_that_hangs_leaves_time_for_the_chain() -> None:
    """A registered vault is answered without Kong, within the time that its caller has."""
    found = desk()
    found.world.put(REGISTRY, "isEndorsed(address)", "bool", True)
    await rate(found)
    found.hangs = True
    row = await found.ask(VaultReader(), PoolQuestion("ethereum", pool=VAULT), seconds=0.5)
    assert row.basis == GROWTH
