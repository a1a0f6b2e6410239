"""The Starknet family's driver: every capability of a Starknet chain, on one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.capabilities import Balance
from server.chains.holdings import is_accepted
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.passthrough import PassThrough, allow_list
from server.chains.starknet.answers import NEWEST_CALL, parse_address
from server.chains.starknet.blocks import BlockReader, TransactionReader
from server.chains.starknet.remembered import Remembered
from server.chains.starknet.tokens import HoldingReader, TokenReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waypost.v1 import block_pb2, transaction_pb2

    from server.chains.capabilities import Health, State
    from server.chains.facts import ChainFacts
    from server.chains.holdings import Holdings, KnownAsset
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


_EVM_LENGTH = 42


class StarknetDriver:
    """Reads one Starknet chain. `judges_age` is False where blocks are made only when told to (local nodes).

    Answers repeat addresses as the caller wrote them (contract section 2.3: no casing is the right one).
    """

    def __init__(self, facts: ChainFacts, pool: Pool, memory: ChainMemory, *, judges_age: bool = True) -> None:
        self.capabilities: Mapping[object, object] = {}
        if facts.native.address is None:
            raise ValueError(f"chains.toml names no contract of the native coin of {facts.slug}")
        self.pool = pool
        self.memory = memory
        self._native = parse_address(facts.native.address, "native")
        self._heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL), judges_age=judges_age)
        self._transactions = TransactionReader(facts, pool)
        self._remembered = Remembered(
            TokenReader(facts.slug, pool, self._native, facts.native.decimals),
            BlockReader(facts.slug, pool),
            self._transactions,
            memory,
        )
        self._holdings = HoldingReader(facts, self._native, self._remembered, pool)
        self._passthrough = PassThrough(pool, allow_list("starknet"))

    async def read_health(self) -> Health:
        """See `ReadsHealth`."""
        return await self._heads.read_health()

    def last_state(self) -> State | None:
        """See `ReadsHealth`."""
        return self._heads.last_state()

    async def read_height(self, view: ReadView) -> int:
        """See `ReadsHeads`."""
        return await self._heads.read_height(view)

    async def read_block_transactions(self, number: int, view: ReadView) -> block_pb2.GetBlockTransactionsResponse:
        """See `ReadsBlockTransactions`."""
        return await self._remembered.read_block_transactions(number, view)

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """See `ReadsBalances`: the balance of the STRK contract."""
        owner = parse_address(address, "address")
        amount = await self._remembered.read_amount(self._native, owner, view)
        return Balance(address, view.block or 0, amount.raw, amount.decimals)

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """See `ReadsTokenBalances`; NotAToken where the address answers no balance."""
        owner, contract = parse_address(address, "address"), parse_address(token, "token")
        amount = await self._remembered.read_amount(contract, owner, view)
        return Balance(address, view.block or 0, amount.raw, amount.decimals, token)

    def check_holder(self, address: str) -> str:
        """See `ReadsHoldings`; the caller's own writing."""
        parse_address(address, "address")
        return address

    def is_holder(self, address: str) -> bool:
        """See `ReadsHoldings`; every EVM address is a felt too, and as an account of Starknet a wild guess."""
        return len(address) > _EVM_LENGTH and is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """See `ReadsHoldings`."""
        return await self._holdings.read_holdings(address, assets, view)

    def transaction_hash(self, text: str) -> str:
        """See `ReadsTransactions`."""
        return self._transactions.transaction_hash(text)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `ReadsTransactions`."""
        return await self._remembered.read_transaction(self.transaction_hash(text), view)

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """See `ReadsReceipts`."""
        return await self._remembered.read_receipt(self.transaction_hash(text), view)

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """See `PassesCalls`."""
        return await self._passthrough.pass_call(method, params, view)

    async def close(self) -> None:
        """Give up everything in flight."""
        await self.memory.close()
        await self.pool.close()
