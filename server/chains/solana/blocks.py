"""Blocks by slot and transactions by signature, in the node's own bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from waypost.v1 import block_pb2, common_pb2, transaction_pb2

from server.chains.solana.answers import malformed
from server.chains.solana.heads import COMMITMENT
from server.chains.solana.keys import parse_signature
from server.chains.solana.versions import HIGHEST_VERSION, named_version
from server.errors import ArchiveRequired, InvalidArgument, NotFound, NotSupported, Pending, UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView
    from server.upstream.policy import Reply
    from server.upstream.pool import Pool

_MAX_SLOT = (1 << 63) - 1
_REISSUES = 2
_TRIES = 2

# Transactions as signatures: a full block is megabytes. Rewards of epoch boundaries are thousands of rows.
_BLOCK = {"encoding": "json", "transactionDetails": "signatures", "rewards": False, "commitment": COMMITMENT}
_TRANSACTION = {"encoding": "json", "commitment": COMMITMENT}


class _Block(msgspec.Struct):
    blockhash: str


class _Message(msgspec.Struct):
    accountKeys: list[str]  # noqa: N815 - the node's own name


class _Signed(msgspec.Struct):
    message: _Message
    signatures: list[str]


class _Transaction(msgspec.Struct):
    slot: int
    transaction: _Signed


class _Status(msgspec.Struct):
    slot: int
    confirmationStatus: str | None = None  # noqa: N815 - the node's own name


class _Statuses(msgspec.Struct):
    value: list[_Status | None]


class BlockReader:
    """Reads blocks and transactions of the chain."""

    def __init__(self, facts: ChainFacts, pool: Pool) -> None:
        self._facts = facts
        self._pool = pool

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block of a slot with its transactions' signatures.

        Raises:
            NotFound: the slot was skipped, or is not there yet.
            ArchiveRequired: no configured node keeps it any more.
        """
        if not 0 <= number <= _MAX_SLOT:
            raise InvalidArgument("a slot is between 0 and 2^63-1", field="block")
        policy = CallPolicy(null_elsewhere=True, min_block=number)
        try:
            reply = await self._versioned("getBlock", number, _BLOCK, policy, view)
        except NotFound:
            raise self._no_block(number) from None
        except ArchiveRequired as error:
            # One node lacks the history, and another knows that the slot has no block: the second one knows.
            if any(isinstance(refusal, NotFound) for refusal in error.refusals.values()):
                raise self._no_block(number) from None
            raise
        if reply.result == b"null":
            raise self._no_block(number)
        try:
            block = msgspec.json.decode(reply.result, type=_Block)
        except (msgspec.MsgspecError, RecursionError):
            raise malformed(reply, "block") from None
        self._pool.observe_block(reply.endpoint, number)
        return block_pb2.Block(
            solana=block_pb2.SolanaBlock(
                number=str(number), hash=block.blockhash, native=common_pb2.NativeJson(json=reply.result)
            )
        )

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction of that first signature.

        Raises:
            Pending: it is processed, but its block is not confirmed yet.
            NotFound: no node knows it.
        """
        signature = str(parse_signature(text, "hash"))
        policy = CallPolicy(null_elsewhere=True)
        for _ in range(_TRIES):
            reply = await self._versioned("getTransaction", signature, _TRANSACTION, policy, view)
            if reply.result == b"null":
                raise await self._absence(signature, view)
            found = _transaction(reply.result, signature)
            if found is not None:
                self._pool.observe_block(reply.endpoint, int(found.block_number))
                return transaction_pb2.Transaction(solana=found)
            # What cannot be read, or is another transaction, is asked of one more endpoint.
            policy = replace(policy, avoid=policy.avoid | {reply.endpoint})
        raise malformed(reply, "transaction")

    async def _versioned(
        self, method: str, what: object, options: dict[str, Any], policy: CallPolicy, view: ReadView
    ) -> Reply:
        """Return the answer to a call that names the highest transaction version wanted.

        A node that names another version in its refusal is asked for that one.
        """
        version = HIGHEST_VERSION
        for _ in range(_REISSUES):
            try:
                return await self._ask(method, what, options, version, policy, view)
            except NotSupported as error:
                named = named_version(error)
                if named is None or named == version:
                    raise
                version = named
        return await self._ask(method, what, options, version, policy, view)

    async def _ask(
        self, method: str, what: object, options: dict[str, Any], version: int, policy: CallPolicy, view: ReadView
    ) -> Reply:
        params = [what, options | {"maxSupportedTransactionVersion": version}]
        return await self._pool.call(method, params, policy, deadline=view.deadline)

    async def _absence(self, signature: str, view: ReadView) -> Pending | NotFound | UpstreamUnavailable:
        """Return why no node has a transaction: a status tells one that is under way, or only lacks its record."""
        reply = await self._pool.call("getSignatureStatuses", [[signature]], deadline=view.deadline)
        try:
            [status] = msgspec.json.decode(reply.result, type=_Statuses).value
        except (msgspec.MsgspecError, RecursionError, ValueError):
            raise malformed(reply, "status") from None
        slug = self._facts.slug
        if status is None:
            return NotFound(f"no node of {slug} knows transaction {signature}")
        retry_after_ms = int(self._facts.block_time * 1000)
        if status.confirmationStatus == "processed":
            message = f"transaction {signature} is in no confirmed block of {slug} yet; try again in a moment"
            return Pending(message, retry_after_ms=retry_after_ms)
        message = f"the nodes of {slug} know transaction {signature} of slot {status.slot}, but not what is in it"
        return UpstreamUnavailable(message, retry_after_ms=retry_after_ms)

    def _no_block(self, slot: int) -> NotFound:
        return NotFound(f"{self._facts.slug} has no block in slot {slot}: it was skipped, or is not there yet")


def _transaction(result: bytes, signature: str) -> transaction_pb2.SolanaTransaction | None:
    """Return the transaction of that first signature, None for what is none, or another one."""
    try:
        found = msgspec.json.decode(result, type=_Transaction)
        if found.transaction.signatures[0] != signature:
            return None
        payer = found.transaction.message.accountKeys[0]
    except (msgspec.MsgspecError, RecursionError, IndexError):
        return None
    return transaction_pb2.SolanaTransaction(
        block_number=str(found.slot), from_address=payer, native=common_pb2.NativeJson(json=result)
    )
