"""Decoded values as JSON bytes, taken apart beside the event loop where they are many."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from waypost.v1 import common_pb2

from server.abi.reader import TooManyValues, Undecodable
from server.errors import InvalidArgument, NotSupported, ResponseTooLarge

if TYPE_CHECKING:
    from server.abi.functions import Function
    from server.marketplace.targets import Target

_LARGE = 2048

_encode = msgspec.json.Encoder().encode


def native(values: list[Any]) -> common_pb2.NativeJson:
    """Return JSON values as the message that carries them."""
    return common_pb2.NativeJson(json=_encode(values))


async def read_outputs(function: Function, data: bytes, target: Target) -> common_pb2.NativeJson:
    """Return the outputs of a call.

    Raises:
        InvalidArgument: the contract that the caller chose answers something else, or nothing, as no contract would.
        NotSupported: so does a published one: it was not there yet, or changed its interface.
        ResponseTooLarge: the data stands for more values than are answered.
    """
    try:
        if len(data) > _LARGE:
            return await asyncio.to_thread(_outputs, function, data)
        return _outputs(function, data)
    except TooManyValues:
        raise ResponseTooLarge(f"{function.name} returns more values than one answer holds") from None
    except Undecodable:
        pass
    what = "returns nothing" if not data else "does not return what its ABI says"
    where = f"{function.name} of the contract {what}"
    if target.is_known:
        raise NotSupported(f"{where}; at a lower height it may not have been deployed yet")
    advice = "is there such a contract on this chain?" if not data else "is it a contract of this kind?"
    raise InvalidArgument(f"address: {where}; {advice}", field="address")


def no_contract(target: Target, block: int | None) -> InvalidArgument | NotSupported:
    """Return the error of a call to an address without code: see `read_outputs`."""
    where = f"there is no contract at {target.address} on {target.chain} at block {block}"
    if target.is_known:
        return NotSupported(f"{where}; at a lower height it may not have been deployed yet")
    return InvalidArgument(f"address: {where}; is it the right chain?", field="address")


def _outputs(function: Function, data: bytes) -> common_pb2.NativeJson:
    return native(function.decode_outputs(data))
