"""Opens the drivers of Cosmos SDK chains: pools of REST gateways and of CometBFT RPCs, and every reader on them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from server.chains.cosmos.accounts import AccountReader
from server.chains.cosmos.answers import LATEST, NEWEST_CALL, Height, SdkVersion, parse_chain, parse_head, timestamp_of
from server.chains.cosmos.bank import BankReader, HoldingReader
from server.chains.cosmos.blocks import BlockReader
from server.chains.cosmos.following import LinkReader
from server.chains.cosmos.nodes import CosmosNodes
from server.chains.cosmos.rest_paths import PathPassage
from server.chains.cosmos.staking import StakingReader
from server.chains.cosmos.swapped import CosmosCometPool, CosmosRestPool, explain_swapped
from server.chains.cosmos.transactions import TransactionReader
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.error_rules import ErrorRules
from server.chains.shared.factory import ChainFactory, Driver, FinalizedQuery, PoolPlan
from server.chains.shared.passthrough import PassThrough, allow_list
from server.upstream import Ask, Header, HeadQuery, IdentityCheck

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
from server.chains.shared.factory import ChainParts

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


class CosmosFactory(ChainFactory):
    """Opens the driver of one chain."""

    def __init__(self, facts: ChainFacts) -> None:
        super().__init__(facts)
        self._version = SdkVersion()

    def plans(self) -> tuple[PoolPlan, ...]:
        """Return the plans of the kinds `rest` and `comet`; each endpoint proves its chain id first."""
        facts = self.facts
        rest = PoolPlan(
            kind="rest",
            opens=CosmosRestPool,
            errors=_ERRORS,
            verify=IdentityCheck(_NODE_INFO, [], self._judge_node),
            head=HeadQuery(
                LATEST,
                [],
                lambda result: parse_head(result).height,
                judge=partial(_wrong_block, facts),
                made_at=lambda result: parse_head(result).made_at,
                header=_read_rest_header,
            ),
            # A block is final once it is made.
            finalized=FinalizedQuery(LATEST, [], lambda result: parse_head(result).height),
        )
        comet = PoolPlan(
            kind="comet",
            opens=CosmosCometPool,
            errors=_ERRORS,
            verify=IdentityCheck("status", [], partial(_wrong_chain, facts)),
            head=HeadQuery(
                "status",
                [],
                lambda result: int(_read_status(result).latest_block_height),
                judge=partial(_wrong_chain, facts),
                made_at=lambda result: timestamp_of(_read_status(result).latest_block_time).seconds,
                header=_read_comet_header,
            ),
            is_cached=False,
        )
        return rest, comet

    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver."""
        comet, cache = parts.pools["comet"], parts.caches["rest"]
        nodes = CosmosNodes(self.facts, parts.pools["rest"], comet, self._version)
        heads = HeadReader(self.facts.block_time, HeadSource(nodes.rest, NEWEST_CALL), judges_age=parts.judges_age)
        blocks, transactions, bank = (
            BlockReader(nodes, cache),
            TransactionReader(nodes, cache),
            BankReader(nodes, cache),
        )
        readers = (
            heads,
            blocks,
            LinkReader(nodes),
            transactions,
            AccountReader(nodes, cache),
            bank,
            StakingReader(nodes, cache),
            HoldingReader(nodes),
            PassThrough(comet, allow_list("cosmos")),
            PathPassage(self.facts.slug, nodes.rest),
        )
        return Driver(parts, readers)

    def _judge_node(self, result: bytes) -> str | None:
        self._version.learn(result)
        return _wrong_chain(self.facts, result)


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
        return "does not report its chain id"
    return _wrong_network(facts, network)


def _wrong_block(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered its newest block so is of another chain, None if it is of this one."""
    try:
        return _wrong_network(facts, parse_chain(result))
    except ValueError:
        return None


def _wrong_network(facts: ChainFacts, network: str) -> str | None:
    # Untrusted text: only what can be a chain id is repeated.
    named = network if len(network) <= 48 and network.replace("-", "").isalnum() else "another chain"
    return None if network == facts.chain_id else f"serves {named} instead of {facts.chain_id}"
