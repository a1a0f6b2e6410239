"""Reads the answers of off-chain APIs strictly: a changed shape is an error, never a wrong figure."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from decimal import Decimal

Shape = TypeVar("Shape")


def read_shape(body: bytes, shape: type[Shape], name: str) -> Shape:
    """Return a JSON document as its known shape; numbers become exact decimals where the shape says so.

    Raises:
        UpstreamUnavailable: it has another shape; the text names the member, never a value.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise changed_shape(name, str(error)) from None
    except (msgspec.MsgspecError, RecursionError):
        raise UpstreamUnavailable(f"{name} answers with something that is no JSON document") from None


def changed_shape(name: str, what: str) -> UpstreamUnavailable:
    """Return the error for an answer in another shape than the known one; `what` holds no value out of it."""
    return UpstreamUnavailable(f"{name} answers in a shape that this build does not know: {what}")


def read_moment(seconds: int, name: str) -> datetime:
    """Return unix seconds as a moment in UTC; UpstreamUnavailable for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise UpstreamUnavailable(f"{name} answers with times that this build does not know") from None


def is_price(value: Decimal | None) -> bool:
    """Return whether a number can be a price: above zero and finite, as callers are told it too (a double)."""
    return value is not None and value.is_finite() and 0 < float(value) < math.inf
