"""The lend-c markets of the local chains have the ids of the real ones and hold what known_lending_c.py sets up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.lending_c import market_parameters, oracle_price
from devnet.evm.treasury import token_of
from devnet.known_lending_c import LEND_C, MORPHO, RATE_MODEL
from tests.e2e.devnet_reads import call_raw, read

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
MARKETS = [(slug, place) for slug, markets in LEND_C.items() for place in range(len(markets))]


async def answers(node: Node, to: str, signature: str, arguments: list[object], *types: str) -> Any:
    """The decoded answer of several values."""
    return decode(types, await call_raw(node, to, encode_call(signature, arguments)))


@pytest.mark.parametrize(("slug", "place"), MARKETS)
async def test_a_market_has_its_id_and_positions(full_devnet: Devnet, slug: str, place: int) -> None:
    node, market = full_devnet.nodes[slug], LEND_C[slug][place]
    key = bytes.fromhex(market.market_id[2:])
    parameters = market_parameters(node.chain, market)
    types = ["address", "address", "address", "address", "uint256"]
    assert keccak(encode(types, parameters)) == key
    stored = await answers(node, MORPHO, "idToMarketParams(bytes32)", [key], *types)
    assert stored == (*[address.lower() for address in parameters[:4]], market.lltv)
    assert await read(node, market.oracle, "price()", [], "uint256") == oracle_price(node.chain, market)

    supplied, supply_shares, borrowed, borrow_shares, touched, fee = await answers(
        node, MORPHO, "market(bytes32)", [key], *["uint128"] * 6
    )
    loan, collateral = token_of(node.chain, market.loan), token_of(node.chain, market.collateral)
    assert fee == market.fee
    assert touched > 0
    assert borrowed >= known.units(loan, market.owed)
    assert 2 * borrowed > supplied  # so that interest matters

    asked = [key, known.VITALIK]
    shares, owed_shares, held = await answers(
        node, MORPHO, "position(bytes32,address)", asked, "uint256", "uint128", "uint128"
    )
    assert (owed_shares, held) == (0, 0)
    assert shares * supplied // supply_shares == pytest.approx(known.units(loan, market.supplied), rel=1e-6)
    shares, owed_shares, held = await answers(
        node, MORPHO, "position(bytes32,address)", [key, known.ALICE], "uint256", "uint128", "uint128"
    )
    assert (shares, held) == (0, known.units(collateral, market.collateral_held))
    assert owed_shares * borrowed // borrow_shares == pytest.approx(known.units(loan, market.owed), rel=1e-6)


@pytest.mark.parametrize("slug", LEND_C)
async def test_the_rate_model_answers_for_every_market(full_devnet: Devnet, slug: str) -> None:
    node = full_devnet.nodes[slug]
    for market in LEND_C[slug]:
        key = bytes.fromhex(market.market_id[2:])
        state = await answers(node, MORPHO, "market(bytes32)", [key], *["uint128"] * 6)
        market_type, state_type = "(address,address,address,address,uint256)", f"({','.join(['uint128'] * 6)})"
        signature = f"borrowRateView({market_type},{state_type})"
        rate = await read(node, RATE_MODEL[slug], signature, [market_parameters(node.chain, market), state], "uint256")
        assert 10**18 // 1_000 < rate * 31_536_000 < 2 * 10**18
        assert await read(node, RATE_MODEL[slug], "rateAtTarget(bytes32)", [key], "int256") > 0
    assert await read(node, RATE_MODEL[slug], "MORPHO()", [], "address") == MORPHO.lower()
