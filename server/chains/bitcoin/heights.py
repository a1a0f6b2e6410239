"""Heights that the chain has not reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.bitcoin.heads import NEWEST, parse_newest
from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.errors import GatewayError
from server.upstream.confirming import absent
from server.upstream.policy import CallPolicy

if TYPE_CHECKING:
    from server.chains.view import ReadView
    from server.errors import NotFound
    from server.upstream.pool import Pool


async def explain_missing_height(pool: Pool, height: int | None, view: ReadView, error: NotFound) -> NotFound:
    """Return the error about a height that no node has, with the newest block (`head`) where a node reports it.

    `height` is None where it is not known, `error` what the nodes said. One more request, made only after the failure.
    """

    async def read(avoid: frozenset[str]) -> Told[None]:
        policy = CallPolicy(avoid=avoid)
        newest, endpoint = await read_sound(pool, *NEWEST, parse_newest, policy, deadline=view.deadline)
        return Told(None, endpoint, newest.height, newest.made_at)

    what = "a block of that height" if height is None else f"block {height}"
    try:
        head = (await read_newest(pool, read)).block
    except GatewayError:
        head = None
    if head is None or (height is not None and height <= head):
        missing = absent(f"{pool.chain} has no {what}, or not yet", error)
    else:
        missing = absent(f"{pool.chain} has no {what} yet: the newest is {head}", error)
        missing.head = head
    missing.node = error.node
    return missing
