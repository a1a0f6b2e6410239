"""stake-a's tokens stand at their addresses on seven chains, and the wallets hold them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.treasury import token_of
from devnet.known_lending import REBASED_AT, STAKED
from devnet.known_marketplace import STETH
from tests.e2e.devnet_reads import read

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
EIGHTH = 10**18 // 8


async def growth(node: Node) -> Fraction:
    """What the report of block REBASED_AT made of a share, against what it was before."""
    data = to_hex(encode_call("getPooledEthByShares(uint256)", [10**45]))
    last = node.chain.height + REBASED_AT
    worth = [int(await node.call("eth_call", {"to": STETH, "data": data}, hex(last + at)), 16) for at in (-1, 0)]
    assert worth[0] < worth[1]
    return Fraction(worth[1], worth[0])


@pytest.mark.parametrize("slug", STAKED)
async def test_wallets_hold_staked_ether(full_devnet: Devnet, slug: str) -> None:
    node = full_devnet.nodes[slug]
    for (holder, symbol), millionths in STAKED[slug].items():
        token = token_of(node.chain, symbol)
        assert await read(node, token.address, "symbol()", [], "string") == symbol
        held = await read(node, token.address, "balanceOf(address)", [holder], "uint256")
        grown = await growth(node) if symbol == "stETH" else 1
        assert 0 <= known.units(token, millionths) * grown - held < 2  # shares round down


async def test_ethereum_has_both_rates(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    wrapped, plain = token_of(node.chain, "wstETH"), token_of(node.chain, "stETH")
    rate = await read(node, wrapped.address, "stEthPerToken()", [], "uint256")
    inverse = await read(node, wrapped.address, "tokensPerStEth()", [], "uint256")
    assert 10**18 < rate < 2 * 10**18
    assert 0 <= 10**36 - rate * inverse < 2 * 10**18
    shares = await read(node, plain.address, "sharesOf(address)", [known.BOB], "uint256")
    held = await read(node, plain.address, "balanceOf(address)", [known.BOB], "uint256")
    assert 0 <= held - shares * rate // 10**18 < 3
    for token in (wrapped, plain):
        grown = await growth(node) if token is plain else 1
        assert 0 <= EIGHTH * grown - await read(node, token.address, "balanceOf(address)", [known.ALICE], "uint256") < 2
