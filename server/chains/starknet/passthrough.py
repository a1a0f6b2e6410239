"""Calls of callers' own choice to Starknet nodes, passed on if they are reads within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.chains.passthrough import AllowList, check_members, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_EVENT_MEMBERS = ("from_block", "to_block", "address", "keys", "chunk_size", "continuation_token")


class PassThrough:
    """Passes callers' own calls on to the nodes of one chain."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte.

        InvalidArgument (fields `method`, `params`) for what is not passed on; else what the node's error means.
        """
        items = ALLOWED.parse(method, params)
        return await ALLOWED.pass_on(self._pool, method, items, deadline=view.deadline)


def check_events(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check an event filter: known members, and a page of at most `most` events."""
    wanted = check_members(value, where, _EVENT_MEMBERS)
    size = wanted.get("chunk_size")
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= options["most"]:
        raise refuse(f"{where}.chunk_size", f"a number from 1 to {options['most']} is needed")


ALLOWED = AllowList(Path(__file__).with_name("passthrough.toml"), {"events": check_events})
"""What is passed on to Starknet nodes."""
