"""What an account holds of STRK and of known tokens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from server.chains.capabilities import Holding, Holdings, is_accepted
from server.chains.sound_answers import Doubtful, read_sound
from server.chains.starknet.answers import amount_of, decimals_of, json_felts
from server.chains.starknet.felts import parse_address
from server.chains.starknet.tokens import BALANCE_OF, BALANCE_OF_SNAKE, DECIMALS, TokenReader
from server.errors import ContractMissing, EntryPointMissing, NotAToken, Reverted
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.capabilities import KnownAsset
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_EVM_LENGTH = 42
# What a contract says that does not answer a call.
_NO_ANSWER = (EntryPointMissing, NotAToken, Reverted)


class HoldingReader:
    """Reads the holdings of one chain's accounts.

    Decimals and the writing of `balanceOf` are asked for once, for tokens do not change them.
    """

    def __init__(self, facts: ChainFacts, native: str, tokens: TokenReader, pool: Pool) -> None:
        self._facts = facts
        self._native = native
        self._tokens = tokens
        self._pool = pool
        self._decimals: dict[str, int] = tokens.facts("decimals")
        self._selectors: dict[str, str] = tokens.facts("selector")

    def check_holder(self, address: str) -> str:
        """Return the caller's own writing; InvalidArgument for what is no address."""
        parse_address(address, "address")
        return address

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an address of Starknet and not of an EVM chain: each of those is a felt too."""
        return len(address) > _EVM_LENGTH and is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balances that are not zero, all of one block.

        The first read tells the block, the others are pinned to it and leave together: two requests, three as long as
        there are tokens that are not known to answer `balanceOf`. A contract that answers nothing as a token does is
        unread; where no contract is there is nothing to read.
        """
        owner = parse_address(address, "address")
        coin = await self._tokens.read(self._native, owner, view)
        found = await asyncio.gather(*(self._read(asset, owner, view) for asset in assets))
        unread = tuple(asset.address for asset, row in zip(assets, found, strict=True) if row is None)
        rows = [Holding(None, coin.raw, self._facts.native.decimals), *filter(None, found)]
        return Holdings(address, view.block, tuple(row for row in rows if row.raw), unread)

    async def _read(self, asset: KnownAsset, owner: str, view: ReadView) -> Holding | None:
        contract = parse_address(asset.address, "token")
        raw, decimals = await asyncio.gather(
            self._balance(contract, owner, view), self._told_decimals(contract, asset.decimals, view)
        )
        return None if raw is None else Holding(asset.address, raw, decimals)

    async def _balance(self, contract: str, owner: str, view: ReadView) -> int | None:
        """Return a balance of two felts (u256, low half first) or of one; 0 where no contract is.

        None where one is that answers nothing as a token does.
        """
        known = self._selectors.get(contract)
        for selector in (BALANCE_OF, BALANCE_OF_SNAKE) if known is None else (known,):
            try:
                raw = await self._call(contract, selector, [owner], amount_of, view)
            except ContractMissing:
                return 0
            if raw is not None:
                self._selectors[contract] = selector
                return raw
        self._selectors.pop(contract, None)
        return None

    async def _told_decimals(self, contract: str, listed: int, view: ReadView) -> int:
        if contract not in self._decimals:
            try:
                decimals = await self._call(contract, DECIMALS, [], decimals_of, view)
            except ContractMissing:
                return listed
            if decimals is None:
                return listed
            self._decimals[contract] = decimals
        return self._decimals[contract]

    async def _call(
        self,
        contract: str,
        selector: str,
        calldata: list[str],
        number_of: Callable[[list[int]], int | None],
        view: ReadView,
    ) -> int | None:
        """Return what `number_of` makes of what a call returns at the view's block.

        None where it makes nothing of it, or the contract does not answer the call. Raises ContractMissing where there
        is none.
        """

        def read(result: bytes) -> int:
            number = number_of(json_felts(result))
            if number is None:
                raise Doubtful(NotAToken(f"the contract {contract} does not answer as a token does"))
            return number

        request = {"contract_address": contract, "entry_point_selector": selector, "calldata": calldata}
        policy = CallPolicy(min_block=view.block, prefer=view.endpoint)
        params: list[object] = [request, {"block_number": view.block}]
        try:
            number, _ = await read_sound(self._pool, "starknet_call", params, read, policy, deadline=view.deadline)
        except _NO_ANSWER:
            return None
        return number
