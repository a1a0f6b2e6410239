"""Opens the Cosmos family's drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from server.chains.cosmos.answers import LATEST, Height, SdkVersion, parse_chain, parse_head, timestamp_of
from server.chains.cosmos.driver import CosmosDriver
from server.chains.cosmos.nodes import CosmosNodes
from server.chains.cosmos.swapped import CosmosCometPool, CosmosRestPool, explain_swapped
from server.chains.memory import ChainMemory
from server.chains.shared.error_rules import ErrorRules
from server.chains.sound_answers import read_sound
from server.upstream import Ask, Header, HeadQuery, IdentityCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.observer import Observer
    from server.upstream.transport import Session

_ERRORS = ErrorRules("cosmos")
_BLOCKS = "/cosmos/base/tendermint/v1beta1/blocks/"
_NODE_INFO = "/cosmos/base/tendermint/v1beta1/node_info"


class _Network(msgspec.Struct):
    network: str


class _Sync(msgspec.Struct):
    latest_block_height: Height
    latest_block_time: str


class _Status(msgspec.Struct):
    sync_info: _Sync


def open_driver(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    http: Session,
    observer: Observer | None,
    cache: Cache | None,
    *,
    is_local: bool,
    hedge: bool = False,
) -> CosmosDriver:
    """Return a driver on the endpoints of kinds `rest` and `comet`; each proves its chain id before it is used.

    With `is_local` the age of a head says nothing, because local nodes make blocks only while somebody asks. With
    `hedge` slow reads are asked of a second endpoint as well.
    """
    version = SdkVersion()

    def judge(result: bytes) -> str | None:
        version.learn(result)
        return _wrong_chain(facts, result)

    rest = CosmosRestPool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "rest"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck(_NODE_INFO, [], judge),
        head=HeadQuery(
            LATEST,
            [],
            lambda result: parse_head(result).height,
            judge=lambda result: _wrong_block(facts, result),
            made_at=lambda result: parse_head(result).made_at,
            header=_read_rest_header,
        ),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )
    comet = CosmosCometPool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "comet"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("status", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery(
            "status",
            [],
            lambda result: int(_read_status(result).latest_block_height),
            judge=lambda result: _wrong_chain(facts, result),
            made_at=lambda result: timestamp_of(_read_status(result).latest_block_time).seconds,
            header=_read_comet_header,
        ),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )

    async def ask_final() -> int:
        # A block is final once it is made.
        head, _ = await read_sound(rest, LATEST, [], parse_head, deadline=None)
        return head.height

    memory = ChainMemory(facts.slug, cache, rest.heads, block_time=facts.block_time, ask_finalized=ask_final)
    for pool in (rest, comet):
        pool.on_distrust(memory.forget)
    return CosmosDriver(CosmosNodes(facts, rest, comet, version), memory, judges_age=not is_local)


def _read_status(result: bytes) -> _Sync:
    try:
        return msgspec.json.decode(result, type=_Status).sync_info
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a status") from None


class _Id(msgspec.Struct):
    hash: str


class _Header(msgspec.Struct):
    height: Height
    time: str
    last_block_id: _Id | None = None


class _Block(msgspec.Struct):
    header: _Header


class _Whole(msgspec.Struct):
    block_id: _Id
    block: _Block


async def _read_rest_header(ask: Ask, height: int) -> Header:
    """Return the header of a block over REST; ValueError where the node has none."""
    return _header_of(await ask(_BLOCKS + str(height), []))


async def _read_comet_header(ask: Ask, height: int) -> Header:
    """Return the header of a block over RPC; ValueError where the node has none."""
    named: Any = {"height": str(height)}
    return _header_of(await ask("block", named))


def _header_of(result: bytes) -> Header:
    try:
        whole = msgspec.json.decode(result, type=_Whole)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None
    header = whole.block.header
    height, parent = int(header.height), "" if header.last_block_id is None else header.last_block_id.hash
    return Header(height, whole.block_id.hash, timestamp_of(header.time).seconds, height - 1, parent)


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that describes itself so is of another chain, or of another kind, None if it is right."""
    if (swapped := explain_swapped(result)) is not None:
        return swapped
    try:
        found = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
        shape = found.get("default_node_info") or found["node_info"]
        network = msgspec.json.decode(shape, type=_Network).network
    except (msgspec.MsgspecError, KeyError):
        return "does not tell its chain id"
    return _wrong_network(facts, network)


def _wrong_block(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered its newest block so is of another chain, None if it is of this one."""
    try:
        return _wrong_network(facts, parse_chain(result))
    except ValueError:
        return None


def _wrong_network(facts: ChainFacts, network: str) -> str | None:
    # A stranger's text: only what can be a chain id is repeated.
    told = network if len(network) <= 48 and network.replace("-", "").isalnum() else "another chain"
    return None if network == facts.chain_id else f"serves {told} instead of {facts.chain_id}"
