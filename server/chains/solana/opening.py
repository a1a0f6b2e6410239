"""Opens the Solana driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.memory import ChainMemory
from server.chains.solana.answers import read_slot
from server.chains.solana.driver import SolanaDriver
from server.chains.solana.heads import SLOT
from server.chains.solana.node_errors import SolanaErrors
from server.chains.sound_answers import read_sound
from server.upstream import HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.observer import Observer
    from server.upstream.transport import Session

_ERRORS = SolanaErrors()


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

    `is_local` changes nothing here: a node judges itself whether it keeps pace. With `hedge` slow reads are asked of a
    second endpoint as well.
    """
    pool = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "jsonrpc"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("getGenesisHash", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery(*SLOT, read_slot),
        observer=observer,
        hedge=hedge,
    )

    async def ask_finalized() -> int:
        slot, _ = await read_sound(pool, "getSlot", [{"commitment": "finalized"}], read_slot, deadline=None)
        return slot

    memory = ChainMemory(facts.slug, cache, pool.heads, block_time=facts.block_time, ask_finalized=ask_finalized)
    pool.on_distrust(memory.forget)
    return SolanaDriver(facts, pool, memory)


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `getGenesisHash` so is of another chain, None if it is of this one."""
    try:
        genesis = msgspec.json.decode(result, type=str)
    except (msgspec.MsgspecError, RecursionError):
        return "does not tell its genesis hash"
    return None if genesis == facts.genesis else f"serves genesis {genesis[:64]} instead of {facts.genesis}"
