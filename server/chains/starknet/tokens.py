"""Fungible tokens, the native one among them: Starknet has no balance of its own, STRK is a contract as every token is.

A call does not tell the block that it ran at. So at `latest` it travels between two looks at the block number, all in
one request to one node; if both looks agree, that is its block, else it runs again, pinned to the second.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from server.chains.newest import Told, read_newest
from server.chains.starknet.answers import felts_of, number_of
from server.chains.starknet.node_errors import ContractMissing, EntryPointMissing
from server.errors import ArchiveRequired, GatewayError, NotAToken, NotFound
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.view import ReadView
    from server.upstream.policy import Reply
    from server.upstream.pool import Pool

# Selectors: the low 250 bits of Keccak-256 of the name. Cairo 0 contracts are written in camelCase, Cairo 1 contracts
# in snake_case; newer ones often have both.
BALANCE_OF = "0x2e4263afad30923c891518314c3c95dbe830a16874e8abc5777a9a20b54c76e"
BALANCE_OF_SNAKE = "0x35a73cd311a05d46deda634c5ee045db92f811b4e74bca4437fcb5302b7af33"
DECIMALS = "0x4c4fb1ab068f6039d5780c68dd0fa2f8742cceb3426d19667778ca7f3518a9"

_HALF = 1 << 128
_MOST_DECIMALS = 255
_REMEMBERED = 4096


class Amount(NamedTuple):
    """An amount in the smallest unit, and the decimals to show it by."""

    raw: int
    decimals: int


class _Habits(NamedTuple):
    """What is known of a token: the entry point that it answers, and its decimals."""

    selector: str
    decimals: int


class TokenReader:
    """Reads balances on one chain. Addresses are normalised; decimals are remembered, for tokens do not change them."""

    def __init__(self, slug: str, pool: Pool, native: str, native_decimals: int) -> None:
        self._slug = slug
        self._pool = pool
        self._habits: OrderedDict[str, _Habits] = OrderedDict()
        self._native = (native, _Habits(BALANCE_OF, native_decimals))

    async def read(self, token: str, owner: str, view: ReadView) -> Amount:
        """Return how much of the token the owner holds; settles the view on the block of the answer.

        Raises:
            NotAToken: no contract at the address, or none that tells balances and decimals.
            NotFound: the block that the caller chose does not exist yet (field `blockHeight`).
            ArchiveRequired: it exists, but no configured node has its state (field `blockHeight`).
        """
        try:
            return await self._read(token, owner, view)
        except ContractMissing:
            raise NotAToken(f"there is no contract at {token} on {self._slug}", field="token") from None
        except NotFound as error:
            raise await self._explain(error, view) from None

    async def _read(self, token: str, owner: str, view: ReadView) -> Amount:
        habits = self._native[1] if token == self._native[0] else self._habits.get(token)
        if habits is not None:
            try:
                [balance] = await self._call([(token, habits.selector, [owner])], view)
                return Amount(self._amount(token, balance), habits.decimals)
            except EntryPointMissing:
                # The contract was upgraded, or the block is older than its upgrade.
                self._habits.pop(token, None)
        for selector in (BALANCE_OF, BALANCE_OF_SNAKE):
            try:
                balance, decimals = await self._call([(token, selector, [owner]), (token, DECIMALS, [])], view)
            except EntryPointMissing:
                continue
            found = Amount(self._amount(token, balance), self._decimals(token, decimals))
            self._habits[token] = _Habits(selector, found.decimals)
            if len(self._habits) > _REMEMBERED:
                self._habits.popitem(last=False)
            return found
        raise self._no_token(token)

    async def _call(self, calls: Sequence[tuple[str, str, Sequence[str]]], view: ReadView) -> list[list[int]]:
        """Return what calls (contract, selector, call data) return, all at one block."""
        return await (self._at_latest(calls, view) if view.block is None else self._pinned(calls, view))

    async def _at_latest(self, calls: Sequence[tuple[str, str, Sequence[str]]], view: ReadView) -> list[list[int]]:
        look: tuple[str, list[object]] = ("starknet_blockNumber", [])
        asked = [look, *(_request(call, "latest") for call in calls), look]

        async def read(avoid: frozenset[str]) -> Told[tuple[int, list[Reply]]]:
            policy = CallPolicy(prefer=view.endpoint, avoid=avoid)
            first, *answers, second = await self._pool.call_together(asked, policy, deadline=view.deadline)
            return Told((number_of(first), answers), second.endpoint, number_of(second))

        told = await read_newest(self._pool, read)
        before, answers = told.answer
        view.settle(told.block, told.endpoint)
        if before == told.block == view.block:
            return [felts_of(answer) for answer in answers]
        return await self._pinned(calls, view)

    async def _pinned(self, calls: Sequence[tuple[str, str, Sequence[str]]], view: ReadView) -> list[list[int]]:
        asked = [_request(call, {"block_number": view.block}) for call in calls]
        answers: Sequence[Reply]
        answers = await self._pool.call_together(asked, _policy(view), deadline=view.deadline)
        return [felts_of(answer) for answer in answers]

    def _amount(self, token: str, felts: list[int]) -> int:
        """Return an amount of two felts (u256, low half first), or of the one felt of old tokens."""
        if len(felts) == 1:
            return felts[0]
        if len(felts) != 2 or max(felts) >= _HALF:
            raise self._no_token(token)
        return felts[0] + felts[1] * _HALF

    def _decimals(self, token: str, felts: list[int]) -> int:
        if len(felts) != 1 or felts[0] > _MOST_DECIMALS:
            raise self._no_token(token)
        return felts[0]

    def _no_token(self, token: str) -> NotAToken:
        return NotAToken(f"the contract {token} on {self._slug} does not tell balances as a token does", field="token")

    async def _explain(self, error: NotFound, view: ReadView) -> GatewayError:
        """Tell a block that does not exist yet from one that the nodes have forgotten: both say "Block not found"."""
        if view.block is None or not view.is_chosen:
            return error
        try:
            head = number_of(await self._pool.call("starknet_blockNumber", [], deadline=view.deadline))
        except GatewayError:
            return error
        if view.block > head:
            message = f"block {view.block} of {self._slug} does not exist yet: the newest block is {head}"
            return NotFound(message, field="blockHeight", metadata={"head": str(head)})
        message = "no configured node has the state of that block: ask for a newer one, or configure an archive node"
        return ArchiveRequired(message, field="blockHeight")


def _request(call: tuple[str, str, Sequence[str]], block_id: object) -> tuple[str, list[object]]:
    contract, selector, calldata = call
    request = {"contract_address": contract, "entry_point_selector": selector, "calldata": list(calldata)}
    return "starknet_call", [request, block_id]


def _policy(view: ReadView) -> CallPolicy:
    return CallPolicy(min_block=view.block, prefer=view.endpoint)
