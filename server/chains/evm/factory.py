"""Opens the drivers of EVM chains: one pool of JSON-RPC endpoints, one planner, and every reader on them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from server.chains.evm.accounts import AccountReader, CodeReader
from server.chains.evm.blocks import BlockReader
from server.chains.evm.calls.call import CallReader
from server.chains.evm.calls.simulation import Simulator
from server.chains.evm.calls.trace import TraceReader
from server.chains.evm.chain import EvmChain
from server.chains.evm.contents import Contents
from server.chains.evm.feeds import FeedReader
from server.chains.evm.following import LinkReader
from server.chains.evm.gas import GasReader
from server.chains.evm.logs.block_logs import BlockLogReader
from server.chains.evm.logs.cursor import LogWindows
from server.chains.evm.logs.limits import LogRanges
from server.chains.evm.logs.scan import LogScanner
from server.chains.evm.logs.search import ContractLogReader, LogReader
from server.chains.evm.logs.selections import LogSelector
from server.chains.evm.logs.transfers import TransferReader
from server.chains.evm.newest import NEWEST, NEWEST_CALL, Heights, parse_newest
from server.chains.evm.node_errors import EvmErrors
from server.chains.evm.passthrough import EvmPassThrough
from server.chains.evm.reads.cached import CachedReads, ContractCaller
from server.chains.evm.reads.planner import ReadPlanner
from server.chains.evm.tokens import ApprovalReader, HoldingReader, TokenReader, TokenUnits
from server.chains.evm.transactions import TransactionReader
from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.factory import ChainFactory, Driver, FinalizedQuery, PoolPlan
from server.contracts.words import check_count, quantity
from server.errors import NotFound
from server.upstream import Ask, Header, HeadQuery, IdentityCheck
from server.upstream.push_socket import PushQuery

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
from server.chains.shared.factory import ChainParts

_ERRORS = EvmErrors()

# Their data is pruned together.
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


class EvmFactory(ChainFactory):
    """Opens the driver of one EVM chain."""

    def __init__(self, facts: ChainFacts) -> None:
        super().__init__(facts)
        self._contents = Contents(facts)

    def plans(self) -> tuple[PoolPlan]:
        """Return the plan of the kind `jsonrpc`."""
        finalized = FinalizedQuery("eth_getBlockByNumber", ["finalized", False], _read_number)
        return (
            PoolPlan(
                kind="jsonrpc",
                errors=_ERRORS,
                verify=IdentityCheck("eth_chainId", [], partial(_wrong_chain, self.facts)),
                head=HeadQuery(
                    *NEWEST,
                    lambda result: parse_newest(result).height,
                    made_at=lambda result: parse_newest(result).made_at,
                    header=self._read_header,
                ),
                state_methods=_STATE_METHODS,
                finalized=finalized if "finalized" in self.facts.finality else None,
                push=_NEW_HEADS,
            ),
        )

    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver; reads at a block of the caller's choice explain their failures (`Heights`)."""
        facts, pool, cache = self.facts, parts.pools["jsonrpc"], parts.caches["jsonrpc"]
        chain = EvmChain.of(facts)
        planner = ReadPlanner(chain, pool)
        reads, heights = CachedReads(planner, cache), Heights(facts.slug, pool)
        heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL), judges_age=parts.judges_age)
        accounts, tokens = AccountReader(chain, reads, heights), TokenReader(chain, reads, heights)
        calls, code = CallReader(chain, pool, heights), CodeReader(chain, pool, planner, cache, heights)
        blocks, transactions = BlockReader(chain, pool, cache), TransactionReader(chain, pool, cache)
        windows = LogWindows(facts.slug, pool)
        ranges = LogRanges(lambda: pool.labels)
        scanner = LogScanner(facts.slug, pool, ranges, self._contents)
        block_logs, units = BlockLogReader(facts.slug, pool, self._contents), TokenUnits(reads)
        readers = (
            accounts,
            heads,
            blocks,
            LinkReader(facts, pool, parts.ask_final["jsonrpc"]),
            transactions,
            TraceReader(facts.slug, pool, transactions),
            HoldingReader(chain, reads),
            tokens,
            ApprovalReader(facts.slug, reads, heights),
            code,
            ContractCaller(chain, pool, reads, heights),
            calls,
            Simulator(calls, heights),
            GasReader(chain, pool, planner, reads),
            FeedReader(reads),
            LogReader(windows, scanner),
            ContractLogReader(windows, scanner),
            TransferReader(facts, windows, scanner, units),
            LogSelector(facts, pool, block_logs, ranges, cache.finality, units),
            EvmPassThrough(pool, accounts, history_is_pinned=chain.history_is_pinned),
        )
        return Driver(parts, readers, (planner, block_logs))

    async def _read_header(self, ask: Ask, block: int) -> Header:
        """Return the header of a block; ValueError where the node has none."""
        result = await ask("eth_getBlockByNumber", [hex(block), False])
        try:
            header = msgspec.json.decode(result, type=_Header)
        except (msgspec.MsgspecError, RecursionError):
            raise ValueError("not a block") from None
        number = quantity(header.number)
        parent = header.parent_hash.lower() if number > 0 else ""
        made_at, is_whole = quantity(header.timestamp), self._contents.fits_block(result)
        return Header(number, header.hash.lower(), made_at, number - 1, parent, is_whole)


class _Numbered(msgspec.Struct):
    number: str


class _Header(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    timestamp: str


class _Announced(msgspec.Struct):
    number: str
    hash: str


def _read_announced(result: bytes) -> tuple[int, str]:
    """Return height and hash of a block that a node announces; ValueError, or msgspec's error, for what is none."""
    found = msgspec.json.decode(result, type=_Announced)
    return check_count(quantity(found.number)), found.hash.lower()


_NEW_HEADS = PushQuery("eth_subscribe", ["newHeads"], "eth_subscription", _read_announced)


def _read_number(result: bytes) -> int:
    if result == b"null":
        raise NotFound("no block is final yet")
    return quantity(msgspec.json.decode(result, type=_Numbered).number)


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `eth_chainId` so is of another chain, None if it is of this one."""
    try:
        chain_id = quantity(msgspec.json.decode(result, type=str))
    except (msgspec.MsgspecError, ValueError):
        return "does not report its chain id"
    return None if chain_id == facts.chain_id else f"serves chain id {chain_id} instead of {facts.chain_id}"
