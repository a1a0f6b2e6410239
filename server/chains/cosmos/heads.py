"""The newest block as Cosmos nodes answer it."""

from __future__ import annotations

import msgspec

from server.chains.cosmos.members import Height, timestamp_of
from server.chains.shared.newest import NewestBlock, NewestCall

LATEST = "/cosmos/base/tendermint/v1beta1/blocks/latest"


class _Header(msgspec.Struct):
    height: Height
    time: str
    chain_id: str = ""


class _Block(msgspec.Struct):
    header: _Header


class _Latest(msgspec.Struct):
    block: _Block


def parse_head(result: bytes) -> NewestBlock:
    """Return the head that a latest block tells; ValueError for what is none."""
    try:
        header = msgspec.json.decode(result, type=_Latest).block.header
        return NewestBlock(int(header.height), timestamp_of(header.time).seconds)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None


NEWEST_CALL = NewestCall(LATEST, [], parse_head)


def parse_chain(result: bytes) -> str:
    """Return the id of the chain that a latest block is of; ValueError for what does not tell it."""
    try:
        named = msgspec.json.decode(result, type=_Latest).block.header.chain_id
    except (msgspec.MsgspecError, RecursionError):
        named = ""
    if not named:
        raise ValueError("not a block that names its chain")
    return named
