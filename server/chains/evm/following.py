"""Headers of blocks, by which a chain is followed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import stream_pb2

from server.chains.capabilities.following import Link
from server.chains.evm.contents import Contents, check_contents, read_bloom
from server.chains.evm.newest import NEWEST
from server.chains.shared.links import FoundLink, LinkReads
from server.chains.shared.validated_reads import ask_validated
from server.contracts.words import check_count, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.facts import ChainFacts
    from server.chains.shared.finality import AskFinalized
    from server.chains.view import ReadView
    from server.upstream.connector import CallPolicy, Reply
    from server.upstream.pool import Pool

_HASH_BYTES = 32


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


class LinkReader(LinkReads):
    """Reads headers of one chain; each whose layout is known has to come to its own hash."""

    def __init__(self, facts: ChainFacts, pool: Pool, ask_final: AskFinalized | None) -> None:
        super().__init__(pool, ask_final)
        self._contents = Contents(facts)

    async def read_newest(self, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the newest block as one endpoint reports it."""
        found = await self._read(*NEWEST, None, policy, view)
        assert found is not None, "a missing newest block is no sound answer"
        return found

    async def read_at(self, number: int, policy: CallPolicy, view: ReadView) -> FoundLink | None:
        """Return the block of that number; None where no node has it."""
        return await self._read("eth_getBlockByNumber", [hex(number), False], number, policy, view)

    async def _read(
        self, method: str, params: Sequence[object], number: int | None, policy: CallPolicy, view: ReadView
    ) -> FoundLink | None:
        def read(reply: Reply) -> tuple[Link, bool | None] | None:
            link = _link(reply.result)
            if link is None and number is not None:
                return None
            if link is None or number not in (None, link.number):
                raise ValueError("another block than the one asked for")
            fits = self._contents.fits_block(reply.result)
            if fits and self._contents.has_blooms:
                link = replace(link, bloom=read_bloom(reply.result))
            return link, fits

        async def ask(policy: CallPolicy) -> tuple[tuple[Link, bool | None] | None, str]:
            found, reply = await ask_validated(
                self.pool,
                method,
                lambda steered: self.pool.call(method, params, steered, deadline=view.deadline),
                read,
                policy,
            )
            return found, reply.endpoint

        found, endpoint = await check_contents(self.pool, self._contents, "block", ask, policy)
        if found is None:
            return None
        return FoundLink(found[0], endpoint, float(found[0].header.timestamp.seconds))


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
    if not text.startswith("0x") or len(bytes.fromhex(text[2:])) != _HASH_BYTES:
        raise ValueError("not a hash")
    return text.lower()


def _decimal(text: str | None) -> str | None:
    return None if text is None else str(quantity(text))
