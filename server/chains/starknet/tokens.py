"""Fungible tokens, the native one among them: Starknet has no balance of its own, STRK is a contract as every token is.

A call does not return the block that it ran at. So at `latest` it travels between two looks at the block number, all in
one request to one node; if both looks agree, that is its block, else it runs again, pinned to the second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.capabilities.accounts import (
    Balance,
    Holding,
    Holdings,
    ReadsBalances,
    ReadsHoldings,
    ReadsTokenBalances,
    is_accepted,
)
from server.chains.shared.cache import CachedState
from server.chains.shared.validated_reads import Doubtful, read_validated, read_validated_together
from server.chains.starknet.answers import (
    NEWEST,
    amount_of,
    decimals_of,
    json_felts,
    json_number,
    parse_address,
    parse_newest,
)
from server.chains.view import BlockAnswer, NewestBlock, read_newest
from server.errors import (
    ArchiveRequired,
    ContractMissing,
    EntryPointMissing,
    GatewayError,
    NotAToken,
    NotFound,
    Reverted,
)
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

    _Call = tuple[str, str, Sequence[str]]
    """Contract, selector and call data."""
    _Kind = Callable[[list[int]], int | None]
    _Read = Callable[[Sequence[bytes]], list[int]]
    from server.chains.capabilities.accounts import KnownAsset
    from server.chains.facts import ChainFacts


# Selectors: the low 250 bits of Keccak-256 of the name. Cairo 0 contracts are written in camelCase, Cairo 1 contracts
# in snake_case; newer ones often have both.
BALANCE_OF = "0x2e4263afad30923c891518314c3c95dbe830a16874e8abc5777a9a20b54c76e"
BALANCE_OF_SNAKE = "0x35a73cd311a05d46deda634c5ee045db92f811b4e74bca4437fcb5302b7af33"
DECIMALS = "0x4c4fb1ab068f6039d5780c68dd0fa2f8742cceb3426d19667778ca7f3518a9"


class Amount(NamedTuple):
    """An amount in the smallest unit, and the decimals to show it by."""

    raw: int
    decimals: int


def _unpack(packed: bytes) -> Amount:
    raw, decimals = msgspec.msgpack.decode(packed, type=tuple[str, int])
    return Amount(int(raw), decimals)


# Amounts go beyond the integers of any packed format.
_AMOUNT = CachedState("balance", lambda amount: msgspec.msgpack.encode((str(amount.raw), amount.decimals)), _unpack)


class _TokenFacts(NamedTuple):
    """The facts of a token: the entry point that it answers, and its decimals."""

    selector: str
    decimals: int


class BalanceReader(ReadsBalances, ReadsTokenBalances):
    """Reads balances of the native coin's contract and of others; answers repeat addresses as the caller wrote them.

    No casing of an address is the right one (contract section 2.3).
    """

    def __init__(self, native: str, tokens: TokenReader) -> None:
        self._native = native
        self._tokens = tokens

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the balance of the STRK contract."""
        owner = parse_address(address, "address")
        amount = await self._tokens.read(self._native, owner, view)
        return Balance(address, view.block or 0, amount.raw, amount.decimals)

    def check_token(self, token: str) -> str:
        """Return the address in lower case without leading zeros; InvalidArgument for what is none."""
        return parse_address(token, "token")

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """Return how much of the token the address holds; NotAToken where the contract answers no balance."""
        owner, contract = parse_address(address, "address"), parse_address(token, "token")
        amount = await self._tokens.read(contract, owner, view)
        return Balance(address, view.block or 0, amount.raw, amount.decimals, token)


