"""Answers judged by what they say: where one cannot be right, another endpoint is asked before it is an error.

A caching proxy may answer for another block than it was asked for, and a broken one with another document. The pool
cannot see that, because it does not read results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from server.errors import UpstreamUnavailable
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.upstream.pool import Pool

Answer = TypeVar("Answer")

_PLAIN = CallPolicy()


async def read_sound(
    pool: Pool,
    method: str,
    params: Sequence[object],
    read: Callable[[bytes], Answer],
    policy: CallPolicy = _PLAIN,
    *,
    deadline: float | None,
) -> tuple[Answer, str]:
    """Return what `read` makes of the result of a call, and who answered.

    A result at which `read` raises ValueError is asked of one more endpoint, if there is one.

    Raises:
        UpstreamUnavailable: that one's answer is not right either.
        GatewayError: as `Pool.call`.
    """
    reply = await pool.call(method, params, policy, deadline=deadline)
    try:
        return read(reply.result), reply.endpoint
    except ValueError:
        elsewhere = replace(policy, prefer=None, avoid=policy.avoid | {reply.endpoint})
    reply = await pool.call(method, params, elsewhere, deadline=deadline)
    try:
        return read(reply.result), reply.endpoint
    except ValueError:
        raise UpstreamUnavailable(
            f"endpoint {reply.endpoint} of {pool.chain} answered {method} with what cannot be its answer"
        ) from None
