"""stake-a's rate on the local chain: the newest report of the oracle, against what a wallet's balance did by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.evm.world import FIRST_TIMESTAMP
from devnet.known_lending import REBASE, REBASED_AT
from devnet.known_marketplace import STETH
from server.apis.documents import DocumentStore
from server.chains.view import ReadView
from server.protocols.lido.yields import YIELDS
from server.protocols.reader import ChainQuestion
from server.protocols.runner import Runner
from server.yields.rebases import NAME, Rebases
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

DAY, YEAR = 86_400, 31_536_000


class NoPrices:
    """Without prices a row has no size."""

    async def read_tokens(self, tokens: Any, *, deadline: Any, cache: Any) -> dict[Any, Any]:
        return {}


class Compared:
    """Asks for the row as the comparison of all pools does."""

    def __init__(self, asked: Asked, clock: list[float]) -> None:
        self.documents = DocumentStore({NAME: Rebases(asked.chains.capability)}, clock=lambda: clock[0])
        self._runner = Runner(asked.chains.capability, asked.store, NoPrices(), self.documents)

    async def row(self) -> Any:
        assert YIELDS.best is not None
        [found] = (await self._runner.answer(YIELDS.best, ChainQuestion("ethereum"), ReadView())).answer
        assert found.symbols == ("stETH", "ETH")
        return found.row


@pytest_asyncio.fixture(loop_scope="session")
async def clock() -> list[float]:
    return [0.0]


@pytest_asyncio.fixture(loop_scope="session")
async def compared(asked: Asked, clock: list[float]) -> AsyncIterator[Compared]:
    one = Compared(asked, clock)
    yield one
    await one.documents.close()


async def test_the_report_of_the_seeded_blocks(compared: Compared, asked: Asked) -> None:
    row = await compared.row()
    assert (row.pool, row.symbol) == (STETH, "stETH")
    assert row.updated_at.seconds == FIRST_TIMESTAMP
    assert not row.HasField("tvl")
    node = asked.devnet.nodes["ethereum"]
    # What 10^18 shares were worth in the block before the report and in its own.
    at = node.chain.height + REBASED_AT
    data = "0x7a28fb88" + f"{10**30:064x}"  # getPooledEthByShares(uint256)
    before, after = [
        int(await node.call("eth_call", {"to": STETH, "data": data}, hex(block)), 16) for block in (at - 1, at)
    ]
    assert row.apy == pytest.approx(((after / before) ** (YEAR / REBASE.elapsed) - 1) * 100, rel=1e-4)
    assert 0.5 < row.apy < 20


async def test_a_new_report_is_what_holders_earned_in_its_time(
    compared: Compared, asked: Asked, clock: list[float]
) -> None:
    node = asked.devnet.nodes["ethereum"]
    old = await compared.row()
    async with rewound(node):
        time = await now(node) + 60
        before = await ask(node, STETH, "balanceOf(address)", known.BOB)
        values = (time - 5, 2 * DAY, 10**18, 10**17)
        await send(node, known.DEVELOPER, STETH, "rebase(uint256,uint256,uint256,uint256)", *values)
        await mine_at(node, time)
        await asked.mine("ethereum")
        after = await ask(node, STETH, "balanceOf(address)", known.BOB)
        assert (await compared.row()).apy == old.apy, "the logs are searched once an hour"
        clock[0] += Rebases.lifetime + 1
        row = await compared.row()
        assert row.updated_at.seconds == time - 5
        assert row.apy == pytest.approx(((after / before) ** (YEAR / (2 * DAY)) - 1) * 100, rel=1e-3)
        assert row.apy > old.apy
        assert row.block_height == int((await node.call("eth_blockNumber")), 16)


async def test_a_loss_is_a_rate_below_zero(compared: Compared, asked: Asked) -> None:
    """More shares are minted than ether is earned: what holders have shrinks."""
    node = asked.devnet.nodes["ethereum"]
    async with rewound(node):
        time = await now(node) + 60
        values = (time, DAY, 10**15, 10**18)
        await send(node, known.DEVELOPER, STETH, "rebase(uint256,uint256,uint256,uint256)", *values)
        await mine_at(node, time)
        assert -100 < (await compared.row()).apy < 0


async def test_exact_requests(compared: Compared, asked: Asked) -> None:
    """The newest block and the log once an hour, the size once a block."""
    with asked.sends(*["ethereum"] * 3):
        await compared.row()
    with asked.sends():
        await compared.row()
    await asked.mine("ethereum")
    with asked.sends("ethereum"):
        await compared.row()
