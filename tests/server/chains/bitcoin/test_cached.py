"""What is asked once and told again, and that `confirmations` follow the head."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known_bitcoin as known
from server.chains.view import ReadView
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.operations import Operations
from tests.server.chains.bitcoin.conftest import endpoints_of, open_chains

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.bitcoin.node import BitcoinNode
    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet


@pytest_asyncio.fixture(loop_scope="session")
async def remembering(moving: BitcoinNode, tally: EndpointTally) -> AsyncIterator[Any]:
    async with open_session() as session:
        chains = open_chains(session, tally, endpoints_of(moving), Cache(1 << 20))
        yield Operations(chains.get("bitcoin"))
        await chains.close()


async def test_the_same_question_is_asked_once(remembering: Any, tally: EndpointTally) -> None:
    first = await remembering.read_block_by_number(known.PAYMENTS, ReadView())
    asked = len(tally.requests)
    assert await remembering.read_block_by_number(known.PAYMENTS, ReadView()) == first
    assert len(tally.requests) == asked
    balances = await asyncio.gather(*(remembering.read_balance(known.P2SH, ReadView()) for _ in range(20)))
    assert {balance.raw for balance in balances} == {known.CONFIRMED[known.P2SH]}
    assert sorted(tally.requests[asked:]) == ["bcoin-core"] + ["bcoin-esplora"] * 3


async def test_confirmations_follow_the_head(remembering: Any, moving: BitcoinNode) -> None:
    async def confirmations() -> int:
        block = await remembering.read_block_by_number(known.PAYMENTS, ReadView())
        count: int = json.loads(block.bitcoin.native.json)["confirmations"]
        return count

    assert await confirmations() == known.HEIGHT - known.PAYMENTS + 1
    await moving.mine(2)
    assert await remembering.read_height(ReadView()) == known.HEIGHT + 2
    assert await confirmations() == known.HEIGHT - known.PAYMENTS + 3
