"""Opens the Bitcoin driver: pools of nodes, of indexers and of nodes that scan, and every reader on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from server.chains.bitcoin.answers import (
    INDEXED_CALL,
    INDEXED_PROBE,
    NEWEST,
    NEWEST_CALL,
    TIP,
    explain_missing_height,
    parse_newest,
    read_hash,
    read_height,
)
from server.chains.bitcoin.balances import BalanceReader, ScannedBalances, Way
from server.chains.bitcoin.blocks import BlockReader
from server.chains.bitcoin.following import LinkReader
from server.chains.bitcoin.indexed import IndexedBalances
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.error_rules import ErrorRules
from server.chains.shared.factory import ChainFactory, Driver, PoolPlan
from server.chains.shared.passthrough import PassThrough, allow_list
from server.upstream import Ask, Header, HeadQuery, IdentityCheck, RestPool

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
from server.chains.shared.factory import ChainParts

_CORE_ERRORS = ErrorRules("bitcoin", "core")
_ESPLORA_ERRORS = ErrorRules("bitcoin", "esplora")


class BitcoinFactory(ChainFactory):
    """Opens the driver of the chain."""

    def plans(self) -> tuple[PoolPlan, ...]:
        """Return the plans of the kinds `core`, `scan` and `esplora`; each endpoint proves its genesis block first."""
        facts = self.facts
        verify = IdentityCheck("getblockhash", [0], lambda result: _wrong_genesis(facts, _genesis_of_core(result)))
        core = PoolPlan(
            kind="core",
            errors=_CORE_ERRORS,
            verify=verify,
            head=HeadQuery(
                *NEWEST,
                lambda result: parse_newest(result).height,
                made_at=lambda result: parse_newest(result).made_at,
                header=_read_core_header,
            ),
        )
        # Nodes of their own kind, and no head asked of them: a scan keeps a node from everything else.
        scan = PoolPlan(kind="scan", errors=_CORE_ERRORS, verify=verify, is_cached=False)
        esplora = PoolPlan(
            kind="esplora",
            opens=RestPool,
            errors=_ESPLORA_ERRORS,
            verify=IdentityCheck("/blocks/0", [], lambda result: _wrong_genesis(facts, _genesis_of_esplora(result))),
            head=HeadQuery(TIP, [], read_height, header=_read_esplora_header),
        )
        return core, esplora, scan

    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver; balances are of indexers where there are some, else of scans."""
        facts, core, esplora, scan = self.facts, parts.pools["core"], parts.pools["esplora"], parts.pools["scan"]
        # Consensus bounds the times of blocks loosely: hours ahead are no fault.
        heads = HeadReader(
            facts.block_time,
            HeadSource(core, NEWEST_CALL),
            HeadSource(esplora, INDEXED_CALL, INDEXED_PROBE),
            judges_age=parts.judges_age,
            most_ahead=math.inf,
        )
        scans = ScannedBalances(facts, scan)
        ways: list[Way] = [IndexedBalances(facts, core, esplora)] if esplora.labels else []
        balances = BalanceReader(facts, [*ways, scans] if scan.labels else ways, parts.caches["esplora"])
        readers = (
            heads,
            BlockReader(facts, core, parts.caches["core"]),
            LinkReader(core),
            balances,
            PassThrough(
                core, allow_list("bitcoin"), lambda error, view: explain_missing_height(core, None, view, error)
            ),
        )
        return Driver(parts, readers, (scans,))


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
        return "does not report its first block"
    # The chain id is what CAIP-2 takes of the hash: its first 32 digits.
    return None if genesis.startswith(str(facts.chain_id)) else f"serves a chain that begins with {genesis[:32]}"
