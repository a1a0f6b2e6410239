"""Transactions by hash, with how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from waypost.v1 import receipt_pb2, transaction_pb2

from server.chains.capabilities.blocks import ReadsReceipts, ReadsTransactions
from server.chains.cosmos.answers import Gas, Height, Members, members_of, native, rest_of, timestamp_of
from server.chains.cosmos.names import decode_bech32, encode_bech32, parse_hash
from server.chains.shared.cache import CachedDocument
from server.errors import NotFound
from server.upstream.absence import absent
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.cosmos.nodes import CosmosNodes
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView

_ROUTE = "/cosmos/tx/v1beta1/txs"
_DOUBTED = CallPolicy(null_elsewhere=True)
_NULL = msgspec.Raw(b"null")
_TX = "/cosmos.tx.v1beta1.Tx"
# Members by which messages name sender and receiver, the usual ones first.
_SENDERS = ("from_address", "sender", "delegator_address", "signer", "granter", "voter", "proposer", "creator")
_RECEIVERS = (
    "to_address",
    "receiver",
    "recipient",
    "validator_address",
    "validator_dst_address",
    "grantee",
    "contract",
)
# Messages of a list of senders and one of receivers: `inputs` and `outputs` of (address, coins).
_GIVERS, _GETTERS = "inputs", "outputs"
# Messages that a validator's own account signs, and that name it by its operator address alone (MsgCreateValidator
# leaves `delegator_address` empty since SDK 0.50: both addresses are of the same bytes).
_SIGNED_BY_OPERATOR = frozenset(
    (
        "/cosmos.staking.v1beta1.MsgCreateValidator",
        "/cosmos.staking.v1beta1.MsgEditValidator",
        "/cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission",
    )
)
_RESPONSE_TYPED = frozenset(("height", "txhash", "code", "gas_wanted", "gas_used", "timestamp", "raw_log", "tx"))


_TRANSACTION = CachedDocument(
    "transaction",
    transaction_pb2.Transaction.SerializeToString,
    transaction_pb2.Transaction.FromString,
    block_of=lambda transaction: transaction.cosmos.block_number,
)
_RECEIPT = CachedDocument(
    "receipt",
    transaction_pb2.GetReceiptResponse.SerializeToString,
    transaction_pb2.GetReceiptResponse.FromString,
    block_of=lambda receipt: receipt.cosmos.tx_response.height,
)


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]


class _Party(msgspec.Struct):
    address: str = ""


class _Response(msgspec.Struct):
    height: Height
    txhash: str
    timestamp: str
    code: int = 0
    gas_wanted: Gas = "0"
    gas_used: Gas = "0"
    raw_log: str = ""


class _Answer(msgspec.Struct):
    tx: msgspec.Raw
    tx_response: msgspec.Raw


class TransactionReader(ReadsTransactions, ReadsReceipts):
    """Reads transactions of one chain from the REST gateway, whose node must keep an index of them."""

    def __init__(self, nodes: CosmosNodes, cache: ChainCache) -> None:
        self._nodes = nodes
        self._cache = cache

    def transaction_hash(self, text: str) -> str:
        """Return a transaction hash as 64 upper-case hex digits; InvalidArgument for anything else."""
        return parse_hash(text, "transaction")

    async def read_transaction(self, text: str, view: ReadView) -> transaction_pb2.Transaction:
        """Return the transaction with its block and the parties that its first message names."""
        wanted = self.transaction_hash(text)
        return await self._cache.read_document(
            view, _TRANSACTION, wanted.encode(), lambda: self._read_transaction(wanted, view)
        )

    async def read_receipt(self, text: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        """Return how the transaction ended."""
        wanted = self.transaction_hash(text)
        return await self._cache.read_document(
            view, _RECEIPT, wanted.encode(), lambda: self._read_receipt(wanted, view)
        )

    async def _read_transaction(self, wanted: str, view: ReadView) -> transaction_pb2.Transaction:
        receipt = await self._read(wanted, view)
        sender, receiver = _parties(receipt, self._nodes.facts.bech32)
        return transaction_pb2.Transaction(
            cosmos=transaction_pb2.CosmosTransaction(
                block_number=receipt.tx_response.height, from_address=sender, to=receiver, receipt=receipt
            )
        )

    async def _read_receipt(self, wanted: str, view: ReadView) -> transaction_pb2.GetReceiptResponse:
        return transaction_pb2.GetReceiptResponse(cosmos=await self._read(wanted, view))

    async def _read(self, wanted: str, view: ReadView) -> receipt_pb2.CosmosReceipt:
        try:
            return await self._nodes.get_document(
                _ROUTE, view, lambda body: _receipt(body, wanted), path=f"{_ROUTE}/{wanted}", policy=_DOUBTED
            )
        except NotFound as error:
            raise absent(f"{self._nodes.slug} has no transaction of that hash, or not yet", error) from None


def _receipt(body: bytes, wanted: str) -> receipt_pb2.CosmosReceipt:
    """Return the transaction of that hash and how it ended; ValueError, or msgspec's error, for what is none."""
    answer = msgspec.json.decode(body, type=_Answer)
    response = msgspec.json.decode(answer.tx_response, type=_Response)
    if response.txhash.upper() != wanted:
        raise ValueError("another transaction than the one asked for")
    return receipt_pb2.CosmosReceipt(
        tx=_tx(members_of(answer.tx)), tx_response=_response(response, members_of(answer.tx_response))
    )


