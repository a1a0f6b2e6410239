"""Rows of multi-item operations: what a node says about one item stands in its row (decisions section 1.10)."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, TypeVar

from grpc import StatusCode
from waypost.v1 import common_pb2

from server.errors import GatewayError, InvalidArgument, release

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Row = TypeVar("Row")
Checked = TypeVar("Checked")

# Contract section 7 by gRPC status (design section 5); whatever is not listed is 500.
_CODES = {
    StatusCode.INVALID_ARGUMENT: 400,
    StatusCode.OUT_OF_RANGE: 400,
    StatusCode.FAILED_PRECONDITION: 400,
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.PERMISSION_DENIED: 401,
    StatusCode.NOT_FOUND: 404,
    StatusCode.UNIMPLEMENTED: 404,
    StatusCode.RESOURCE_EXHAUSTED: 429,
    StatusCode.UNAVAILABLE: 503,
    StatusCode.DEADLINE_EXCEEDED: 503,
}


def row_error(error: GatewayError) -> common_pb2.RowError:
    """Return a failure as the `error` of a row."""
    return common_pb2.RowError(code=_CODES.get(error.status, 500), message=error.message, reason=error.reason)


def check_items(check: Callable[[Checked], object], values: Sequence[Checked]) -> None:
    """Check every item before any is read: a caller's mistake refuses the whole call, naming `params[i].field`.

    Raises:
        InvalidArgument: the first that `check` raised.
    """
    for index, value in enumerate(values):
        try:
            check(value)
        except InvalidArgument as error:
            path = f"params[{index}].{error.field}" if error.field else f"params[{index}]"
            raise InvalidArgument(f"params[{index}].{error.message}", field=path) from None


async def gather_rows(reads: Sequence[Awaitable[Row]], failed: Callable[[int, GatewayError], Row]) -> list[Row]:
    """Return one row per read, in order; a failed one is what `failed(index, error)` makes of it.

    Raises:
        GatewayError: the first failure, where not one read succeeded; the parameter that it names is the first item's.
    """
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    rows: list[Row] = []
    failures: list[GatewayError] = []
    for index, outcome in enumerate(outcomes):
        if isinstance(outcome, GatewayError):
            failures.append(outcome)
            rows.append(failed(index, outcome))
            release(outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            rows.append(outcome)
    if failures and len(failures) == len(rows):
        first = copy.copy(failures[0])
        first.field = first.field and f"params[0].{first.field}"
        raise first
    return rows
