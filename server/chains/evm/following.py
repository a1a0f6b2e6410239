"""Headers of blocks, by which a chain is followed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import FollowsBlocks, Link
from server.chains.evm.contents import Contents, check_contents
from server.chains.evm.newest import NEWEST
from server.chains.shared.validated_reads import ask_validated
from server.chains.view import NO_ENDPOINTS, BlockAnswer, read_newest
from server.contracts.words import check_count, quantity
from server.errors import HeightMissing, NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

_HASH_DIGITS = 64


class _Header(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    timestamp: str
    transactions: list[msgspec.Raw]
    gas_used: str | None = None
    gas_limit: str | None = None
    base_fee_per_gas: str | None = None


_decode = msgspec.json.Decoder(_Header | None).decode


class LinkReader(FollowsBlocks):
    """Reads headers of one chain; `ask_final` asks its nodes for their newest final block, None where none names it.

    Every header whose layout is known has to come to its own hash.
    """

    finalizes_at_once = False

    def __init__(self, facts: ChainFacts, pool: Pool, ask_final: Callable[[], Awaitable[int]] | None) -> None:
        self._facts = facts
        self._pool = pool
        self._contents = Contents(facts)
        self._ask_final = ask_final

    async def read_newest_link(self, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the newest block of an endpoint that keeps pace; raises as `read_newest`."""

        async def read(lagging: frozenset[str]) -> BlockAnswer[Link]:
            policy = CallPolicy(avoid=avoid | lagging, prefer=view.endpoint)
            link, endpoint = await self._read(*NEWEST, None, policy, view)
            made_at = float(link.header.timestamp.seconds)
            return BlockAnswer(link, endpoint, link.number, made_at)

        found = await read_newest(self._pool, read)
        view.settle(found.block, found.endpoint)
        self._pool.forks.observe(found.endpoint, found.block, found.answer.hash)
        return found.answer

    async def read_link(self, number: int, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the header of that number; HeightMissing where no node has it."""
        prefer = None if view.endpoint in avoid else view.endpoint
        policy = CallPolicy(null_elsewhere=True, min_block=number, prefer=prefer, avoid=avoid)
        link, endpoint = await self._read("eth_getBlockByNumber", [hex(number), False], number, policy, view)
        view.settle(number, endpoint)
        return link

    async def read_final(self, view: ReadView) -> int:
        """Return the newest block with the tag `finalized`; -1 on chains without it, raises as `Pool.call`."""
        return -1 if self._ask_final is None else await self._ask_final()

    async def _read(
        self, method: str, params: Sequence[object], number: int | None, policy: CallPolicy, view: ReadView
    ) -> tuple[Link, str]:
        """Return a link and its endpoint; HeightMissing for `null`, of which a newest block is none."""

        def read(reply: Reply) -> tuple[Link, bool | None] | None:
            link = _link(reply.result)
            if link is None:
                if number is None:
                    raise ValueError("no newest block")
                return None
            if number is not None and link.number != number:
                raise ValueError("another block than the one asked for")
            return link, self._contents.fits_block(reply.result)

        async def ask(policy: CallPolicy) -> tuple[tuple[Link, bool | None] | None, str]:
            found, reply = await ask_validated(
                self._pool,
                method,
                lambda steered: self._pool.call(method, params, steered, deadline=view.deadline),
                read,
                policy,
            )
            return found, reply.endpoint

        try:
            found, endpoint = await check_contents(self._pool, self._contents, "block", ask, policy)
            if found is None and number is not None and policy.prefer is not None:
                # A preferred node may be the one that lags.
                found, endpoint = await ask(replace(policy, prefer=None))
        except NotFound as error:
            raise self._missing(number) from error
        if found is None:
            raise self._missing(number)
        return found[0], endpoint

    def _missing(self, number: int | None) -> HeightMissing:
        return HeightMissing(f"{self._facts.slug} has no block {number}, or not yet")


def _link(result: bytes) -> Link | None:
    """Return the link that a header is, None for `null`; ValueError or msgspec's error for anything else."""
    header = _decode(result)
    if header is None:
        return None
    number, made_at = check_count(quantity(header.number)), check_count(quantity(header.timestamp))
    block_hash, parent_hash = _hash(header.hash), _hash(header.parent_hash)
    message = stream_pb2.BlockHeader(
        number=number,
        hash=block_hash,
        parent_number=max(number - 1, 0),
        parent_hash=parent_hash,
        timestamp=Timestamp(seconds=made_at),
        transaction_count=len(header.transactions),
        gas_used=_decimal(header.gas_used),
        gas_limit=_decimal(header.gas_limit),
        base_fee_per_gas=_decimal(header.base_fee_per_gas),
    )
    return Link(number, block_hash, number - 1, parent_hash, message)


def _hash(text: str) -> str:
    if len(bytes.fromhex(text.removeprefix("0x"))) * 2 != _HASH_DIGITS or not text.startswith("0x"):
        raise ValueError("not a hash")
    return text.lower()


def _decimal(text: str | None) -> str | None:
    return None if text is None else str(quantity(text))
