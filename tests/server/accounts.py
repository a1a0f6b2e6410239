"""A servicer whose answers the tests decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import account_pb2, account_pb2_grpc

from server.rpc.pipeline.call import current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

CREDENTIAL = "a credential of the tests"


class Accounts(account_pb2_grpc.AccountServiceServicer):
    """Answers with what it was reported, and notes who asked."""

    answer: Callable[[Any, Any], Awaitable[Any]] | None = None
    principals: list[str]

    def __init__(self) -> None:
        Accounts.answer = None
        Accounts.principals = []

    async def GetBalance(self, request: Any, context: Any) -> Any:
        principal = current().principal
        assert principal is not None
        Accounts.principals.append(principal.id)
        if Accounts.answer is not None:
            return await Accounts.answer(request, context)
        return account_pb2.GetBalanceResponse(chain=request.chain, address=request.address)


def with_unknown(message: Message, size: int) -> Any:
    """Return the message, which gets a text in a field that it does not have, so that it has `size` bytes."""
    # Field 2000; its length always in four bytes, which is a valid encoding of small ones too.
    length = size - message.ByteSize() - 6
    head = bytes([0x82, 0x7D, *(length >> shift & 127 | 128 for shift in (0, 7, 14)), length >> 21])
    message.MergeFromString(head + b"u" * length)
    assert message.ByteSize() == size
    return message


def stub_of(kind: Any, channel: Any) -> Any:
    """Return a generated stub, which has no types."""
    return kind(channel)
