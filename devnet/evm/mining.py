"""Makes blocks: one every few seconds while the node is asked, one an hour while it is not.

The timer is ours because anvil's own mines on for ever and lets the base fee fall by an eighth with every empty block.
The hourly block is there for the price feeds: the first request after a long pause finds prices of this hour.
"""

import asyncio
import time

import aiohttp

from devnet.evm.activity import Ear
from devnet.evm.node import Node
from devnet.evm.rounds import ROUND_EVERY, round_transaction
from devnet.local_chain import NodeError

PAUSE_AFTER = 20.0  # seconds without a request after which the chain stands still
SLOWS_AT = 300  # blocks after which the time between blocks has doubled
_LOOK_EVERY = 0.25


class Miner:
    """Mines on one node; nothing else may mine on it meanwhile. `mined` counts the blocks since its start."""

    def __init__(self, node: Node) -> None:
        self.mined = 0
        self._node = node
        self._turn = asyncio.Lock()
        self._mined_at = time.monotonic()
        self._reported_at = 0.0  # of the clock on the wall, which goes on while a machine sleeps

    async def mine(self, blocks: int = 1) -> int:
        """Mine empty blocks at the pinned base fee and return the new height. Raises NodeError."""
        await self._mine_alone(blocks)
        return int(await self._node.call("eth_blockNumber"), 16)

    async def move_to_present(self) -> None:
        """Set the chain's clock to the present and mine a block there, with a round of the feeds. Raises NodeError."""
        head = await self._node.call("eth_getBlockByNumber", "latest", False)
        await self._node.call("evm_setTime", max(int(time.time()), int(head["timestamp"], 16) + 1))
        await self.report_prices()

    async def report_prices(self) -> None:
        """Mine a block in which every Chainlink feed of the chain reports its price again. Raises NodeError."""
        self._reported_at = time.time()  # also if it fails: the next try is the next round
        transaction = round_transaction(self._node.chain)
        if transaction is None:
            await self._mine_alone()
            return
        async with self._turn:
            sent = await self._node.call("eth_sendTransaction", transaction)
            await self._mine()
            receipt = await self._node.call("eth_getTransactionReceipt", sent)
        if receipt is None or int(receipt["status"], 16) != 1:
            raise NodeError(f"the price feeds of {self._node.chain.slug} could not report a round")

    async def run(self, ear: Ear) -> None:
        """Mine while the node is asked, and once an hour, until the node has ended."""
        while self._node.pid is not None:
            await asyncio.sleep(_LOOK_EVERY)
            now = time.monotonic()
            due = self._mined_at + paced(self._node.chain.interval, self.mined)
            asked = ear.asked_within(PAUSE_AFTER)
            try:
                if time.time() - self._reported_at >= ROUND_EVERY:
                    await self.report_prices()
                    if not asked:
                        ear.forget()  # what was printed is the round
                elif asked and now >= due:
                    await self._mine_alone()
            except (NodeError, aiohttp.ClientError, TimeoutError, OSError):
                # A test may have stopped the node on purpose; when it comes back, so do the blocks.
                self._mined_at = now

    async def _mine_alone(self, blocks: int = 1) -> None:
        async with self._turn:
            await self._mine(blocks)

    async def _mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            await self._pin_base_fee()
            await self._node.call("evm_mine")
        await self._pin_base_fee()  # for callers that ask what gas costs until the next block
        self._mined_at = time.monotonic()
        self.mined += blocks

    async def _pin_base_fee(self) -> None:
        await self._node.call("anvil_setNextBlockBaseFeePerGas", hex(self._node.chain.base_fee))


def paced(interval: float, mined: int) -> float:
    """Return the time to the next block after so many in this session: the interval at first, five-fold after 600.

    Every readable state of a node repeats the hashes of all blocks before it, so memory grows with the product: about
    100 MB after 600 blocks, 450 MB after 2,400. A day of constant questions comes to some 2,300 blocks at this pace.
    """
    return interval * (1 + (mined / SLOWS_AT) ** 2)
