"""Makes blocks: one every few seconds while somebody asks the node, none while nobody does.

The timer is ours because anvil's own mines on for ever and lets the base fee fall by an eighth with every empty block.
Whether somebody asks is seen from outside, by the processor time of the node: an idle anvil uses none at all, and one
request takes some 40 microseconds at the least. That costs the node nothing and needs no word from the gateway.
"""

import asyncio
import time
from pathlib import Path

import aiohttp

from devnet.evm.node import Node, NodeError

PAUSE_AFTER = 20.0  # seconds without a request after which the chain stands still
SLOWS_AT = 300  # blocks after which the time between blocks has doubled
_LOOK_EVERY = 0.25
_NOISE = 20_000  # nanoseconds


class Miner:
    """Mines on one node; nothing else may mine on it meanwhile.

    `interval` is the time between blocks while somebody asks, the chain's own by default; both times are in seconds.
    """

    def __init__(self, node: Node, *, interval: float | None = None, pause_after: float = PAUSE_AFTER) -> None:
        self._node = node
        self._interval = node.chain.interval if interval is None else interval
        self._pause_after = pause_after
        self._turn = asyncio.Lock()
        self._mined_at = time.monotonic()
        self._mined = 0

    async def mine(self, blocks: int = 1) -> int:
        """Mine empty blocks at the pinned base fee and return the new height. Raises NodeError."""
        async with self._turn:
            for _ in range(blocks):
                await self._node.call("anvil_setNextBlockBaseFeePerGas", hex(self._node.chain.base_fee))
                await self._node.call("evm_mine")
            self._mined_at = time.monotonic()
            self._mined += blocks
            return int(await self._node.call("eth_blockNumber"), 16)

    async def move_to_present(self) -> int:
        """Set the chain's clock to the present, mine a block there and return the height. Raises NodeError."""
        head = await self._node.call("eth_getBlockByNumber", "latest", False)
        await self._node.call("evm_setTime", max(int(time.time()), int(head["timestamp"], 16) + 1))
        return await self.mine()

    async def run(self) -> None:
        """Mine while somebody asks, until the node has ended."""
        asked_at = time.monotonic()
        used = processor_time(self._node.pid)
        while self._node.pid is not None:
            await asyncio.sleep(_LOOK_EVERY)
            now, uses = time.monotonic(), processor_time(self._node.pid)
            if uses is None or used is None or uses - used > _NOISE:
                asked_at = now
            used = uses
            if now - asked_at < self._pause_after and now - self._mined_at >= paced(self._interval, self._mined):
                try:
                    await self.mine()
                except (NodeError, aiohttp.ClientError, TimeoutError, OSError):
                    # A test may have stopped the node on purpose; when it comes back, so do the blocks.
                    self._mined_at = now
                used = processor_time(self._node.pid)


def paced(interval: float, mined: int) -> float:
    """Return the time to the next block after so many in this session: the interval at first, five-fold after 600.

    Every readable state of a node repeats the hashes of all blocks before it, so memory grows with the product: about
    100 MB after 600 blocks, 450 MB after 2,400. A day of constant questions comes to some 2,300 blocks at this pace.
    """
    return interval * (1 + (mined / SLOWS_AT) ** 2)


def processor_time(pid: int | None) -> int | None:
    """Return the nanoseconds that a process has computed so far, or None where the system does not tell."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
    except (OSError, ValueError, IndexError):
        return None
