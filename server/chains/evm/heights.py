"""Failed reads at a block of the caller's choice: a block that does not exist yet, or one whose state is gone.

Nodes answer both alike ("header not found", "BlockOutOfRangeError"), so the head decides. Asked only after a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.evm.newest import read_newest_height
from server.errors import ArchiveRequired, GatewayError, InvalidArgument, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import TypeVar

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

    Answer = TypeVar("Answer")

_AMBIGUOUS = (ArchiveRequired, NotFound, InvalidArgument)


class Heights:
    """Judges failures of pinned reads on one chain."""

    def __init__(self, slug: str, pool: Pool) -> None:
        self._slug = slug
        self._pool = pool

    async def explain(self, read: Awaitable[Answer], view: ReadView, field: str = "blockHeight") -> Answer:
        """Return what `read` returns.

        Raises:
            NotFound: the block that the caller chose is beyond the chain's head.
            ArchiveRequired: the block exists, but no configured node has its state.
            GatewayError: any other failure of `read`, unchanged.
        """
        block = view.block
        if block is None:
            return await read
        try:
            return await read
        except _AMBIGUOUS as error:
            raise await self._judge(error, block, field, view.deadline) from None

    async def _judge(self, error: GatewayError, block: int, field: str, deadline: float | None) -> GatewayError:
        if error.field is not None:
            return error
        try:
            head = (await read_newest_height(self._pool, deadline)).block
        except GatewayError:
            return error
        if block > head:
            return NotFound(
                f"block {block} of {self._slug} does not exist yet: the newest block is {head}",
                field=field,
                head=head,
            )
        if isinstance(error, ArchiveRequired):
            return ArchiveRequired(error.message, field=field, oldest_block=error.oldest_block)
        return error
