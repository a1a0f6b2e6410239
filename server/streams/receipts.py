"""WatchReceipt: how far a transaction is, until it has the confirmations wanted."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from waypost.v1 import stream_state_pb2

from server.chains.capabilities.blocks import ReadsReceipts, ReadsTransactions
from server.chains.capabilities.following import FollowsBlocks
from server.chains.view import ReadView
from server.errors import GatewayError, HeightMissing, NotFound, Pending, UpstreamUnavailable
from server.streams.chain_values import ChainValues
from server.streams.events import Event
from server.streams.values import PACE_SECONDS, Reading, gather_outcomes, read_looks
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from waypost.v1 import common_pb2, receipt_pb2, transaction_pb2

    from server.chains.capabilities.following import Link
    from server.chains.registry import Chain, Chains
    from server.streams.chain_values import Heads
    from server.streams.values import Charge, Moment

READ_SECONDS = 10.0
"""How long the nodes have for a look."""

_UNKNOWN = stream_state_pb2.RECEIPT_STATE_UNKNOWN
_PENDING = stream_state_pb2.RECEIPT_STATE_PENDING
_INCLUDED = stream_state_pb2.RECEIPT_STATE_INCLUDED
_CONFIRMED = stream_state_pb2.RECEIPT_STATE_CONFIRMED


class Placement(NamedTuple):
    """Where a transaction is: in a block of the believed chain with its `receipt`, or in none.

    `block_hash` is empty where the family's receipts do not name it. `is_behind`: a node has it in a block that the
    believed chain does not hold, or not yet.
    """

    is_known: bool
    block: int = 0
    block_hash: str = ""
    receipt: transaction_pb2.GetReceiptResponse | None = None
    is_behind: bool = False


class _StarknetReceipt(msgspec.Struct):
    block_hash: str


def _of_starknet(receipt: receipt_pb2.StarknetReceipt) -> tuple[int, str]:
    return receipt.block_number, msgspec.json.decode(receipt.native.json, type=_StarknetReceipt).block_hash


# Number and hash of the block that a receipt states to be in, by the family's member of the answer.
_BLOCKS: Mapping[str, Callable[..., tuple[int, str]]] = {
    "evm": lambda receipt: (receipt.block_number, receipt.block_hash),
    "starknet": _of_starknet,
    "cosmos": lambda receipt: (receipt.tx_response.height, ""),
}


class ReceiptWatches:
    """The transactions that streams watch, each looked at once a block for all of them.

    `heads` brings the newest blocks of a chain; `row_error` writes a failure for callers.
    """

    def __init__(
        self,
        chains: Chains,
        heads: Heads,
        row_error: Callable[[GatewayError], common_pb2.RowError],
        *,
        pace: float = PACE_SECONDS,
    ) -> None:
        self._chains = chains
        self._row_error = row_error
        self._values: ChainValues[str, Placement] = ChainValues(chains, heads, _read, pace)

    async def watch(self, request: stream_state_pb2.WatchReceiptRequest, charge: Charge) -> AsyncGenerator[Event]:
        """Yield the transaction's state, then each change of it; ends after CONFIRMED.

        `charge` is paid one unit a look. Raises InvalidArgument (field `hash`) for what is no hash of the chain.
        """
        slug = request.chain
        wanted = self._chains.capability(slug, ReadsTransactions).transaction_hash(request.hash)
        watch = self._values.of(slug).watch([wanted], asyncio.Event())
        last = stream_state_pb2.WatchedTransaction(state=_UNKNOWN)
        content: object = None
        async with aclosing(read_looks((watch,), charge)) as looks:
            async for _, seen in looks:
                placement, moment = seen[wanted].outcome, seen[wanted].moment
                response = stream_state_pb2.WatchReceiptResponse(chain=slug, hash=wanted)
                if isinstance(placement, GatewayError):
                    if content != placement.reason:
                        content = placement.reason
                        response.error.CopyFrom(self._row_error(placement))
                        yield Event(response.SerializeToString())
                    continue
                transaction = _next(last, placement, moment, request.confirmations)
                if transaction == content:
                    continue
                response.value.CopyFrom(transaction)
                _add_receipt(response.value, last, placement)
                content = last = transaction
                yield Event(response.SerializeToString())
                if transaction.state == _CONFIRMED:
                    return

    async def close(self) -> None:
        """Read nothing any more."""
        await self._values.close()


def _next(
    last: stream_state_pb2.WatchedTransaction, placement: Placement, moment: Moment, confirmations: int
) -> stream_state_pb2.WatchedTransaction:
    """Return how far the transaction is, without its receipt, after the last that was sent."""
    found = stream_state_pb2.WatchedTransaction(stalled=moment.is_stalled)
    if placement.receipt is None or moment.head is None:
        # What was known once, or even in a block, is waited for again.
        found.state = _PENDING if placement.is_known or last.state != _UNKNOWN else _UNKNOWN
        return found
    found.confirmations = moment.head.number - placement.block + 1
    found.state = _CONFIRMED if found.confirmations >= confirmations else _INCLUDED
    found.block_number = placement.block
    if placement.block_hash:
        found.block_hash = placement.block_hash
    return found


async def _read(
    chain: Chain, hashes: Sequence[str], moment: Moment, known: Mapping[str, Placement | GatewayError]
) -> Reading[str, Placement]:
    outcomes = await gather_outcomes(
        {wanted: _read_one(chain, wanted, moment.head, known.get(wanted)) for wanted in hashes}
    )
    is_behind = any(isinstance(outcome, Placement) and outcome.is_behind for outcome in outcomes.values())
    return Reading(outcomes, is_behind)


async def _read_one(chain: Chain, wanted: str, head: Link | None, known: Placement | GatewayError | None) -> Placement:
    if head is None:
        raise UpstreamUnavailable(f"the newest block of {chain.slug} is not known", retry_after_ms=1000)
    # Past the cache: what it holds may be of a block that was replaced.
    view = ReadView(deadline=time.monotonic() + READ_SECONDS, cache=CacheContext(bypass=True))
    if (
        isinstance(known, Placement)
        and known.receipt is not None
        and await _holds(chain, head, known.block, known.block_hash, view)
    ):
        return known
    try:
        receipt = await chain.capability(ReadsReceipts).read_receipt(wanted, view)
    except Pending:
        return Placement(is_known=True)
    except NotFound:
        return Placement(is_known=False)
    family = receipt.WhichOneof("receipt")
    block, block_hash = _BLOCKS[family](getattr(receipt, family))
    if not await _holds(chain, head, block, block_hash, view):
        return Placement(is_known=True, is_behind=True)
    return Placement(is_known=True, block=block, block_hash=block_hash, receipt=receipt)


async def _holds(chain: Chain, head: Link, block: int, block_hash: str, view: ReadView) -> bool:
    """Return whether the believed chain, up to its head, has the block."""
    if block > head.number:
        return False
    if not block_hash:
        return True
    if block == head.number:
        return _is_same(block_hash, head.hash)
    try:
        link = await chain.capability(FollowsBlocks).read_link(block, view)
    except HeightMissing:
        return False
    return _is_same(block_hash, link.hash)


def _is_same(one: str, other: str) -> bool:
    """Return whether two hashes are the same number, whatever their casing and leading zeros."""
    return int(one, 16) == int(other, 16)


def _add_receipt(
    found: stream_state_pb2.WatchedTransaction, last: stream_state_pb2.WatchedTransaction, placement: Placement
) -> None:
    """Add the receipt where its block is new to the reader, and to the last state."""
    if placement.receipt is None:
        return
    if found.state == _CONFIRMED or (found.block_number, found.block_hash) != (last.block_number, last.block_hash):
        family = placement.receipt.WhichOneof("receipt")
        getattr(found.receipt, family).CopyFrom(getattr(placement.receipt, family))
