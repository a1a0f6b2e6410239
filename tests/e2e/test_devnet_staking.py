"""stake-a's tokens stand at their addresses on seven chains, and the wallets hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.treasury import token_of
from devnet.known_lending import STAKED
from tests.e2e.devnet_reads import read

if TYPE_CHECKING:
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
EIGHTH = 10**18 // 8


@pytest.mark.parametrize("slug", STAKED)
async def test_wallets_hold_staked_ether(full_devnet: Devnet, slug: str) -> None:
    node = full_devnet.nodes[slug]
    for (holder, symbol), millionths in STAKED[slug].items():
        token = token_of(node.chain, symbol)
        assert await read(node, token.address, "symbol()", [], "string") == symbol
        held = await read(node, token.address, "balanceOf(address)", [holder], "uint256")
        assert known.units(token, millionths) - held in (0, 1)  # shares round down


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
        assert EIGHTH - await read(node, token.address, "balanceOf(address)", [known.ALICE], "uint256") in (0, 1)