class TokenReader:
    """Reads balances on one chain. Addresses are normalised; decimals are cached, for tokens do not change them."""

    def __init__(self, slug: str, pool: Pool, native: str, native_decimals: int, cache: ChainCache) -> None:
        self._slug = slug
        self._pool = pool
        self._cache = cache
        self.facts = cache.facts
        self._token_facts: dict[str, _TokenFacts] = cache.facts("token_facts")
        self._native = (native, _TokenFacts(BALANCE_OF, native_decimals))

    async def read(self, token: str, owner: str, view: ReadView) -> Amount:
        """Return how much of the token the owner holds; settles the view on the block of the answer.

        Raises:
            NotAToken: no contract at the address, or none that returns balances and decimals.
            NotFound: the block that the caller chose does not exist yet (field `blockHeight`).
            ArchiveRequired: it exists, but no configured node has its state (field `blockHeight`).
        """
        return await self._cache.read_state(
            view, _AMOUNT, f"{token} {owner}".encode(), lambda: self._read_explained(token, owner, view)
        )

    async def _read_explained(self, token: str, owner: str, view: ReadView) -> Amount:
        try:
            return await self._read(token, owner, view)
        except ContractMissing:
            raise NotAToken(f"there is no contract at {token} on {self._slug}", field="token") from None
        except NotFound as error:
            raise await self._explain(error, view) from None

    async def _read(self, token: str, owner: str, view: ReadView) -> Amount:
        known = self._native[1] if token == self._native[0] else self._token_facts.get(token)
        if known is not None:
            try:
                [raw] = await self._call([(token, known.selector, [owner])], [amount_of], view)
                return Amount(raw, known.decimals)
            except EntryPointMissing:
                # The contract was upgraded, or the block is older than its upgrade.
                self._token_facts.pop(token, None)
        for selector in (BALANCE_OF, BALANCE_OF_SNAKE):
            try:
                calls = [(token, selector, [owner]), (token, DECIMALS, [])]
                found = Amount(*await self._call(calls, [amount_of, decimals_of], view))
            except EntryPointMissing:
                continue
            self._token_facts[token] = _TokenFacts(selector, found.decimals)
            return found
        raise self._no_token(token)

    async def _call(self, calls: Sequence[_Call], kinds: Sequence[_Kind], view: ReadView) -> list[int]:
        """Return what each kind makes of what its call returns, all at one block.

        NotAToken where a kind makes nothing of it, and no other endpoint answers anything else.
        """

        def read(results: Sequence[bytes]) -> list[int]:
            numbers = []
            for call, kind, result in zip(calls, kinds, results, strict=True):
                number = kind(json_felts(result))
                if number is None:
                    raise Doubtful(self._no_token(call[0]))
                numbers.append(number)
            return numbers

        return await (self._at_latest(calls, read, view) if view.block is None else self._pinned(calls, read, view))

    async def _at_latest(self, calls: Sequence[_Call], read: _Read, view: ReadView) -> list[int]:
        # The first number is compared with the second block's alone: that one's time is looked at.
        asked = [("starknet_blockNumber", []), *(_request(call, "latest") for call in calls), NEWEST]

        def read_all(results: Sequence[bytes]) -> tuple[int, list[int], NewestBlock]:
            first, *answers, second = results
            return json_number(first), read(answers), parse_newest(second)

        async def ask(avoid: frozenset[str]) -> BlockAnswer[tuple[int, list[int]]]:
            policy = CallPolicy(prefer=view.endpoint, avoid=avoid)
            (before, numbers, after), endpoint = await read_validated_together(
                self._pool, asked, read_all, policy, deadline=view.deadline
            )
            return BlockAnswer((before, numbers), endpoint, after.height, after.made_at)

        block_answer = await read_newest(self._pool, ask)
        before, numbers = block_answer.answer
        view.settle(block_answer.block, block_answer.endpoint)
        return numbers if before == block_answer.block == view.block else await self._pinned(calls, read, view)

    async def _pinned(self, calls: Sequence[_Call], read: _Read, view: ReadView) -> list[int]:
        asked = [_request(call, {"block_number": view.block}) for call in calls]
        policy = CallPolicy(min_block=view.block, prefer=view.endpoint)
        numbers, _ = await read_validated_together(self._pool, asked, read, policy, deadline=view.deadline)
        return numbers

    def _no_token(self, token: str) -> NotAToken:
        return NotAToken(
            f"the contract {token} on {self._slug} does not return balances as a token does", field="token"
        )

    async def _explain(self, error: NotFound, view: ReadView) -> GatewayError:
        """Distinguish a block that does not exist yet from one that the nodes pruned: both are "Block not found"."""
        if view.block is None or not view.is_chosen:
            return error
        try:
            head, _ = await read_validated(self._pool, "starknet_blockNumber", [], json_number, deadline=view.deadline)
        except GatewayError:
            return error
        if view.block > head:
            message = f"block {view.block} of {self._slug} does not exist yet: the newest block is {head}"
            return NotFound(message, field="blockHeight", head=head)
        message = "no configured node has the state of that block: ask for a newer one, or configure an archive node"
        return ArchiveRequired(message, field="blockHeight")


def _request(call: _Call, block_id: object) -> tuple[str, list[object]]:
    contract, selector, calldata = call
    request = {"contract_address": contract, "entry_point_selector": selector, "calldata": list(calldata)}
    return "starknet_call", [request, block_id]


_EVM_LENGTH = 42
# Errors of a contract that does not answer a call.
_NO_ANSWER = (EntryPointMissing, NotAToken, Reverted)


class HoldingReader(ReadsHoldings):
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
        """Return the text as written; InvalidArgument for what is no address."""
        parse_address(address, "address")
        return address

    def is_holder(self, address: str) -> bool:
        """Return whether the text is an address of Starknet and not of an EVM chain: each of those is a felt too."""
        return len(address) > _EVM_LENGTH and is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """Return the balances that are not zero, all of one block.

        The first read finds the block, the others are pinned to it and leave together: two requests, three as long as
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
            self._balance(contract, owner, view), self._read_decimals(contract, asset.decimals, view)
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

    async def _read_decimals(self, contract: str, listed: int, view: ReadView) -> int:
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
            number, _ = await read_validated(self._pool, "starknet_call", params, read, policy, deadline=view.deadline)
        except _NO_ANSWER:
            return None
        return number
