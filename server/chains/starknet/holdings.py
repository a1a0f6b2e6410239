"""What an account holds of STRK and of known tokens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from server.chains.holdings import Holding, Holdings
from server.chains.starknet.felts import parse_address
from server.errors import NotAToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.facts import ChainFacts
    from server.chains.holdings import KnownAsset
    from server.chains.starknet.remembered import Remembered
    from server.chains.starknet.tokens import Amount
    from server.chains.view import ReadView


class HoldingReader:
    """Reads the holdings of one chain's accounts."""

    def __init__(self, facts: ChainFacts, native: str, remembered: Remembered) -> None:
        self._facts = facts
        self._native = native
        self._remembered = remembered

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balances that are not zero, all of one block.

        The first read tells the block, the others are pinned to it and leave together: two requests.
        """
        owner = parse_address(address, "address")
        coin = await self._remembered.read_amount(self._native, owner, view)
        found = await asyncio.gather(*(self._read(asset, owner, view) for asset in assets))
        rows = [Holding(None, coin.raw, self._facts.native.decimals)]
        for asset, amount in zip(assets, found, strict=True):
            if amount is not None:
                rows.append(Holding(asset.address, amount.raw, amount.decimals))
        return Holdings(address, view.block, tuple(row for row in rows if row.raw))

    async def _read(self, asset: KnownAsset, owner: str, view: ReadView) -> Amount | None:
        try:
            return await self._remembered.read_amount(parse_address(asset.address, "token"), owner, view)
        except NotAToken:
            return None
