"""The Bitcoin driver: every capability of the chain, on pools of nodes, indexers and nodes that scan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import block_pb2

from server.chains.bitcoin.address import parse_address
from server.chains.bitcoin.answers import INDEXED_CALL, INDEXED_PROBE, NEWEST_CALL, explain_missing_height
from server.chains.bitcoin.balances import BalanceReader, ScannedBalances, Way
from server.chains.bitcoin.blocks import BlockReader
from server.chains.bitcoin.indexed import IndexedBalances
from server.chains.capabilities import Balance
from server.chains.holdings import Holding, Holdings, is_accepted
from server.chains.memory import ChainMemory, Codec
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.passthrough import PassThrough, allow_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.chains.capabilities import Health, State
    from server.chains.facts import ChainFacts
    from server.chains.holdings import KnownAsset
    from server.chains.view import ReadView
    from server.upstream.cache import Cache
    from server.upstream.pool import Pool
    from server.upstream.rest import RestPool

_BLOCK = Codec(block_pb2.Block.SerializeToString, block_pb2.Block.FromString)
_BALANCE = Codec(msgspec.msgpack.encode, msgspec.msgpack.Decoder(Balance).decode)
_HEIGHT_BYTES = 4


class BitcoinDriver:
    """Reads Bitcoin.

    Nothing is remembered for good: a block's `confirmations` count with every new block, so a block is remembered like
    a balance, under the newest block known.
    """

    def __init__(
        self, facts: ChainFacts, core: Pool, esplora: RestPool, scan: Pool, cache: Cache | None, *, judges_age: bool
    ) -> None:
        self.capabilities: Mapping[object, object] = {}
        self.core = core
        self.esplora = esplora
        self.scan = scan
        self._block_memory = ChainMemory(facts.slug, cache, core.heads, block_time=facts.block_time)
        self._balance_memory = ChainMemory(facts.slug, cache, esplora.heads, block_time=facts.block_time)
        for pool in (core, esplora, scan):
            pool.on_distrust(self._block_memory.forget)
            pool.on_distrust(self._balance_memory.forget)
        self._native = facts.native
        indexed = HeadSource(esplora, INDEXED_CALL, INDEXED_PROBE)
        # Consensus bounds the times of blocks loosely: hours ahead are no fault.
        self._heads = HeadReader(
            facts.block_time, HeadSource(core, NEWEST_CALL), indexed, judges_age=judges_age, most_ahead=math.inf
        )
        self._blocks = BlockReader(facts, core)
        self._scans = ScannedBalances(facts, scan)
        ways: list[Way] = [IndexedBalances(facts, core, esplora)] if esplora.labels else []
        self._balances = BalanceReader(facts, [*ways, self._scans] if scan.labels else ways)
        self._passthrough = PassThrough(
            core, allow_list("bitcoin"), lambda error, view: explain_missing_height(core, None, view, error)
        )

    async def read_health(self) -> Health:
        """See `ReadsHealth`."""
        return await self._heads.read_health()

    def last_state(self) -> State | None:
        """See `ReadsHealth`."""
        return self._heads.last_state()

    async def read_height(self, view: ReadView) -> int:
        """See `ReadsHeads`."""
        return await self._heads.read_height(view)

    def block_hash(self, text: str) -> str:
        """See `ReadsBlocks`."""
        return self._blocks.block_hash(text)

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`."""
        body = self._blocks.check_height(number).to_bytes(_HEIGHT_BYTES)
        return await self._block_memory.read_state(
            view, "block", body, _BLOCK, lambda: self._blocks.read_block_by_number(number, view)
        )

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """See `ReadsBlocks`."""
        wanted = self.block_hash(block_hash)
        return await self._block_memory.read_state(
            view, "block-by-hash", wanted.encode(), _BLOCK, lambda: self._blocks.read_block_by_hash(wanted, view)
        )

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """See `ReadsBalances`; the confirmed one."""
        self._balances.check(address, view)
        return await self._balance_memory.read_state(
            view, "balance", address.encode(), _BALANCE, lambda: self._balances.read_balance(address, view)
        )

    def check_holder(self, address: str) -> str:
        """See `ReadsHoldings`."""
        return parse_address(address)

    def is_holder(self, address: str) -> bool:
        """See `ReadsHoldings`."""
        return is_accepted(self.check_holder, address)

    async def read_holdings(self, address: str, assets: Sequence[KnownAsset], view: ReadView) -> Holdings:
        """See `ReadsHoldings`; there is nothing but the own coin."""
        balance = await self.read_balance(address, view)
        rows = (Holding(None, balance.raw, self._native.decimals),) if balance.raw else ()
        return Holdings(balance.address, balance.block, rows)

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """See `PassesCalls`."""
        return await self._passthrough.pass_call(method, params, view)

    async def close(self) -> None:
        """Give up everything in flight."""
        await self._block_memory.close()
        await self._balance_memory.close()
        await self._scans.close()
        await self.core.close()
        await self.esplora.close()
        await self.scan.close()
