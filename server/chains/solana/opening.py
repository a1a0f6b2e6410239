"""Opens the Solana driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.memory import ChainMemory
from server.chains.shared.error_rules import ErrorRules
from server.chains.solana.answers import COMMITMENT, SLOT, Count, read_slot
from server.chains.solana.driver import SolanaDriver
from server.chains.sound_answers import read_sound
from server.upstream import Ask, Header, HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.observer import Observer
    from server.upstream.transport import Session

_ERRORS = ErrorRules("solana")


def open_driver(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    http: Session,
    observer: Observer | None,
    cache: Cache | None,
    *,
    is_local: bool,
    hedge: bool = False,
) -> SolanaDriver:
    """Return a driver on the endpoints of kind `jsonrpc`; each proves its genesis hash before it is used.

    With `is_local` a jump to a far higher slot is believed without a proof; a node judges itself whether it keeps pace.
    With `hedge` slow reads are asked of a second endpoint as well.
    """
    pool = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "jsonrpc"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("getGenesisHash", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery(*SLOT, read_slot, header=_read_header),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )

    async def ask_finalized() -> int:
        slot, _ = await read_sound(pool, "getSlot", [{"commitment": "finalized"}], read_slot, deadline=None)
        return slot

    memory = ChainMemory(facts.slug, cache, pool.heads, block_time=facts.block_time, ask_finalized=ask_finalized)
    pool.on_distrust(memory.forget)
    return SolanaDriver(facts, pool, memory)


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
        return "does not tell its genesis hash"
    return None if genesis == facts.genesis else f"serves genesis {genesis[:64]} instead of {facts.genesis}"
