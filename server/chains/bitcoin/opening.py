"""Opens the Bitcoin driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.bitcoin.answers import NEWEST, TIP, parse_newest, read_hash, read_height
from server.chains.bitcoin.driver import BitcoinDriver
from server.chains.shared.error_rules import ErrorRules
from server.upstream import Ask, Header, HeadQuery, IdentityCheck, Pool, RestPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.observer import Observer
    from server.upstream.transport import Session

_CORE_ERRORS = ErrorRules("bitcoin", "core")
_ESPLORA_ERRORS = ErrorRules("bitcoin", "esplora")


def open_driver(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    http: Session,
    observer: Observer | None,
    cache: Cache | None,
    *,
    is_local: bool,
    hedge: bool = False,
) -> BitcoinDriver:
    """Return a driver on the endpoints of kinds `core`, `esplora` and `scan`; each proves its genesis block first.

    With `is_local` the age of a head says nothing, because a local node makes blocks only when told to. With `hedge`
    slow reads are asked of a second endpoint as well.
    """
    verify = IdentityCheck("getblockhash", [0], lambda result: _wrong_genesis(facts, _genesis_of_core(result)))
    core = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "core"],
        _CORE_ERRORS,
        http,
        block_time=facts.block_time,
        verify=verify,
        head=HeadQuery(
            *NEWEST,
            lambda result: parse_newest(result).height,
            made_at=lambda result: parse_newest(result).made_at,
            header=_read_core_header,
        ),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )
    # Nodes of their own kind, and no head asked of them: a scan keeps a node from everything else.
    scan = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "scan"],
        _CORE_ERRORS,
        http,
        block_time=facts.block_time,
        verify=verify,
        observer=observer,
        watched=False,
    )
    esplora = RestPool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "esplora"],
        _ESPLORA_ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("/blocks/0", [], lambda result: _wrong_genesis(facts, _genesis_of_esplora(result))),
        head=HeadQuery(TIP, [], read_height, header=_read_esplora_header),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )
    return BitcoinDriver(facts, core, esplora, scan, cache, judges_age=not is_local)


class _Block(msgspec.Struct):
    id: str
    height: int


class _Dated(_Block):
    timestamp: int
    previousblockhash: str | None = None


class _Header(msgspec.Struct):
    hash: str
    height: int
    time: int
    previousblockhash: str = ""


async def _read_core_header(ask: Ask, height: int) -> Header:
    """Return the header of a block; ValueError where the node has none."""
    block_hash = read_hash(await ask("getblockhash", [height]))
    try:
        header = msgspec.json.decode(await ask("getblockheader", [block_hash]), type=_Header)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a header") from None
    parent = header.previousblockhash.lower()
    return Header(header.height, header.hash.lower(), header.time, header.height - 1, parent)


async def _read_esplora_header(ask: Ask, height: int) -> Header:
    """Return the header of a block, out of the list of ten that begins with it; ValueError where there is none."""
    try:
        blocks = msgspec.json.decode(await ask(f"/blocks/{height}", []), type=list[_Dated])
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a list of blocks") from None
    for block in blocks:
        if block.height == height:
            parent = (block.previousblockhash or "").lower()
            return Header(height, block.id.lower(), block.timestamp, height - 1, parent)
    raise ValueError("no such block")


def _genesis_of_core(result: bytes) -> str | None:
    try:
        return read_hash(result)
    except ValueError:
        return None


def _genesis_of_esplora(result: bytes) -> str | None:
    try:
        blocks = msgspec.json.decode(result, type=list[_Block])
    except (msgspec.MsgspecError, RecursionError):
        return None
    return next((block.id for block in blocks if block.height == 0), None)


def _wrong_genesis(facts: ChainFacts, genesis: str | None) -> str | None:
    """Return why an endpoint whose first block that is belongs to another chain, None if it is of this one."""
    if genesis is None:
        return "does not tell its first block"
    # The chain id is what CAIP-2 takes of the hash: its first 32 digits.
    return None if genesis.startswith(str(facts.chain_id)) else f"serves a chain that begins with {genesis[:32]}"