def _tx(members: Members) -> receipt_pb2.CosmosTx:
    body = members.get("body", _NULL)
    messages = msgspec.json.decode(body, type=_Body).messages
    for message in messages:
        members_of(message)
    return receipt_pb2.CosmosTx(
        type=_TX,
        body=receipt_pb2.CosmosTxBody(
            messages=[native(message) for message in messages], native=rest_of(members_of(body), ("messages",))
        ),
        native=rest_of(members, ("@type", "body")),
    )


def _response(found: _Response, members: Members) -> receipt_pb2.CosmosTxResponse:
    return receipt_pb2.CosmosTxResponse(
        height=int(found.height),
        txhash=found.txhash,
        code=found.code,
        gas_wanted=found.gas_wanted,
        gas_used=found.gas_used,
        timestamp=timestamp_of(found.timestamp),
        raw_log=found.raw_log,
        native=rest_of(members, _RESPONSE_TYPED),
    )


def _parties(receipt: receipt_pb2.CosmosReceipt, prefix: str) -> tuple[str | None, str | None]:
    """Return sender and receiver by the first message; None where it names no party, or several."""
    messages = receipt.tx.body.messages
    first = members_of(messages[0].json.encode()) if messages else {}
    sender = _named(first, _SENDERS) or _only(first, _GIVERS)
    if sender is None and _text(first.get("@type", _NULL)) in _SIGNED_BY_OPERATOR:
        sender = _account_of(_named(first, ("validator_address",)) or "", prefix)
    return sender, _named(first, _RECEIVERS) or _only(first, _GETTERS)


def _named(members: Members, names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := _text(members.get(name, _NULL)))), None)


def _text(raw: msgspec.Raw) -> str | None:
    return msgspec.json.decode(raw, type=str) if bytes(raw)[:1] == b'"' else None


def _only(members: Members, name: str) -> str | None:
    """Return the address of a list's one row; None for no list, or one of more rows."""
    try:
        rows = msgspec.json.decode(members.get(name, _NULL), type=list[_Party] | None)
    except msgspec.ValidationError:
        return None
    return rows[0].address or None if rows is not None and len(rows) == 1 else None


def _account_of(operator: str, prefix: str) -> str | None:
    """Return the account of a validator's operator address, which is of the same bytes; None for what is none."""
    try:
        found, data = decode_bech32(operator)
    except ValueError:
        return None
    return encode_bech32(prefix, data) if found == f"{prefix}valoper" else None
