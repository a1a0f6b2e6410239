"""Answers validated by their content: where one cannot be right, other endpoints are asked before it is an error.

A caching proxy may answer for another block than it was asked for, and a broken one with another document or with no
such thing. The pool cannot see that, because it does not read results.
"""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from server.errors import GatewayError, NotFound, UpstreamUnavailable
from server.upstream.absence import ENDPOINTS_ASKED, absent
from server.upstream.connector import CallPolicy, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.upstream.pool import Pool

Answer = TypeVar("Answer")
Asked = TypeVar("Asked", Reply, tuple[Reply, ...])

# Answers of more bytes than that are read beside the event loop: blocks, receipts and lists take 50 to 200 ms
# of a megabyte.
_LARGE = 256 * 1024

_PLAIN = CallPolicy()
_UNSOUND = (ValueError, msgspec.MsgspecError, RecursionError)


class Doubtful(ValueError):
    """An answer that is accepted only if no endpoint contradicts it: then `error` is what it means."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__(error.message)
        self.error = error


class OtherChain(ValueError):
    """An answer that names another chain than the one that was asked; `reason` is fit for logs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def ask_validated(
    pool: Pool,
    what: str,
    ask: Callable[[CallPolicy], Awaitable[Asked]],
    read: Callable[[Asked], Answer],
    policy: CallPolicy = _PLAIN,
) -> tuple[Answer, Asked]:
    """Return what `read` makes of the reply (or bundle of replies) that `ask` brings, and that reply.

    `ask` gets the policy to ask by. A reply at which `read` raises ValueError, or msgspec's error, is asked of every
    other endpoint, one after the other, until one is sound; an only endpoint is asked twice, for one label often stands
    for many machines. A doubtful one is asked of five endpoints at most, and of none twice. `what` is the name of the
    call. A large reply is read in a thread, so `read` changes nothing that others see.

    Raises:
        UpstreamUnavailable: no reply is sound.
        GatewayError: what an uncontradicted doubtful reply means; the errors of other endpoints that cannot
            answer; as `ask`.
    """
    doubt: GatewayError | None = None
    doubted = 0
    while True:
        asked = await ask(policy)
        reply = asked if isinstance(asked, Reply) else asked[0]
        try:
            if _size(asked) > _LARGE:
                return await asyncio.to_thread(read, asked), asked
            return read(asked), asked
        except _UNSOUND as error:
            if isinstance(error, OtherChain):
                pool.observe_chain(reply, error.reason)
            elif isinstance(error, Doubtful):
                doubt = doubt or error.error
                doubted += 1
                if doubted == ENDPOINTS_ASKED or policy.found_invalid | {reply.endpoint} >= set(pool.labels):
                    raise _settled(doubt, doubted) from None
            else:
                pool.report_invalid(reply.endpoint)
        if reply.endpoint in policy.found_invalid:
            raise _settled(doubt, doubted) if doubt is not None else _explain(pool, what, reply)
        policy = replace(policy, prefer=None, found_invalid=policy.found_invalid | {reply.endpoint})


async def read_validated(
    pool: Pool,
    method: str,
    params: Sequence[object],
    read: Callable[[bytes], Answer],
    policy: CallPolicy = _PLAIN,
    *,
    deadline: float | None,
) -> tuple[Answer, str]:
    """Return what `read` makes of the result of a call, and the endpoint; see `ask_validated`."""
    answer, reply = await ask_validated(
        pool,
        method,
        lambda steered: pool.call(method, params, steered, deadline=deadline),
        lambda reply: read(reply.result),
        policy,
    )
    return answer, reply.endpoint


async def read_validated_together(
    pool: Pool,
    calls: Sequence[tuple[str, Sequence[object]]],
    read: Callable[[Sequence[bytes]], Answer],
    policy: CallPolicy = _PLAIN,
    *,
    deadline: float | None,
) -> tuple[Answer, str]:
    """Return what `read` makes of the results of calls that one endpoint answers together; see `ask_validated`."""
    answer, replies = await ask_validated(
        pool,
        "+".join(method for method, _ in calls),
        lambda steered: pool.call_together(calls, steered, deadline=deadline),
        lambda replies: read([reply.result for reply in replies]),
        policy,
    )
    return answer, replies[0].endpoint


def _settled(doubt: GatewayError, doubted: int) -> GatewayError:
    """Return what a doubtful answer means, after so many endpoints gave it."""
    return absent(doubt.message, doubted) if isinstance(doubt, NotFound) else copy.copy(doubt)


def _explain(pool: Pool, what: str, reply: Reply) -> GatewayError:
    """Return the first reason why another endpoint cannot answer, else that this one did not answer soundly."""
    for refusal in reply.refusals.values():
        # "Unavailable" alone explains nothing.
        if type(refusal) is not UpstreamUnavailable:
            return copy.copy(refusal)
    return UpstreamUnavailable(
        f"endpoint {reply.endpoint} of {pool.chain} answered {what} with what cannot be its answer", is_unsound=True
    )


def _size(asked: Reply | tuple[Reply, ...]) -> int:
    return len(asked.result) if isinstance(asked, Reply) else sum(len(reply.result) for reply in asked)
