"""What the blocks of the chain of these tests hold, and how its logs are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.capabilities.logs import BlockRange
from server.chains.view import ReadView

if TYPE_CHECKING:
    from tests.server.chains.evm.nodes import Anvil

ONE, TWO, TOPIC = "0x01", "0x02", "0x" + "77" * 32
FIRST = 20_000_000
# Logs per block, one block each; together 3,300 and one crowded block.
CROWD = [3, 0, 1, 2300, 0, 5, 1, 980, 0, 0, 10]
SMALL_AT = FIRST + len(CROWD) + 302
SMALL = [2, 0, 0, 17, 1, 1, 30, 0, 3, 0, 6]


def window(low: int | str | None, high: int | str | None = "latest", cursor: str | None = None) -> BlockRange:
    texts = [None if bound is None else str(bound) for bound in (low, high)]
    return BlockRange(texts[0], texts[1], cursor)


async def truth(node: Anvil, low: int = FIRST, high: int | None = None, **query: object) -> list[tuple[int, int]]:
    """The places of the node's own logs, newest first."""
    logs = await node.call(
        "eth_getLogs", {"fromBlock": hex(low), "toBlock": "latest" if high is None else hex(high), **query}
    )
    return sorted(((int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs), reverse=True)


async def walk(driver, blocks: BlockRange, address=None, topic0=None) -> tuple[list[tuple[int, int]], list]:
    """Every page from the first to the last: all places, and the pages."""
    pages, places = [], []
    while True:
        page = await driver.read_logs(blocks, address, topic0, ReadView())
        pages.append(page)
        places += [(log.block_number, log.log_index) for log in page.logs]
        assert page.count == len(page.logs) <= page.page_size == 1000
        assert page.has_more == bool(page.next_page_token)
        if not page.has_more:
            return places, pages
        blocks = BlockRange(blocks.from_block, blocks.to_block, page.next_page_token)
        assert len(pages) < 200
