"""The logs of one block for everyone who watches logs: read once by the block's hash, all of them, and proved.

An answer counts only with the block's own header from the same node in the same request: a node that lacks the block is
passed over, and so is one that answers for another. Where the chain's bloom filters are those of its logs, the answer
has to be all that the filter holds. Elsewhere an answer that looks incomplete (none although the filter is not empty,
indexes that are left out) is compared with other endpoints' before it is believed.

Where nodes refuse to return a block's logs as a whole, or return too much, filters are asked for in bounded groups.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import structlog

from runtime.upstream_metrics import count_unread_logs
from server.chains.evm.contents import check_contents, read_bloom
from server.chains.evm.documents import read_members, text
from server.chains.evm.logs.entries import read_block_entries
from server.chains.evm.logs.matching import BlockLogs, is_excluded, merge
from server.chains.shared.validated_reads import Doubtful, ask_validated
from server.errors import (
    ArchiveRequired,
    DeadlineExceeded,
    GatewayError,
    NotFound,
    RangeTooLarge,
    ResponseTooLarge,
    UpstreamDisagrees,
    UpstreamUnavailable,
)
from server.upstream.connector import CallPolicy
from server.upstream.single_flight import SingleFlight, outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.following import Link
    from server.chains.evm.contents import Contents
    from server.chains.evm.logs.entries import PlacedEntry
    from server.chains.evm.logs.matching import LogQuery
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

_log = structlog.get_logger("waypost.upstream")

GROUPED_SECONDS = 60.0
"""After a refusal blocks are read in groups for so long before the whole is asked for again."""

_KEPT_BLOCKS, _KEPT_BYTES = 16, 32 << 20
# Streams ask for a block within the same few turns of the loop.
_GATHER_SECONDS = 0.01
_MOST_AT_ONCE = 4
# So often a doubt may turn out to be unfounded before the chain is taken to be so.
_UNFOUNDED = 3
_FULL_BLOOM = (1 << 2048) - 1


class _DoubtedError(UpstreamDisagrees):
    """Every endpoint answered what looks incomplete."""


class _Round:
    """The queries that are asked for together about one block."""

    def __init__(self) -> None:
        self.queries: list[LogQuery] = []
        self.failed: dict[LogQuery, GatewayError] = {}
        self.task: asyncio.Task[BlockLogs] | None = None


class BlockLogReader:
    """Reads the logs of the blocks of one chain, each once for all who ask about the same time."""

    def __init__(self, slug: str, pool: Pool, contents: Contents) -> None:
        self._slug = slug
        self._pool = pool
        self._contents = contents
        self._flights: SingleFlight[BlockLogs] = SingleFlight()
        self._kept: OrderedDict[str, BlockLogs] = OrderedDict()
        self._rounds: dict[str, _Round] = {}
        self._asking: set[asyncio.Task[BlockLogs]] = set()
        self._grouped_until = 0.0
        self._unfounded = 0

    async def read(self, queries: Sequence[LogQuery], link: Link, view: ReadView) -> tuple[BlockLogs, list[int]]:
        """Return logs of a block, and which of them the queries select.

        Raises:
            UpstreamUnavailable: no node returned them.
            ResponseTooLarge: no node returns those of the queries alone.
        """
        if link.bloom is not None and is_excluded(queries, link.bloom):
            count_unread_logs(self._slug)
            return _NONE, []
        logs = self._kept.get(link.hash)
        if logs is None and time.monotonic() >= self._grouped_until:
            logs = await self._read_whole(link, view)
        if logs is None:
            logs = await self._read_group(queries, link, view)
        return logs, logs.find(queries)

    async def close(self) -> None:
        """Give up what is in flight."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(self._flights.close(), *self._asking, return_exceptions=True)

    async def _read_whole(self, link: Link, view: ReadView) -> BlockLogs | None:
        """Return all logs of a block; None where that is refused, for a while."""
        try:
            return await self._flights.share(link.hash, lambda: self._fetch_whole(link, view))
        except GatewayError as error:
            if not _is_refusal(error):
                raise _passing(error, link) from None
            if time.monotonic() >= self._grouped_until:
                _log.info("logs are read in groups", chain=self._slug, reason=error.reason)
                self._grouped_until = time.monotonic() + GROUPED_SECONDS
            return None

    async def _fetch_whole(self, link: Link, view: ReadView) -> BlockLogs:
        logs = await self._fetch((), link, view)
        self._kept[link.hash] = logs
        while len(self._kept) > _KEPT_BLOCKS or sum(one.size for one in self._kept.values()) > _KEPT_BYTES:
            if len(self._kept) == 1:
                break
            self._kept.popitem(last=False)
        return logs

    async def _read_group(self, queries: Sequence[LogQuery], link: Link, view: ReadView) -> BlockLogs:
        """Return the logs of the queries, and of others that are asked for about the same time."""
        loop = asyncio.get_running_loop()
        current = self._rounds.get(link.hash)
        if current is None:
            current = self._rounds[link.hash] = _Round()
            current.task = loop.create_task(self._fetch_round(current, link, view))
            self._asking.add(current.task)
            current.task.add_done_callback(self._asking.discard)
        current.queries += queries
        assert current.task is not None
        await asyncio.wait((current.task,))
        logs = outcome_of(current.task)
        failure = next((current.failed[query] for query in queries if query in current.failed), None)
        if failure is not None:
            raise copy.copy(failure) from None
        return logs

    async def _fetch_round(self, current: _Round, link: Link, view: ReadView) -> BlockLogs:
        await asyncio.sleep(_GATHER_SECONDS)
        del self._rounds[link.hash]
        found: dict[int, PlacedEntry] = {}
        turn = asyncio.Semaphore(_MOST_AT_ONCE)

        async def ask(queries: list[LogQuery]) -> None:
            """Ask for queries together; where that is too much, for each half of them."""
            groups = merge(queries)
            if len(groups) > 1:
                shares = [[one for one in queries if merge([group, one]) == [group]] for group in groups]
                await asyncio.gather(*(ask(share) for share in shares))
                return
            try:
                async with turn:
                    logs = await self._fetch(groups, link, view)
            except GatewayError as error:
                if not _is_refusal(error) or len(queries) == 1:
                    current.failed.update(dict.fromkeys(queries, _of_group(error, link)))
                    return
                middle = len(queries) // 2
                await asyncio.gather(ask(queries[:middle]), ask(queries[middle:]))
                return
            found.update((placed.place.log_index, placed) for placed in logs.placed)

        await ask(list(dict.fromkeys(current.queries)))
        return BlockLogs([found[index] for index in sorted(found)])

    async def _fetch(self, queries: Sequence[LogQuery], link: Link, view: ReadView) -> BlockLogs:
        """Return the logs of one query, of all without one, checked by the header that comes with them."""
        asked = {"blockHash": link.hash} | (queries[0].params() if queries else {})
        calls = (("eth_getBlockByHash", [link.hash, False]), ("eth_getLogs", [asked]))
        doubted: list[BlockLogs] = []

        def read(replies: tuple[Reply, ...]) -> tuple[BlockLogs, bool | None]:
            header, answer = replies
            if header.result == b"null":
                raise ValueError("it lacks the block")
            members = read_members(header.result)
            if text(members["hash"]).lower() != link.hash:
                raise ValueError("the header of another block")
            logs = BlockLogs(read_block_entries(answer.result, link.number, link.hash), len(answer.result))
            if queries:
                if len(logs.find(queries)) < len(logs.placed):
                    raise ValueError("logs that were not asked for")
            elif self._unfounded < _UNFOUNDED and _looks_incomplete(logs, read_bloom(header.result)):
                doubted.append(logs)
                raise Doubtful(_DoubtedError("the logs of a block look incomplete"))
            entries = [entry for _, entry in logs.placed]
            return logs, self._contents.fits_logs(header.result, entries, are_all=not queries)

        def read_safely(replies: tuple[Reply, ...]) -> tuple[BlockLogs, bool | None]:
            try:
                return read(replies)
            except KeyError:
                raise ValueError("not a header") from None

        async def ask(policy: CallPolicy) -> tuple[tuple[BlockLogs, bool | None], str]:
            found, replies = await ask_validated(
                self._pool,
                "eth_getLogs",
                lambda steered: self._pool.call_together(calls, steered, deadline=view.deadline),
                read_safely,
                policy,
            )
            return found, replies[0].endpoint

        policy = CallPolicy(prefer=view.endpoint, min_block=link.number)
        try:
            found, _ = await check_contents(self._pool, self._contents, "list of logs", ask, policy)
        except _DoubtedError:
            self._unfounded += 1
            return max(doubted, key=lambda logs: len(logs.placed))
        assert found is not None, "every sound answer is a list of logs"
        return found[0]


