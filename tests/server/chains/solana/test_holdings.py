"""Holdings on the local Solana chain: one request, every account of an owner, whatever else the owner has."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known_solana as known
from server.chains.capabilities.accounts import Holding, KnownAsset
from server.chains.view import ReadView
from server.errors import InvalidArgument, UpstreamUnavailable

if TYPE_CHECKING:
    from tests.operations import Operations
    from tests.server.chains.solana.conftest import Front
    from tests.tallies import CallTally

pytestmark = pytest.mark.devnet

ALICE = str(known.ALICE)
# Listed with decimals that are not the mints', which must not matter.
USDC, WET, NAMELESS = (KnownAsset(str(mint), 1) for mint in (known.USDC, known.TOKEN_2022, known.NAMELESS))
NO_MINT = KnownAsset(str(known.BOB), 5)


async def test_accounts_of_both_programs_are_added_up_by_mint(driver: Operations, tally: CallTally, node: Front):
    found = await driver.read_holdings(ALICE, [USDC, WET, NAMELESS, NO_MINT], view := ReadView())
    assert found.rows == (
        Holding(None, known.ALICE_LAMPORTS, 9),
        Holding(USDC.address, sum(known.ALICE_USDC), 6),
        Holding(WET.address, sum(known.ALICE_TOKEN_2022), 9),
        Holding(NAMELESS.address, known.ALICE_NAMELESS, 0),
    )
    assert found.account == ALICE
    assert found.block == view.block
    assert tally.requests == [4]
    node.asked.clear()
    again = await driver.read_holdings(ALICE, [USDC, WET, NAMELESS], ReadView())
    assert again.rows == found.rows
    # Decimals are known by now.
    # The question which chain it is rides along with the batch.
    asked = sorted(method for method, _ in node.asked if method != "getGenesisHash")
    assert asked == ["getBalance", *["getTokenAccountsByOwner"] * 2]


async def test_mints_that_nobody_asks_about_are_passed_over(driver: Operations):
    found = await driver.read_holdings(ALICE, [NAMELESS], ReadView())
    assert [row.address for row in found.rows] == [None, NAMELESS.address]


async def test_an_owner_without_anything(driver: Operations):
    found = await driver.read_holdings(str(known.UNTOUCHED), [USDC, WET], ReadView())
    assert found.rows == ()
    assert found.block is not None


def value(slot: int, rows: list[Any]) -> dict[str, Any]:
    return {"result": {"context": {"slot": slot}, "value": rows}}


def account(data: Any) -> dict[str, Any]:
    return {"pubkey": ALICE, "account": {"owner": str(known.TOKEN_PROGRAM), "data": data}}


async def test_the_oldest_slot_of_the_parts_is_reported(driver: Operations, node: Front):
    node.twists["getTokenAccountsByOwner"] = lambda params: value(known.FIRST_SLOT + 1, [])
    found = await driver.read_holdings(ALICE, [USDC], ReadView())
    assert found.block == known.FIRST_SLOT + 1
    assert [row.address for row in found.rows] == [None]


@pytest.mark.parametrize(
    "reported",
    [
        {"result": None},
        {"result": []},
        value(known.FIRST_SLOT, [account(["", "base64"])]),
        value(known.FIRST_SLOT, [account([base64.b64encode(bytes(71)).decode(), "base64"])]),
        value(known.FIRST_SLOT, [account(["not base64", "base64"])]),
        value(known.FIRST_SLOT, [account({"parsed": {"type": "account"}})]),
        value(known.FIRST_SLOT, [None]),
        {"result": {"context": {}, "value": []}},
        {"error": {"code": -32603, "message": "internal"}},
    ],
)
async def test_what_cannot_be_read_is_a_failure_and_no_empty_wallet(driver: Operations, node: Front, reported: Any):
    node.twists["getTokenAccountsByOwner"] = lambda params: reported
    with pytest.raises(UpstreamUnavailable) as caught:
        await driver.read_holdings(ALICE, [USDC], ReadView())
    assert node.url not in caught.value.message


@pytest.mark.parametrize("text", ["", "0x12", ALICE[:-1] + "0", ALICE + "1", "é" * 32, "1" * 500])
def test_what_is_no_address_is_said(driver: Operations, text: str):
    assert not driver.is_holder(text)
    with pytest.raises(InvalidArgument) as caught:
        driver.check_holder(text)
    assert caught.value.field == "address"
