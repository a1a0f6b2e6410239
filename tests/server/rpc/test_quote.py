"""Swap quotes through the gateway: on every chain that the contract lists, and what the answers name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet.known_exchanges import PRICES
from server.chains.facts import load_facts
from tests.server.rpc.conftest import OPERATIONS

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

QUOTES = ("getDexAV2Quote", "getDexAV3Quote", "getDexAV4Quote")
LISTED = [(name, chain) for name in QUOTES for chain in sorted(OPERATIONS[name].chains)]
NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"


def test_the_contract_lists_these() -> None:
    assert [len(OPERATIONS[name].chains) for name in QUOTES] == [1, 7, 7]


@pytest.mark.parametrize(("name", "chain"), LISTED)
async def test_on_every_chain_of_the_contract(client: Client, full_devnet: Devnet, name: str, chain: str) -> None:
    node = full_devnet.nodes[chain]
    dollar, wrapped = node.chain.token("USDC"), node.chain.wrapped_native.address
    price = float(PRICES[load_facts()[chain].native.symbol])
    for sell, buy in ((NATIVE, dollar.address), (dollar.address, wrapped)):
        fields = {"chain": chain, "tokenIn": sell, "tokenOut": buy, "amount": "1"}
        quote = await client.ask(name, **fields)
        assert (quote.chain, quote.token_in, quote.token_out, quote.amount_in) == (chain, sell, buy, "1")
        # Pools are set up at these prices; a fee of 0.3 percent, and what one dollar or coin moves.
        fair = price if sell == NATIVE else 1 / price
        assert 0.99 * fair < float(quote.amount_out) < fair
        decimals = dollar.decimals if buy == dollar.address else 18
        assert int(quote.amount_out_raw) == pytest.approx(float(quote.amount_out) * 10**decimals)
        assert quote.block_height > 0


async def test_history_over_the_gateway(client: Client, full_devnet: Devnet) -> None:
    node = full_devnet.nodes["base"]
    head = int(await node.call("eth_blockNumber"), 16)
    fields = {"chain": "base", "tokenIn": NATIVE, "tokenOut": node.chain.token("USDC").address, "amount": "1"}
    for name in QUOTES[1:]:
        older = await client.ask(name, **fields, blockHeight=head - 2)
        assert older.block_height == head - 2
        assert older.amount_out == (await client.ask(name, **fields)).amount_out
