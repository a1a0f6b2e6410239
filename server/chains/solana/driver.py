"""The Solana driver: every capability of the chain, on one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import block_pb2, transaction_pb2

from server.chains.capabilities import ReadsMints
from server.chains.holdings import is_accepted
from server.chains.memory import Codec
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.passthrough import PassThrough, allow_list
from server.chains.solana.accounts import AccountReader, ProgramReader
from server.chains.solana.answers import NEWEST_CALL
from server.chains.solana.blocks import BlockReader
from server.chains.solana.holdings import HoldingReader
from server.chains.solana.layouts import parse_key, parse_signature
from server.errors import NotSupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waypost.v1 import token_pb2

    from server.chains.capabilities import Balance, Health, State
    from server.chains.facts import ChainFacts
    from server.chains.holdings import Holdings, KnownAsset
    from server.chains.memory import ChainMemory
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_BLOCK = Codec(block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_TRANSACTION = Codec(transaction_pb2.Transaction.SerializeToString, transaction_pb2.Transaction.FromString)
# Wider than any slot that the reader lets through, and signed: refusing numbers is the reader's part.
_SLOT_BYTES = 32


class SolanaDriver:
    """Reads Solana. Blocks and transactions are remembered, for good once their slot is finalized; state is not."""

    def __init__(self, facts: ChainFacts, pool: Pool, memory: ChainMemory) -> None:
        self.pool = pool
        self.memory = memory
        self._heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL, pace="getHealth"))
        self._accounts = AccountReader(facts, pool)
        self.capabilities: Mapping[object, object] = {ReadsMints: self._accounts}
        self._holdings = HoldingReader(facts, pool)
        self._blocks = BlockReader(facts, pool)
        self._passthrough = PassThrough(pool, allow_list("solana"))
        self._programs = ProgramReader(pool)

    async def read_health(self) -> Health:
        """See `ReadsHealth`."""
        return await self._heads.read_health()

    def last_state(self) -> State | None:
        """See `ReadsHealth`."""
        return self._heads.last_state()

    async def read_height(self, view: ReadView) -> int:
        """See `ReadsHeads`; the newest slot."""
        return await self._heads.read_height(view)

    def block_hash(self, text: str) -> str:
        """See `ReadsBlocks`; NotSupported, because no node finds blocks by hash."""
        raise NotSupported("Solana nodes do not find blocks by hash; ask for the slot", field="hash")

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`; the number is a slot."""
        return await self.memory.read_document(
            view,
            "block",
            number.to_bytes(_SLOT_BYTES, signed=True),
            _BLOCK,
            lambda: self._blocks.read_block_by_number(number, view),
            lambda block: int(block.solana.number),
        )

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`; NotSupported, as `block_hash`."""
        raise NotSupported("Solana nodes do not find blocks by hash; ask for the slot", field="hash")

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """See `ReadsBalances`."""
        return await self._accounts.read_balance(address, view)

    async def read_token_balance(self, address: str, token: str, view: ReadView) -> Balance:
        """See `ReadsTokenBalances`."""
        return await self._accounts.read_token_balance(address, token, view)

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """See `ReadsPrograms`."""
        return await self._programs.read_program_size(address, view)

    def check_holder(self, address: str) -> str:
        """See `ReadsHoldings`."""
        return str(parse_key(address, "address"))

    def is_holder(self, address: str) -> bool:
        """See `ReadsHoldings`."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """See `ReadsHoldings`."""
        return await self._holdings.read_holdings(address, assets, view)

    async def read_token_metadata(self, address: str, view: ReadView) -> token_pb2.GetTokenMetadataResponse:
        """See `ReadsTokenMetadata`."""
        return await self._accounts.read_metadata(address, view)

    def transaction_hash(self, text: str) -> str:
        """See `ReadsTransactions`; the first signature."""
        return str(parse_signature(text, "hash"))

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """See `ReadsTransactions`."""
        return await self.memory.read_document(
            view,
            "transaction",
            self.transaction_hash(text).encode(),
            _TRANSACTION,
            lambda: self._blocks.read_transaction(text, view),
            lambda transaction: int(transaction.solana.block_number),
        )

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """See `PassesCalls`."""
        return await self._passthrough.pass_call(method, params, view)

    async def close(self) -> None:
        """Give up everything in flight."""
        await self.memory.close()
        await self.pool.close()