_NONE = BlockLogs([])


def _looks_incomplete(logs: BlockLogs, bloom: int) -> bool:
    """Return whether logs are missing by their indexes, or by a bloom filter that is neither empty nor full."""
    if not logs.placed:
        return bloom not in (0, _FULL_BLOOM)
    return logs.placed[-1].place.log_index >= len(logs.placed)


def _is_refusal(error: GatewayError) -> bool:
    """Return whether the nodes may answer less: the answer was too large, or all refused the call with an error."""
    if isinstance(error, RangeTooLarge | ResponseTooLarge):
        return True
    return bool(error.refusals) and not isinstance(error, NotFound | ArchiveRequired | DeadlineExceeded)


def _passing(error: GatewayError, link: Link) -> GatewayError:
    """Return a failure to read a block's logs as one that may pass: the block was there a moment ago."""
    if isinstance(error, UpstreamUnavailable | UpstreamDisagrees | DeadlineExceeded):
        return error
    return UpstreamUnavailable(f"no node returned the logs of block {link.number} ({error.reason})")


def _of_group(error: GatewayError, link: Link) -> GatewayError:
    if isinstance(error, RangeTooLarge | ResponseTooLarge):
        return ResponseTooLarge(
            f"the nodes do not return the logs of block {link.number} in one answer: narrow the filter by address or "
            "topic0"
        )
    return _passing(error, link)
