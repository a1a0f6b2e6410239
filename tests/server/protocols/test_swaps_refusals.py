"""Which quotes are refused and why: pools that are none, amounts, tokens, blocks; and what strangers' tokens cost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known, known_exchanges
from devnet.evm.calls import encode_call
from devnet.known_exchanges import V3_CONTRACTS, V4_CONTRACTS
from server.chains.capabilities.contracts import CallsContracts
from server.contracts.calls import ContractOutcome
from server.errors import (
    ArchiveRequired,
    GatewayError,
    InvalidArgument,
    NotAToken,
    NotFound,
    NotSupported,
    Reverted,
)
from server.protocols.reader import ProtocolReaders
from server.protocols.runner import Runner
from server.rpc.registration import PROTOCOLS
from tests.rewinding import rewound
from tests.server.protocols.conftest import Asked, NoPrices
from tests.server.protocols.test_runner_requests import NATIVE, QUOTES, USDC, WETH
from tests.server.protocols.test_swaps_recomputed import DAI, LINK, ZERO, send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.view import ReadView
    from server.contracts.calls import CallGroup

pytestmark = pytest.mark.devnet

V2, V3, V4 = QUOTES
USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
ROUTER = known_exchanges.V2_ROUTER
FEES = {500: 10, 3000: 60, 10_000: 200}


async def refused(asked: Asked, rpc: str, sell: str, buy: str, amount: str, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await asked.swap(rpc, "ethereum", sell, buy, amount, **more)
    return caught.value


class TestNatives:
    @pytest.mark.parametrize("rpc", QUOTES)
    @pytest.mark.parametrize("name", [NATIVE, ZERO])
    async def test_on_both_sides(self, asked: Asked, rpc: str, name: str) -> None:
        for amount, sell, buy in (("1.5", WETH, USDC), ("3000", USDC, WETH)):
            wrapped = await asked.swap(rpc, "ethereum", sell, buy, amount)
            native = await asked.swap(
                rpc, "ethereum", *(name if token == WETH else token for token in (sell, buy)), amount
            )
            assert native.amount_out_raw == wrapped.amount_out_raw != "0"

    @pytest.mark.parametrize("rpc", QUOTES)
    async def test_both_names_are_one_token(self, asked: Asked, rpc: str) -> None:
        for sell, buy in ((NATIVE, ZERO), (ZERO, NATIVE), (ZERO, ZERO), (WETH, WETH), (USDC, USDC)):
            with asked.sends():
                refusal = await refused(asked, rpc, sell, buy, "1")
            assert (type(refusal), refusal.field) == (InvalidArgument, "tokenOut")

    @pytest.mark.parametrize("rpc", [V2, V3])
    async def test_the_wrapped_coin_is_the_native_one_where_it_has_no_pools(self, asked: Asked, rpc: str) -> None:
        for sell, buy in ((WETH, NATIVE), (ZERO, WETH)):
            with asked.sends():
                refusal = await refused(asked, rpc, sell, buy, "1")
            assert (type(refusal), refusal.field) == (InvalidArgument, "tokenOut")

    async def test_where_it_has_pools_only_the_literal_one_is_looked_for(self, asked: Asked) -> None:
        refusal = await refused(asked, V4, ZERO, WETH, "1")
        assert isinstance(refusal, NotFound)
        assert f"{ZERO} to {WETH}" in refusal.message
        assert " or " not in refusal.message


class TestPools:
    async def test_none_of_version_two(self, asked: Asked) -> None:
        refusal = await refused(asked, V2, DAI, USDT, "1")
        assert isinstance(refusal, NotFound)
        assert f"{DAI} -> {USDT} and {DAI} -> {WETH} -> {USDT}" in refusal.message
        refusal = await refused(asked, V2, WETH, USDT, "1")
        assert f"{WETH} -> {USDT}" in refusal.message
        assert " and " not in refusal.message

    async def test_an_empty_pair(self, asked: Asked) -> None:
        for sell, buy in ((LINK, WETH), (WETH, LINK), (LINK, USDC)):
            refusal = await refused(asked, V2, sell, buy, "1")
            assert (type(refusal), refusal.field) == (InvalidArgument, "amount")
            assert "empty" in refusal.message

    async def test_none_of_version_three(self, asked: Asked) -> None:
        refusal = await refused(asked, V3, DAI, LINK, "1")
        assert isinstance(refusal, NotFound)
        assert "500, 3000 or 10000" in refusal.message
        refusal = await refused(asked, V3, LINK, WETH, "1", fee=500)
        assert isinstance(refusal, NotFound)
        assert refusal.message.endswith("with a fee of 500")

    async def test_an_initialised_pool_without_liquidity(self, asked: Asked) -> None:
        for sell, buy in ((DAI, WETH), (WETH, DAI)):
            refusal = await refused(asked, V3, sell, buy, "1")
            assert (type(refusal), refusal.field) == (InvalidArgument, "amount")
        for sell, buy in ((NATIVE, LINK), (LINK, WETH)):
            refusal = await refused(asked, V4, sell, buy, "1")
            assert (type(refusal), refusal.field) == (InvalidArgument, "amount")

    async def test_a_pool_that_was_made_and_not_initialised(self, asked: Asked) -> None:
        node = asked.devnet.nodes["ethereum"]
        async with rewound(node):
            await send(node, V3_CONTRACTS["ethereum"]["factory"], "createPool(address,address,uint24)", DAI, USDT, 500)
            await asked.mine("ethereum")
            refusal = await refused(asked, V3, DAI, USDT, "1")
            assert isinstance(refusal, NotFound)
            assert "initialised" in refusal.message
        await asked.mine("ethereum")

    @pytest.mark.parametrize(("sell", "buy"), [(WETH, USDC), (USDC, WETH)])
    async def test_a_pool_that_runs_dry_does_not_count(self, asked: Asked, sell: str, buy: str) -> None:
        few = await asked.swap(V3, "ethereum", sell, buy, "0.001", fee=10_000)
        assert int(few.amount_out_raw) > 0
        refusal = await refused(asked, V3, sell, buy, "1000", fee=10_000)
        assert (type(refusal), refusal.field) == (InvalidArgument, "amount")
        assert "10000 has not enough liquidity" in refusal.message
        # The others go on to count.
        assert (await asked.swap(V3, "ethereum", sell, buy, "1000")).fee in (500, 3000)

    @pytest.mark.parametrize(("sell", "buy"), [(LINK, WETH), (WETH, LINK)])
    async def test_where_none_is_left_the_amount_is_too_large(self, asked: Asked, sell: str, buy: str) -> None:
        assert (await asked.swap(V3, "ethereum", sell, buy, "0.0001")).fee == 3000
        refusal = await refused(asked, V3, sell, buy, "100000")
        assert (type(refusal), refusal.field) == (InvalidArgument, "amount")

    async def test_not_enough_liquidity_in_version_four(self, asked: Asked) -> None:
        assert int((await asked.swap(V4, "ethereum", NATIVE, DAI, "0.0001")).amount_out_raw) > 0
        for sell in (NATIVE, WETH):
            refusal = await refused(asked, V4, sell, DAI, "1000")
            assert (type(refusal), refusal.field) == (InvalidArgument, "amount")
            assert "not enough liquidity" in refusal.message

    async def test_the_default_pool_is_literal_and_the_usual_spacing_a_hint(self, asked: Asked) -> None:
        for fee, spacing in FEES.items():
            found = await asked.swap(V4, "ethereum", WETH, USDC, "1", fee=fee, tick_spacing=spacing)
            assert (found.fee, found.tick_spacing) == (fee, spacing)
            if spacing != 60:
                refusal = await refused(asked, V4, WETH, USDC, "1", fee=fee)
                assert isinstance(refusal, NotFound)
                assert f"fee {fee} and tickSpacing 60; pools of that fee usually have tickSpacing {spacing}" in (
                    refusal.message
                )
        refusal = await refused(asked, V4, USDC, DAI, "1", fee=100)
        assert refusal.message.endswith("usually have tickSpacing 1")
        refusal = await refused(asked, V4, USDC, DAI, "1", fee=123, tick_spacing=7)
        assert refusal.message.endswith("fee 123 and tickSpacing 7")
        assert (await asked.swap(V4, "ethereum", USDC, DAI, "1", fee=100, tick_spacing=1)).amount_out_raw != "0"


class TestAmounts:
    @pytest.mark.parametrize("rpc", QUOTES)
    @pytest.mark.parametrize(
        "amount", ["0", "0.000", "-1", "0.0000001", "1.1234567", "1" + "0" * 77, "9" * 78, "", ".", "1e3"]
    )
    async def test_what_is_no_amount_of_the_token(self, asked: Asked, rpc: str, amount: str) -> None:
        await asked.swap(V3, "ethereum", USDC, WETH, "1")  # the decimals are known
        with asked.sends():
            refusal = await refused(asked, rpc, USDC, WETH, amount)
        assert (type(refusal), refusal.field) == (InvalidArgument, "amount")

    @pytest.mark.parametrize("rpc", QUOTES)
    async def test_zeros_after_the_last_digit_are_no_digits(self, asked: Asked, rpc: str) -> None:
        plain = await asked.swap(rpc, "ethereum", USDC, WETH, "1.5")
        assert (await asked.swap(rpc, "ethereum", USDC, WETH, "0001.5000000000000")).amount_out == plain.amount_out

    @pytest.mark.parametrize("rpc", QUOTES)
    async def test_more_than_there_can_be(self, asked: Asked, rpc: str) -> None:
        for amount in ("1" + "0" * 60, "1" + "0" * 58, "5" + "0" * 70):
            refusal = await refused(asked, rpc, WETH, USDC, amount)
            assert (type(refusal), refusal.field) == (InvalidArgument, "amount")

    async def test_version_four_computes_with_127_bits(self, asked: Asked) -> None:
        await asked.swap(V4, "ethereum", USDC, WETH, "1")
        with asked.sends():
            refusal = await refused(asked, V4, USDC, WETH, "170141183460469231731687303715884.105728")
        assert (type(refusal), refusal.field) == (InvalidArgument, "amount")
        assert "at most 170141183460469231731687303715884 whole units" in refusal.message
        most = await refused(asked, V4, NATIVE, DAI, "170141183460469231731.687303715884105727")
        assert "not enough liquidity" in most.message

    async def test_version_two_computes_with_what_pairs_can_hold(self, asked: Asked) -> None:
        await asked.swap(V2, "ethereum", WETH, USDC, "1")
        with asked.sends():
            refusal = await refused(asked, V2, WETH, USDC, "5192296858534827.628530496329220096")
        assert refusal.field == "amount"
        most = await asked.swap(V2, "ethereum", WETH, USDC, "5192296858534827.628530496329220095")
        assert most.amount_in_raw == str(2**112 - 1)

    @pytest.mark.parametrize("rpc", [V2, V3])
    async def test_so_little_that_nothing_comes_of_it(self, asked: Asked, rpc: str) -> None:
        assert (await asked.swap(rpc, "ethereum", DAI, USDC, "0.000000000000000001")).amount_out == "0"


# No contract; one that has no `decimals`; one that burns all gas; one that reverts with a megabyte.
NO_TOKENS = {
    known.ALICE: "no contract is there",
    ROUTER: "has no readable decimals",
    known.GAS_BURNER: "has no readable decimals",
    known.REVERT_BOMBER: "has no readable decimals",
}


class TestTokens:
    @pytest.mark.parametrize("rpc", QUOTES)
    @pytest.mark.parametrize("token", NO_TOKENS)
    async def test_addresses_that_are_no_token(self, asked: Asked, rpc: str, token: str) -> None:
        for field, sell, buy in (("tokenIn", token, USDC), ("tokenOut", WETH, token)):
            refusal = await refused(asked, rpc, sell, buy, "1")
            assert (type(refusal), refusal.field) == (NotAToken, field)
            assert token in refusal.message
            assert NO_TOKENS[token] in refusal.message

    @pytest.mark.parametrize("rpc", QUOTES)
    @pytest.mark.parametrize("token", [known.HOSTILE_TOKEN, known.RETURN_BOMBER])
    async def test_hostile_tokens_have_no_pools(self, asked: Asked, rpc: str, token: str) -> None:
        for sell, buy in ((token, USDC), (WETH, token)):
            assert isinstance(await refused(asked, rpc, sell, buy, "1"), NotFound)

    @pytest.mark.parametrize("rpc", QUOTES)
    async def test_a_strangers_quote_in_the_same_moment_is_not_harmed(self, asked: Asked, rpc: str) -> None:
        alone = await asked.swap(rpc, "ethereum", WETH, USDC, "1")
        await asked.mine("ethereum")
        hostile = (known.GAS_BURNER, known.REVERT_BOMBER, known.RETURN_BOMBER, known.HOSTILE_TOKEN)
        beside, *others = await asyncio.gather(
            asked.swap(rpc, "ethereum", WETH, USDC, "1"),
            *(asked.swap(rpc, "ethereum", WETH, token, "1") for token in hostile),
            return_exceptions=True,
        )
        assert beside == alone
        assert all(isinstance(other, NotAToken | NotFound) for other in others), others

    @pytest.mark.parametrize("turned", [known.GAS_BURNER, known.REVERT_BOMBER])
    async def test_a_token_that_has_turned(self, asked: Asked, turned: str) -> None:
        """A real pool whose token does nothing any more but burn gas, or revert with a megabyte."""
        node = asked.devnet.nodes["ethereum"]
        assert int((await asked.swap(V3, "ethereum", WETH, LINK, "0.0001")).amount_out_raw) > 0
        async with rewound(node):
            await node.call("anvil_setCode", LINK, await node.call("eth_getCode", turned, "latest"))
            await asked.mine("ethereum")
            refusal, beside = await asyncio.gather(
                refused(asked, V3, WETH, LINK, "0.0001"), asked.swap(V3, "ethereum", WETH, USDC, "1")
            )
            assert (type(refusal), refusal.field) == (NotAToken, "tokenOut")
            assert int(beside.amount_out_raw) > 0
        await asked.mine("ethereum")

    @pytest.mark.parametrize("ending", ["60006000fd", "fe"], ids=["reverts", "burns all gas"])
    async def test_a_token_that_does_not_let_itself_be_moved(self, asked: Asked, ending: str) -> None:
        """It has decimals, and refuses everything else; the pool is real, and has liquidity."""
        node = asked.devnet.nodes["ethereum"]
        assert int((await asked.swap(V3, "ethereum", WETH, LINK, "0.0001")).amount_out_raw) > 0
        place = 15 + len(ending) // 2
        # Is it decimals()? Then 18, else the ending.
        code = f"0x60003560e01c63313ce5671460{place:02x}57{ending}5b601260005260206000f3"
        async with rewound(node):
            await node.call("anvil_setCode", LINK, code)
            await asked.mine("ethereum")
            refusal, beside = await asyncio.gather(
                refused(asked, V3, WETH, LINK, "0.0001"), asked.swap(V3, "ethereum", WETH, USDC, "1")
            )
            assert isinstance(refusal, Reverted), refusal
            assert "TF" in refusal.message
            assert int(beside.amount_out_raw) > 0
            # Version four moves no token to compute a quote.
            assert (await asked.swap(V4, "ethereum", WETH, USDC, "1")).amount_out_raw != "0"
        await asked.mine("ethereum")


class TestBlocks:
    @pytest.mark.parametrize("rpc", [V3, V4])
    async def test_before_the_quoter(self, asked: Asked, rpc: str) -> None:
        node = asked.devnet.nodes["ethereum"]
        at = V3_CONTRACTS if rpc == V3 else V4_CONTRACTS
        quoter = at["ethereum"]["quoter"]
        async with rewound(node):
            code = await node.call("eth_getCode", quoter, "latest")
            await node.call("anvil_setCode", quoter, "0x")
            # The node keeps a block's state when the next one is made.
            await asked.mine("ethereum")
            await asked.mine("ethereum")
            block = -1 + int(await node.call("eth_blockNumber"), 16)
            await node.call("anvil_setCode", quoter, code)
            await asked.mine("ethereum")
            refusal = await refused(asked, rpc, WETH, USDC, "1", block=block)
            assert (type(refusal), refusal.field) == (NotSupported, "blockHeight")
            assert quoter in refusal.message
            assert str(block) in refusal.message
            assert (await asked.swap(rpc, "ethereum", WETH, USDC, "1")).amount_out_raw != "0"
        await asked.mine("ethereum")

    @pytest.mark.parametrize("rpc", [V3, V4])
    async def test_state_that_nobody_keeps_and_blocks_to_come(self, asked: Asked, rpc: str) -> None:
        refusal = await refused(asked, rpc, WETH, USDC, "1", block=5)
        assert (type(refusal), refusal.field) == (ArchiveRequired, "blockHeight")
        head = int(await asked.devnet.nodes["ethereum"].call("eth_blockNumber"), 16)
        for block in (head + 1000, 2**53 - 1):
            refusal = await refused(asked, rpc, WETH, USDC, "1", block=block)
            assert (type(refusal), refusal.field) == (NotFound, "blockHeight")


class Silencing:
    """Calls contracts of a real chain; the first time quotes are asked, they fail without data."""

    def __init__(self, inner: CallsContracts, times: int) -> None:
        self._inner = inner
        self._times = times

    async def call_groups(self, groups: Sequence[CallGroup], view: ReadView) -> list[list[ContractOutcome]]:
        found = await self._inner.call_groups(groups, view)
        if self._times and any(call.gas > 60_000 for group in groups for call in group.calls):
            self._times -= 1
            return [
                [
                    ContractOutcome(False, b"") if call.gas > 60_000 and call.data[:4] in SELECTORS else outcome
                    for call, outcome in zip(group.calls, outcomes, strict=True)
                ]
                for group, outcomes in zip(groups, found, strict=True)
            ]
        return found

    async def call_contracts(self, *arguments: Any, **options: Any) -> Any:
        return await self._inner.call_contracts(*arguments, **options)


SELECTORS = {
    encode_call(signature, arguments)[:4]
    for signature, arguments in (
        ("getAmountsOut(uint256,address[])", [1, [WETH]]),
        ("quoteExactInputSingle((address,address,uint256,uint24,uint160))", [(WETH, WETH, 1, 1, 1)]),
        (
            "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))",
            [((WETH, WETH, 1, 1, WETH), True, 1, b"")],
        ),
    )
}


@pytest.mark.parametrize("rpc", QUOTES)
async def test_a_quote_that_fails_without_data_is_asked_again_alone(asked: Asked, rpc: str) -> None:
    await asked.swap(rpc, "ethereum", WETH, USDC, "1")
    capability = Silencing(asked.chains.capability("ethereum", CallsContracts), 1)
    readers = ProtocolReaders(PROTOCOLS, Runner(lambda slug, kind: capability, asked.store, NoPrices()))
    beside = Asked(readers, asked.tally, asked.store, asked.chains, asked.devnet)
    with asked.sends("ethereum"):
        expected = await asked.swap(rpc, "ethereum", WETH, USDC, "2")
    await asked.mine("ethereum")
    with asked.sends("ethereum", "ethereum"):
        assert await beside.swap(rpc, "ethereum", WETH, USDC, "2") == expected


@pytest.mark.parametrize("rpc", QUOTES)
async def test_one_that_fails_for_good_is_no_quote(asked: Asked, rpc: str) -> None:
    capability = Silencing(asked.chains.capability("ethereum", CallsContracts), 9)
    readers = ProtocolReaders(PROTOCOLS, Runner(lambda slug, kind: capability, asked.store, NoPrices()))
    beside = Asked(readers, asked.tally, asked.store, asked.chains, asked.devnet)
    refusal = await refused(beside, rpc, WETH, USDC, "2")
    assert not isinstance(refusal, InvalidArgument | NotFound)
    assert isinstance(refusal, Reverted) or refusal.retry_after_ms
