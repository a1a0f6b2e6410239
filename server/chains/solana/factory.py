"""Opens the Solana driver: one pool of JSON-RPC endpoints, and every reader on it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.error_rules import ErrorRules
from server.chains.shared.factory import ChainFactory, Driver, FinalizedQuery, PoolPlan
from server.chains.shared.passthrough import PassThrough, allow_list
from server.chains.solana.accounts import AccountReader, ProgramReader
from server.chains.solana.answers import COMMITMENT, NEWEST_CALL, SLOT, Count, read_slot
from server.chains.solana.blocks import BlockReader
from server.chains.solana.following import LinkReader
from server.chains.solana.holdings import HoldingReader
from server.upstream import Ask, Header, HeadQuery, IdentityCheck

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
from server.chains.shared.factory import ChainParts

_ERRORS = ErrorRules("solana")


class SolanaFactory(ChainFactory):
    """Opens the driver of the chain."""

    def plans(self) -> tuple[PoolPlan]:
        """Return the plan of the kind `jsonrpc`; a node reports itself whether it keeps pace."""
        return (
            PoolPlan(
                kind="jsonrpc",
                errors=_ERRORS,
                verify=IdentityCheck("getGenesisHash", [], partial(_wrong_chain, self.facts)),
                head=HeadQuery(*SLOT, read_slot, header=_read_header),
                finalized=FinalizedQuery("getSlot", [{"commitment": "finalized"}], read_slot),
            ),
        )

    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver."""
        facts, pool, cache = self.facts, parts.pools["jsonrpc"], parts.caches["jsonrpc"]
        heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL, pace="getHealth"))
        accounts, blocks = AccountReader(facts, pool, cache), BlockReader(facts, pool, cache)
        readers = (
            heads,
            blocks,
            LinkReader(pool, parts.ask_final["jsonrpc"]),
            accounts,
            HoldingReader(facts, pool, cache),
            ProgramReader(pool),
            PassThrough(pool, allow_list("solana")),
        )
        return Driver(parts, readers)


class _Block(msgspec.Struct, rename="camel"):
    blockhash: str
    previous_blockhash: str
    parent_slot: Count
    block_time: int


_HEADER_ONLY = {"transactionDetails": "none", "rewards": False, "commitment": COMMITMENT}


async def _read_header(ask: Ask, slot: int) -> Header:
    """Return the header of a slot's block; ValueError where the node has none, or does not name its time."""
    try:
        block = msgspec.json.decode(await ask("getBlock", [slot, _HEADER_ONLY]), type=_Block)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None
    return Header(slot, block.blockhash, block.block_time, block.parent_slot, block.previous_blockhash if slot else "")


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `getGenesisHash` so is of another chain, None if it is of this one."""
    try:
        genesis = msgspec.json.decode(result, type=str)
    except (msgspec.MsgspecError, RecursionError):
        return "does not report its genesis hash"
    return None if genesis == facts.genesis else f"serves genesis {genesis[:64]} instead of {facts.genesis}"
