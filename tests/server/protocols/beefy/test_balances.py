"""Balances of vault-a where contracts and lists say what they seldom say."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi.abi import encode

from runtime.config_errors import NameIndex
from server.contracts.calls import ContractOutcome
from server.errors import UpstreamUnavailable
from server.protocols.beefy.balances import BalanceReader
from server.protocols.plan import ContractUnreadable
from server.protocols.yields import MANY_SHARES, PoolQuestion
from server.yields import beefy
from tests.server.protocols.archive import DOCUMENTED_AT, PRICED_AT, Desk
from tests.server.protocols.scripted import REVERTS, address

MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
VAULT, FIRST, SECOND = address(0x11), address(0x21), address(0x22)
WALLET = "0x00000000000000000000000000000000000000AA"
NOW = 1_796_000_000  # later than the documents


def desk(kind: str, token: str | None = FIRST, *tokens: str, shares: int = 5 * 10**18, **prices: float) -> Desk:
    vault = beefy.Vault(
        "v", kind, "base", VAULT, token, tokens, 18, "COIN", (), beefy.TOKEN_PRICES, "T", is_active=True
    )
    found = Desk()
    listed = beefy.Vaults({"v": vault}, {"base": NameIndex(["v"])})
    found.documents = {beefy.VAULTS: listed, beefy.POOL_PRICES: {}, beefy.TOKEN_PRICES: dict(prices)}
    found.world.put(MULTICALL3, "getCurrentBlockTimestamp()", "uint256", NOW)
    found.world.put(VAULT, "balanceOf(address)", "uint256", shares)
    found.world.token(FIRST, "ONE", 18)
    found.world.token(SECOND, "TWO", 6)
    return found


async def ask(found: Desk) -> Any:
    return await found.ask(BalanceReader(), PoolQuestion("base", pool="v", address=WALLET))


def only_few(types: str, *values: int) -> Any:
    """Return values for fewer shares than many; revert for those."""

    def answer(data: bytes) -> ContractOutcome:
        if int.from_bytes(data, "big") == MANY_SHARES:
            return REVERTS
        return ContractOutcome(True, encode(types.split(","), values))

    return answer


async def test_a_vault_for_which_many_shares_are_too_many_is_asked_for_the_wallets() -> None:
    found = desk("erc4626", T=2.0)
    found.world.put_raw(VAULT, "convertToAssets(uint256)", only_few("uint256", 7 * 10**18))
    row = await ask(found)
    assert (dict(row.balance.amounts), row.balance.usd) == ({"ONE": 7.0}, 14.0)
    assert len(found.world.requests) == 2
    pair = desk("cowcentrated", FIRST, FIRST, SECOND)
    pair.world.put(VAULT, "wants()", "address,address", FIRST, SECOND)
    pair.world.put_raw(VAULT, "previewWithdraw(uint256)", only_few("uint256,uint256", 10**18, 2_500_000))
    assert dict((await ask(pair)).balance.amounts) == {"ONE": 1.0, "TWO": 2.5}


async def test_an_empty_vault_divides_by_no_shares() -> None:
    found = desk("cowcentrated", FIRST, FIRST, SECOND, shares=0)
    found.world.put(VAULT, "wants()", "address,address", FIRST, SECOND)
    found.world.remove(VAULT, "previewWithdraw(uint256)")
    row = await ask(found)
    assert (dict(row.balance.amounts), row.balance.usd) == ({"ONE": 0.0, "TWO": 0.0}, 0.0)
    assert len(found.world.requests) == 1


async def test_a_vault_of_other_tokens_than_its_list_says_is_not_read() -> None:
    found = desk("cowcentrated", FIRST, FIRST, SECOND)
    found.world.put(VAULT, "wants()", "address,address", SECOND, FIRST)
    found.world.put(VAULT, "previewWithdraw(uint256)", "uint256,uint256", 10**36, 10**36)
    with pytest.raises(ContractUnreadable, match="holds other tokens than its list says"):
        await ask(found)


async def test_a_vault_that_is_none_of_its_kind_is_not_read() -> None:
    found = desk("standard")
    found.world.put(VAULT, "convertToAssets(uint256)", "uint256", 10**18)
    with pytest.raises(ContractUnreadable, match="getPricePerFullShare"):
        await ask(found)


async def test_a_vault_of_the_chains_coin_needs_no_token() -> None:
    found = desk("standard", None, T=10.0)
    found.world.put(VAULT, "getPricePerFullShare()", "uint256", 11 * 10**17)
    row = await ask(found)
    assert (dict(row.balance.amounts), row.balance.usd) == ({"COIN": 5.5}, 55.0)
    del found.documents[beefy.TOKEN_PRICES]["T"]
    row = await ask(found)
    assert (dict(row.balance.amounts), row.balance.HasField("usd")) == ({"COIN": 5.5}, False)


@pytest.mark.parametrize("symbol", ["USD", "usd", "Usd"])
async def test_an_asset_called_usd_stands_under_its_address(symbol: str) -> None:
    found = desk("gov", T=1.0)
    found.world.token(FIRST, symbol, 18)
    assert dict((await ask(found)).balance.amounts) == {FIRST: 5.0}


async def test_two_tokens_of_one_symbol_stand_under_their_addresses() -> None:
    found = desk("cowcentrated", FIRST, FIRST, SECOND)
    found.world.token(SECOND, "one", 6)
    found.world.put(VAULT, "wants()", "address,address", FIRST, SECOND)
    found.world.put(VAULT, "previewWithdraw(uint256)", "uint256,uint256", 10**36, 10**24)
    assert dict((await ask(found)).balance.amounts) == {FIRST: 5.0, SECOND: 5.0}


async def test_the_time_of_the_oldest_that_was_used() -> None:
    found = desk("gov", T=1.0)
    assert (await ask(found)).updated_at.ToDatetime(DOCUMENTED_AT.tzinfo) == DOCUMENTED_AT
    own = desk("gov")
    own.prices["base", FIRST] = "3"
    row = await ask(own)
    assert (row.balance.usd, row.updated_at.ToDatetime(PRICED_AT.tzinfo)) == (15.0, PRICED_AT)
    assert own.priced == [("base", FIRST)]
    none = desk("gov")
    row = await ask(none)
    assert (row.balance.HasField("usd"), row.updated_at.seconds) == (False, NOW)


async def test_a_price_of_the_list_is_preferred_and_asks_nobody() -> None:
    found = desk("gov", T=1.0)
    found.prices["base", FIRST] = "3"
    assert (await ask(found)).balance.usd == 5.0
    assert found.priced == []
    found.documents[beefy.TOKEN_PRICES] = UpstreamUnavailable("away")
    assert (await ask(found)).balance.usd == 15.0
