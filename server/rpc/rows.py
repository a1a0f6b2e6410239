"""Rows of multi-item operations: what a node answers for one item stands in its row (decisions section 1.10).

Every row has a deadline of its own, a little before the call's, so that a chain that hangs costs its own rows alone.
"""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, TypeVar

from grpc import StatusCode
from waypost.v1 import common_pb2

from server.chains.view import ReadView
from server.errors import DeadlineExceeded, GatewayError, InvalidArgument, release
from server.rpc.pipeline.call import current

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

Row = TypeVar("Row")
Checked = TypeVar("Checked")

# What a call keeps for itself of the time to its deadline.
_RESERVED_SECONDS = 1.0
_RESERVED_SHARE = 0.2
# A read that ends at its own deadline reports more than the clock here can.
_SLACK_SECONDS = 0.1

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
    return common_pb2.RowError(
        code=_CODES.get(error.status, 500),
        message=error.message,
        reason=f"REASON_{error.reason}",
        status=error.status.value[0],
    )


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


def row_deadline(deadline: float | None) -> float | None:
    """Return the deadline of the rows of a call, in the same clock: what is left then is enough to answer the call."""
    if deadline is None:
        return None
    return deadline - min(_RESERVED_SECONDS, (deadline - time.monotonic()) * _RESERVED_SHARE)


def open_row() -> ReadView:
    """Return the view of one row of the call that runs now, under a deadline of its own.

    The row's item names the document that is read.
    """
    state = current()
    state.cache.states_block = True
    return ReadView(deadline=row_deadline(state.deadline), cache=state.cache)


async def gather_rows(
    reads: Sequence[Coroutine[Any, Any, Row]],
    failed: Callable[[int, GatewayError], Row],
    name: Callable[[int], str],
) -> list[Row]:
    """Return one row per read, in order; a failed one is what `failed(index, error)` makes of it.

    A read that does not end at its row's deadline is given up: `name(index)` names what did not answer.

    Raises:
        GatewayError: the first failure, where not one read succeeded; the parameter that it names is the first item's.
    """
    until = row_deadline(current().deadline)
    seconds = None if until is None else until - time.monotonic() + _SLACK_SECONDS

    async def bound(index: int, read: Coroutine[Any, Any, Row]) -> Row:
        try:
            async with asyncio.timeout(seconds):
                return await read
        except TimeoutError:
            raise DeadlineExceeded(f"{name(index)} did not answer in time", retry_after_ms=1000) from None

    outcomes = await asyncio.gather(*(bound(*numbered) for numbered in enumerate(reads)), return_exceptions=True)
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
