"""A local node set back to what it was before."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node


@asynccontextmanager
async def rewound(node: Node) -> AsyncIterator[Node]:
    """Set the node back at the end; reverting forgets the base fee that the local chains pin for their next block."""
    before = await node.call("evm_snapshot")
    try:
        yield node
    finally:
        assert await node.call("evm_revert", before)
        await node.call("anvil_setNextBlockBaseFeePerGas", hex(node.chain.base_fee))
