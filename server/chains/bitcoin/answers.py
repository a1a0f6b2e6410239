"""Reading what Bitcoin nodes answer, as far as the gateway looks into it."""

from __future__ import annotations

from typing import Annotated

import msgspec

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


def _checked(text: str) -> str:
    if len(bytes.fromhex(text)) != 32:
        raise ValueError("not a hash")
    return text.lower()
