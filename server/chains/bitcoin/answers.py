"""What Bitcoin nodes and indexers answer, as far as the gateway looks into it, and their newest block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from server.chains.view import NewestBlock, NewestCall, read_newest_block
from server.errors import GatewayError
from server.upstream.absence import absent

if TYPE_CHECKING:
    from server.chains.view import ReadView
    from server.errors import NotFound
    from server.upstream.pool import Pool

NEWEST: tuple[str, list[object]] = ("getblockchaininfo", [])
"""The call, method and parameters, with which nodes report height and time of their newest block."""

TIP = "/blocks/tip/height"
"""Esplora's route for the height of the newest block."""


MAX_HEIGHT = (1 << 31) - 1

Height = Annotated[int, msgspec.Meta(ge=0, le=MAX_HEIGHT)]

_height = msgspec.json.Decoder(Height)
_hash = msgspec.json.Decoder(str)


def read_height(result: bytes) -> int:
    """Return a height as `getblockcount` and `/blocks/tip/height` answer it; ValueError where it is none."""
    try:
        return _height.decode(result)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a height") from None


def read_hash(result: bytes) -> str:
    """Return a block hash as `getblockhash` answers it; ValueError where it is none."""
    try:
        return _checked(_hash.decode(result))
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a hash") from None


def read_plain_hash(body: bytes) -> str:
    """Return a block hash as `/blocks/tip/hash` answers it, bare text; ValueError where it is none."""
    return _checked(body.decode("ascii").strip())


class _Info(msgspec.Struct):
    blocks: Height
    mediantime: int
    time: int | None = None
    initialblockdownload: bool = False


class _Block(msgspec.Struct):
    height: Height
    timestamp: int


def parse_newest(result: bytes) -> NewestBlock:
    """Return what an answer to `NEWEST` holds; ValueError for what is none."""
    try:
        info = msgspec.json.decode(result, type=_Info)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not the state of a chain") from None
    # Older versions report the median of eleven blocks alone, an hour older than the newest.
    return NewestBlock(info.blocks, info.mediantime if info.time is None else info.time, info.initialblockdownload)


def _parse_tip(result: bytes) -> NewestBlock:
    return NewestBlock(read_height(result))


def _parse_blocks(result: bytes) -> NewestBlock:
    try:
        blocks = msgspec.json.decode(result, type=list[_Block])
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a list of blocks") from None
    return max(NewestBlock(block.height, block.timestamp) for block in blocks)


NEWEST_CALL = NewestCall(*NEWEST, parse_newest)
INDEXED_CALL = NewestCall(TIP, [], _parse_tip)
INDEXED_PROBE = NewestCall("/blocks", [], _parse_blocks)
"""Esplora's route for the newest blocks with their times."""


async def explain_missing_height(pool: Pool, height: int | None, view: ReadView, error: NotFound) -> NotFound:
    """Return the error about a height that no node has, with the newest block (`head`) where a node reports it.

    `height` is None where it is unknown, `error` what the nodes answered. One more request, made only after a failure.
    """
    what = "a block of that height" if height is None else f"block {height}"
    try:
        head = (await read_newest_block(pool, NEWEST_CALL, view.deadline)).block
    except GatewayError:
        head = None
    if head is None or (height is not None and height <= head):
        missing = absent(f"{pool.chain} has no {what}, or not yet", error)
    else:
        missing = absent(f"{pool.chain} has no {what} yet: the newest is {head}", error)
        missing.head = head
    missing.node = error.node
    return missing


def _checked(text: str) -> str:
    if len(bytes.fromhex(text)) != 32:
        raise ValueError("not a hash")
    return text.lower()
