"""Blocks that a node takes back: what was kept near the head follows, what is final stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.chains.view import ReadView
from server.errors import NotFound
from server.upstream.cache import CacheContext
from tests.server.chains.shared.conftest import BLOCK_TIME, FINAL_DEPTH

if TYPE_CHECKING:
    from tests.server.chains.shared.conftest import Site

pytestmark = pytest.mark.devnet

STRANGER = "0x00000000000000000000000000000000000000f9"


class Kept:
    """Reads near the head and of final blocks, all of them kept."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.head = self.paid_in = self.final = 0
        self.old_hash = self.receipt = ""

    async def fill(self) -> None:
        node, driver = self.site.node, self.site.driver
        await node.call("anvil_setBalance", STRANGER, "0x0")
        sent = await node.send(STRANGER, value=100)
        self.receipt = sent["transactionHash"]
        self.paid_in, self.old_hash = int(sent["blockNumber"], 16), sent["blockHash"]
        await node.call("anvil_mine", "0x2")
        self.head = await node.height()
        self.final = self.head - FINAL_DEPTH - 5
        assert await self.latest() == await self.pinned() == 100
        await driver.read_receipt(self.receipt, ReadView())
        await self.by_number(self.paid_in)
        await self.by_hash()
        await self.by_number(self.final)
        assert (await driver.read_balance(STRANGER, ReadView(block=self.final))).raw == 0
        await driver.memory.finality.settled()
        await self.by_number(self.final)
        await self.site.asked()

    async def latest(self) -> int:
        return (await self.site.driver.read_balance(STRANGER, ReadView())).raw

    async def pinned(self) -> int:
        return (await self.site.driver.read_balance(STRANGER, ReadView(block=self.paid_in))).raw

    async def by_number(self, number: int, use: CacheContext | None = None) -> str:
        block = await self.site.driver.read_block_by_number(number, ReadView(cache=use))
        return block.evm.hash

    async def by_hash(self) -> str:
        return (await self.site.driver.read_block_by_hash(self.old_hash, ReadView())).evm.hash

    async def assert_final_ones_stay(self) -> None:
        await self.site.asked()
        await self.by_number(self.final)
        await self.site.driver.read_balance(STRANGER, ReadView(block=self.final))
        assert await self.by_hash() == self.old_hash
        assert await self.site.asked() == 0


@pytest.fixture
async def kept(site: Site) -> Kept:
    reads = Kept(site)
    await reads.fill()
    return reads


async def test_after_a_block_time_everything_near_the_head_follows(kept: Kept, site: Site):
    await site.node.call("anvil_reorg", 3, [])
    assert await site.node.height() == kept.head
    site.clock.pass_seconds(BLOCK_TIME)
    assert await kept.latest() == 0
    assert await kept.pinned() == 0
    assert await kept.by_number(kept.paid_in) != kept.old_hash
    with pytest.raises(NotFound):
        await site.driver.read_receipt(kept.receipt, ReadView())
    await kept.assert_final_ones_stay()


async def test_a_hash_that_changed_makes_everything_near_the_head_follow_at_once(kept: Kept, site: Site):
    await site.node.call("anvil_reorg", 3, [])
    assert await kept.latest() == 100
    assert await kept.by_number(kept.paid_in, CacheContext(bypass=True)) != kept.old_hash
    assert await kept.latest() == 0
    assert await kept.pinned() == 0
    with pytest.raises(NotFound):
        await site.driver.read_receipt(kept.receipt, ReadView())
    await kept.assert_final_ones_stay()


async def test_a_node_that_rolls_back_takes_what_was_kept_with_it(kept: Kept, site: Site):
    await site.node.call("anvil_rollback", 3)
    view = ReadView(cache=CacheContext(bypass=True))
    await site.driver.read_balance(STRANGER, view)
    assert view.block == kept.head - 3
    assert await kept.latest() == 0
    await kept.assert_final_ones_stay()
