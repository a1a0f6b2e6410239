"""getYieldsBalance of every protocol on every chain that has its pools: nothing is zeros, what is no pool is 404."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.evm.world import load_world
from server.protocols.yields import PoolForm
from tests.server.rpc.every import message_of
from tests.server.rpc.refusals import refused
from tests.server.rpc.yields_table import OPERATIONS, TABLE, TAKES

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

BALANCE = "getYieldsBalance"
WALLETS = (known.VITALIK, known.ALICE, known.BOB)
# Contracts that answer nearly anything, tokens, accounts without code: no protocol's pools.
STRANGERS = (
    known.PROBER,
    known.HOSTILE_TOKEN,
    known.SILENT_CONTRACT,
    known.RETURN_BOMBER,
    known.REVERT_BOMBER,
    known.GAS_BURNER,
    known.MULTICALL3,
    known.ALICE,
    "0x0000000000000000000000000000000000000000",
    "0x0000000000000000000000000000000000000001",
)
UNKNOWN = {
    PoolForm.SYMBOL: ("NOSUCH", "usdc.x", "USD"),
    PoolForm.VAULT_ID: ("no-such-vault", "BIFI-VAULT-", "0x0000000000000000000000000000000000000001"),
}

Pools = dict[tuple[str, str], list[str]]


@pytest.fixture(scope="module")
async def pools(faces: RunningGateway) -> Pools:
    """Pools by protocol and chain, as the comparison of all names them."""
    data = (await faces.ask("getYieldsBest", {"limit": 1000}))["result"]["data"]
    found: Pools = defaultdict(list)
    for row in data["results"]:
        if row["protocol"] in TAKES[BALANCE]:
            found[row["protocol"], row["chain"]].append(row["pool"])
    assert {protocol for protocol, _ in found} == set(TAKES[BALANCE])
    return found


def members(place: tuple[str, str], pool: str, wallet: str) -> dict[str, Any]:
    protocol, chain = place
    return {"chain": chain, "protocol": protocol, "pool": pool, "address": wallet}


async def test_who_has_nothing_has_zeros(faces: RunningGateway, pools: Pools) -> None:
    for place, listed in pools.items():
        for pool in listed[:3]:
            asked = members(place, pool, known.UNTOUCHED)
            answer = await faces.ask(BALANCE, asked)
            assert "result" in answer, (asked, answer)
            [row] = answer["result"]["data"]["results"]
            assert {name: row[name] for name in asked} == asked
            amounts = dict(row["balance"])
            assert amounts.pop("USD") in (0, None), row
            assert amounts, row
            assert set(amounts.values()) == {0}, row
            assert row["blockHeight"] > 0, row


async def test_what_wallets_have_is_never_below_zero_and_both_faces_say_so(faces: RunningGateway, pools: Pools) -> None:
    operation = OPERATIONS[BALANCE]
    holders: dict[str, int] = defaultdict(int)
    for place, listed in pools.items():
        for wallet in WALLETS:
            asked = members(place, listed[0], wallet)
            answer = await faces.ask(BALANCE, asked)
            [row] = answer["result"]["data"]["results"]
            amounts = dict(row["balance"])
            dollars = amounts.pop("USD")
            assert min(amounts.values()) >= 0, row
            holders[place[0]] += any(amounts.values())
            assert dollars is None or (dollars > 0) is any(amounts.values()), row
            found: Any = await faces.ask_grpc(operation, message_of(operation, asked))
            [message] = found.results
            assert dict(message.balance.amounts) == pytest.approx(amounts, rel=1e-6), row
            assert message.address == wallet
    # Of most protocols somebody has something in the best pool of a chain: zeros alone would not do.
    assert sum(count > 0 for count in holders.values()) > len(holders) // 2, dict(holders)


async def test_what_is_no_pool_of_the_protocol_is_not_found(faces: RunningGateway, pools: Pools) -> None:
    operation = OPERATIONS[BALANCE]
    addresses = {chain: set[str]() for _, chain in pools}
    for (protocol, chain), listed in pools.items():
        if TABLE[protocol].form is PoolForm.ADDRESS:
            addresses[chain].update(listed)

    async def check(place: tuple[str, str], pool: str) -> None:
        reported = await refused(faces, operation, members(place, pool, known.VITALIK))
        assert reported[:3] == (404, "NOT_FOUND", "pool"), (place, pool, reported)
        assert place[0] in reported[3], (place, pool, reported)
        assert place[1] in reported[3], (place, pool, reported)
        assert len(reported[3]) < 500

    for place, listed in pools.items():
        protocol, chain = place
        wrong = UNKNOWN.get(TABLE[protocol].form)
        if wrong is None:
            token = load_world()[chain].wrapped_native.address
            # Of lend-d the token of any reserve is a pool.
            others = addresses[chain] - set(listed) if protocol != "lend-d" else set()
            strangers = STRANGERS if chain in ("ethereum", "hyperliquid") else STRANGERS[:2]
            wrong = (*strangers, *sorted(others)[:4], *(() if protocol == "lend-d" else (token,)))
        await asyncio.gather(*(check(place, pool) for pool in wrong))


async def test_any_address_may_be_the_wallet(faces: RunningGateway, pools: Pools) -> None:
    """Also the zero address, a precompile, a contract of no kind and the pool itself, which may hold its own shares."""
    for place, listed in pools.items():
        own = (listed[0],) if TABLE[place[0]].form is PoolForm.ADDRESS else ()
        for wallet in (*STRANGERS[-2:], known.PROBER, *own):
            answer = await faces.ask(BALANCE, members(place, listed[0], wallet))
            assert "result" in answer, (place, wallet, answer)
            [row] = answer["result"]["data"]["results"]
            assert all(amount is None or amount >= 0 for amount in row["balance"].values()), row


async def test_pools_are_found_in_any_casing_that_is_right(faces: RunningGateway, pools: Pools) -> None:
    for place, listed in pools.items():
        form = TABLE[place[0]].form
        if form is PoolForm.VAULT_ID:
            continue
        pool = listed[0].swapcase() if form is PoolForm.SYMBOL else listed[0].lower()
        answer = await faces.ask(BALANCE, members(place, pool, known.ALICE))
        assert "result" in answer, (place, pool, answer)
        [row] = answer["result"]["data"]["results"]
        assert row["pool"] == pool


async def test_without_any_source_a_known_pool_is_unavailable(bare: RunningGateway, pools: Pools) -> None:
    operation = OPERATIONS[BALANCE]
    for place, listed in pools.items():
        reported = await refused(bare, operation, members(place, listed[0], known.ALICE))
        assert reported[:2] == (503, "UPSTREAM_UNAVAILABLE"), (place, reported)
