"""Sender and receiver of lamports, where a transaction is a plain transfer.

A plain transfer has one instruction that moves anything: `Transfer` of the System program. Instructions that only set
the fee, leave a note or spend a durable nonce may stand beside it; any other instruction makes it another transaction.
Source: `SystemInstruction` of the Solana SDK (bincode: the variant in four bytes, little-endian, then its fields).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec
from waypost.v1 import block_pb2, common_pb2, transaction_pb2

from server.chains.capabilities.blocks import ReadsBlocks, ReadsTransactions
from server.chains.shared.cache import CachedDocument, number_key
from server.chains.shared.validated_reads import ask_validated, read_validated
from server.chains.solana.answers import (
    COMMITMENT,
    Count,
)
from server.chains.solana.layouts import parse_signature
from server.errors import (
    ArchiveRequired,
    GatewayError,
    InvalidArgument,
    NotFound,
    NotSupported,
    Pending,
    UpstreamUnavailable,
    VersionRefused,
)
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.chains.facts import ChainFacts
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool


_SYSTEM_PROGRAM = "11111111111111111111111111111111"
# Programs that move nothing: ComputeBudget and both versions of Memo.
_ASIDE = frozenset(
    {
        "ComputeBudget111111111111111111111111111111",
        "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
        "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    }
)
_TRANSFER = (2).to_bytes(4, "little")
_TRANSFER_BYTES = 12
_ADVANCE_NONCE = (4).to_bytes(4, "little")
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# Twelve bytes take at most so many letters of Base58; what is longer is another instruction.
_MOST_LETTERS = 17


class Instruction(msgspec.Struct):
    """An instruction as the `json` encoding writes it: indices into the accounts, the data in Base58."""

    programIdIndex: int  # noqa: N815 - the node's own name
    accounts: list[int]
    data: str


class Transfer(NamedTuple):
    """A plain transfer: sender and receiver of the lamports."""

    sender: str
    receiver: str


def plain_transfer(instructions: list[Instruction], accounts: list[str]) -> Transfer | None:
    """Return the one transfer that a transaction consists of; None where it is anything else, or cannot be read.

    `accounts` are those of the message, then those that it takes from look-up tables: writable ones, then the others.
    """
    found: Transfer | None = None
    for instruction in instructions:
        program = _account(accounts, instruction.programIdIndex)
        if program in _ASIDE:
            continue
        if program != _SYSTEM_PROGRAM or len(instruction.data) > _MOST_LETTERS:
            return None
        data = _decode(instruction.data)
        if data == _ADVANCE_NONCE:
            continue
        if data is None or len(data) != _TRANSFER_BYTES or not data.startswith(_TRANSFER) or found is not None:
            return None
        ends = [_account(accounts, index) for index in instruction.accounts[:2]]
        if len(ends) < 2 or ends[0] is None or ends[1] is None:
            return None
        found = Transfer(ends[0], ends[1])
    return found


def _account(accounts: list[str], index: int) -> str | None:
    return accounts[index] if 0 <= index < len(accounts) else None


def _decode(text: str) -> bytes | None:
    """Return the bytes of Base58; None for what is none."""
    number = 0
    for letter in text:
        digit = _ALPHABET.find(letter)
        if digit < 0:
            return None
        number = number * len(_ALPHABET) + digit
    zeros = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


Document = TypeVar("Document")

HIGHEST_VERSION = 1
"""The highest version of transactions in use; nodes answer only those that the caller takes."""

_MAX_SLOT = (1 << 63) - 1
# Wider than any slot that is let through, and signed: what is no slot is refused by the read.
_CACHED_BLOCK = CachedDocument(
    "block",
    block_pb2.Block.SerializeToString,
    block_pb2.Block.FromString,
    block_of=lambda block: block.solana.number,
)
_CACHED_TRANSACTION = CachedDocument(
    "transaction",
    transaction_pb2.Transaction.SerializeToString,
    transaction_pb2.Transaction.FromString,
    block_of=lambda transaction: transaction.solana.block_number,
)
_REISSUES = 2
_NULL = b"null"

# Transactions as signatures: a full block is megabytes. Rewards of epoch boundaries are thousands of rows.
_BLOCK = {"encoding": "json", "transactionDetails": "signatures", "rewards": False, "commitment": COMMITMENT}
_TRANSACTION = {"encoding": "json", "commitment": COMMITMENT}


class _Block(msgspec.Struct):
    blockhash: str
    parentSlot: Count  # noqa: N815 - the node's own name


class _Message(msgspec.Struct):
    accountKeys: Annotated[list[str], msgspec.Meta(min_length=1)]  # noqa: N815 - the node's own name
    instructions: msgspec.Raw = msgspec.Raw()


class _Signed(msgspec.Struct):
    message: _Message
    signatures: Annotated[list[str], msgspec.Meta(min_length=1)]


class _Transaction(msgspec.Struct):
    slot: Count
    transaction: _Signed
    meta: msgspec.Raw = msgspec.Raw()


class _LoadedAddresses(msgspec.Struct):
    writable: list[str] = []
    readonly: list[str] = []


class _Meta(msgspec.Struct):
    loadedAddresses: _LoadedAddresses | None = None  # noqa: N815 - the node's own name


class _Status(msgspec.Struct):
    slot: Count
    confirmationStatus: str | None = None  # noqa: N815 - the node's own name


class _Statuses(msgspec.Struct):
    value: list[_Status | None]


class BlockReader(ReadsBlocks, ReadsTransactions):
    """Reads blocks and transactions of the chain; they are cached, for good once their slot is finalized."""

    def __init__(self, facts: ChainFacts, pool: Pool, cache: ChainCache) -> None:
        self._facts = facts
        self._pool = pool
        self._cache = cache

    def block_hash(self, text: str) -> str:
        """Raise NotSupported: no node finds blocks by hash."""
        raise _no_search_by_hash()

    async def read_block_by_hash(self, block_hash: str, view: ReadView) -> block_pb2.Block:
        """Raise what `block_hash` raises."""
        raise _no_search_by_hash()

    def transaction_hash(self, text: str) -> str:
        """Return a transaction's first signature; InvalidArgument (field `hash`) for what is none."""
        return str(parse_signature(text, "hash"))

    async def read_block_by_number(self, number: int, view: ReadView) -> block_pb2.Block:
        """Return the block of a slot with its transactions' signatures.

        Raises:
            NotFound: the slot was skipped, or is not there yet.
            ArchiveRequired: no configured node keeps it any more.
        """
        return await self._cache.read_document(
            view, _CACHED_BLOCK, number_key(number), lambda: self._read_block(number, view)
        )

    async def _read_block(self, number: int, view: ReadView) -> block_pb2.Block:
        if not 0 <= number <= _MAX_SLOT:
            raise InvalidArgument("a slot is between 0 and 2^63-1", field="block")
        policy = CallPolicy(null_elsewhere=True, min_block=number)
        try:
            block, reply = await self._versioned(
                "getBlock", number, _BLOCK, lambda result: _block(result, number), policy, view
            )
        except NotFound as error:
            raise self._no_block(number, error) from None
        except ArchiveRequired as error:
            # One node lacks the history, and another reports that the slot has no block: the second one is right.
            if any(isinstance(refusal, NotFound) for refusal in error.refusals.values()):
                raise self._no_block(number, error) from None
            raise
        if block is None:
            raise self._no_block(number, reply.absences)
        self._pool.observe_block(reply.endpoint, number)
        return block_pb2.Block(solana=block)

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction of that first signature.

        Raises:
            Pending: it is processed, but its block is not confirmed yet.
            NotFound: no node has it.
        """
        signature = self.transaction_hash(text)
        return await self._cache.read_document(
            view, _CACHED_TRANSACTION, signature.encode(), lambda: self._read_transaction(signature, view)
        )

    async def _read_transaction(self, signature: str, view: ReadView) -> transaction_pb2.Transaction:
        policy = CallPolicy(null_elsewhere=True)
        found, reply = await self._versioned(
            "getTransaction", signature, _TRANSACTION, lambda result: _transaction(result, signature), policy, view
        )
        if found is None:
            raise await self._absence(signature, reply.absences, view)
        self._pool.observe_block(reply.endpoint, found.block_number)
        return transaction_pb2.Transaction(solana=found)

    async def _versioned(
        self,
        method: str,
        what: object,
        options: dict[str, Any],
        read: Callable[[bytes], Document],
        policy: CallPolicy,
        view: ReadView,
    ) -> tuple[Document, Reply]:
        """Return what `read` makes of the answer to a call that names the highest version accepted, and that answer.

        A node that names another version in its refusal is asked for that one.
        """

        def ask(version: int) -> Awaitable[tuple[Document, Reply]]:
            params = [what, options | {"maxSupportedTransactionVersion": version}]
            return ask_validated(
                self._pool,
                method,
                lambda steered: self._pool.call(method, params, steered, deadline=view.deadline),
                lambda reply: read(reply.result),
                policy,
            )

        version = HIGHEST_VERSION
        for _ in range(_REISSUES):
            try:
                return await ask(version)
            except NotSupported as error:
                named = _named_version(error)
                if named is None or named == version:
                    raise
                version = named
        return await ask(version)

    async def _absence(self, signature: str, asked: int, view: ReadView) -> Pending | NotFound | UpstreamUnavailable:
        """Return why no node has a transaction: a status shows one that is under way, or only lacks its record."""
        status, _ = await read_validated(
            self._pool, "getSignatureStatuses", [[signature]], _status, deadline=view.deadline
        )
        slug = self._facts.slug
        if status is None:
            return absent(f"no node of {slug} knows transaction {signature}", asked)
        retry_after_ms = int(self._facts.block_time * 1000)
        if status.confirmationStatus == "processed":
            message = f"transaction {signature} is in no confirmed block of {slug} yet; try again in a moment"
            return Pending(message, retry_after_ms=retry_after_ms)
        message = f"the nodes of {slug} know transaction {signature} of slot {status.slot}, but not what is in it"
        return UpstreamUnavailable(message, retry_after_ms=retry_after_ms)

    def _no_block(self, slot: int, absences: GatewayError | int) -> NotFound:
        return absent(f"{self._facts.slug} has no block in slot {slot}: it was skipped, or is not there yet", absences)


def _no_search_by_hash() -> NotSupported:
    return NotSupported("Solana nodes do not find blocks by hash; ask for the slot", field="hash")


def _status(result: bytes) -> _Status | None:
    [status] = msgspec.json.decode(result, type=_Statuses).value
    return status


def _block(result: bytes, slot: int) -> block_pb2.SolanaBlock | None:
    """Return the block in an answer, None where it states that there is none; ValueError or msgspec's for what is none.

    An answer does not state its slot, but that of the block before it.
    """
    if result == _NULL:
        return None
    block = msgspec.json.decode(result, type=_Block)
    if block.parentSlot > max(slot - 1, 0):
        raise ValueError("a block of a later slot")
    native = common_pb2.NativeJson(json=result.decode())
    return block_pb2.SolanaBlock(number=slot, hash=block.blockhash, native=native)


def _transaction(result: bytes, signature: str) -> transaction_pb2.SolanaTransaction | None:
    """Return the transaction in an answer, None where it states that there is none.

    ValueError, or msgspec's error, for what is no transaction, or not that of this first signature.
    """
    if result == _NULL:
        return None
    found = msgspec.json.decode(result, type=_Transaction)
    if found.transaction.signatures[0] != signature:
        raise ValueError("another transaction")
    transfer = _plain_transfer(found)
    return transaction_pb2.SolanaTransaction(
        block_number=found.slot,
        from_address=found.transaction.message.accountKeys[0] if transfer is None else transfer.sender,
        to=None if transfer is None else transfer.receiver,
        native=common_pb2.NativeJson(json=result.decode()),
    )


def _plain_transfer(found: _Transaction) -> Transfer | None:
    """Return the transfer that a transaction consists of; None where it is none, or is not written as expected."""
    message = found.transaction.message
    try:
        instructions = msgspec.json.decode(message.instructions, type=list[Instruction])
        meta = msgspec.json.decode(found.meta or _NULL, type=_Meta | None)
    except (msgspec.MsgspecError, RecursionError):
        return None
    loaded = None if meta is None else meta.loadedAddresses
    looked_up = [] if loaded is None else loaded.writable + loaded.readonly
    return plain_transfer(instructions, message.accountKeys + looked_up)


def _named_version(error: NotSupported) -> int | None:
    """Return the version of transactions that the refusal of all nodes, or of one of them, names."""
    refusals = (one for one in (error, *error.refusals.values()) if isinstance(one, VersionRefused))
    return next((one.version for one in refusals if one.version is not None), None)
