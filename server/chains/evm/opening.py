"""Opens the EVM family's drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.evm.blocks import FinalizedReader
from server.chains.evm.contents import Contents
from server.chains.evm.driver import EvmDriver
from server.chains.evm.newest import NEWEST, parse_newest
from server.chains.evm.node_errors import EvmErrors
from server.chains.memory import ChainMemory
from server.contracts.quantity import quantity
from server.upstream import Ask, Header, HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.transport import Observer, Session

_ERRORS = EvmErrors()

# What they read is pruned together.
_STATE_METHODS = frozenset(
    {
        "eth_call",
        "eth_estimateGas",
        "eth_getBalance",
        "eth_getCode",
        "eth_getProof",
        "eth_getStorageAt",
        "eth_getTransactionCount",
    }
)


def open_driver(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    http: Session,
    observer: Observer | None,
    cache: Cache | None,
    *,
    is_local: bool,
    hedge: bool = False,
) -> EvmDriver:
    """Return a driver on the endpoints of kind `jsonrpc`; each proves its chain id before it is used.

    With `is_local` the age of a head says nothing, because local nodes make blocks only while somebody asks. With
    `hedge` slow reads are asked of a second endpoint as well.
    """
    contents = Contents(facts)
    pool = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "jsonrpc"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("eth_chainId", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery(
            *NEWEST,
            lambda result: parse_newest(result).number,
            made_at=lambda result: parse_newest(result).made_at,
            header=lambda ask, block: _read_header(ask, block, contents),
        ),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
        state_methods=_STATE_METHODS,
    )
    ask_finalized = FinalizedReader(pool).read if "finalized" in facts.finality else None
    memory = ChainMemory(facts.slug, cache, pool.heads, block_time=facts.block_time, ask_finalized=ask_finalized)
    pool.on_distrust(memory.forget)
    return EvmDriver(facts, pool, memory, judges_age=not is_local)


class _Header(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    timestamp: str


async def _read_header(ask: Ask, block: int, contents: Contents) -> Header:
    """Return the header of a block; ValueError where the node has none."""
    result = await ask("eth_getBlockByNumber", [hex(block), False])
    try:
        header = msgspec.json.decode(result, type=_Header)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None
    number = quantity(header.number)
    parent = header.parent_hash.lower() if number > 0 else ""
    made_at, is_whole = quantity(header.timestamp), contents.fits_block(result)
    return Header(number, header.hash.lower(), made_at, number - 1, parent, is_whole)


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `eth_chainId` so is of another chain, None if it is of this one."""
    try:
        chain_id = quantity(msgspec.json.decode(result, type=str))
    except (msgspec.MsgspecError, ValueError):
        return "does not tell its chain id"
    return None if chain_id == facts.chain_id else f"serves chain id {chain_id} instead of {facts.chain_id}"
