"""Calls of callers' own choice to Solana nodes, passed on if they are reads within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.chains.passthrough import AllowList, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.chains.view import ReadView
    from server.upstream.pool import Pool


class PassThrough:
    """Passes callers' own calls on to the nodes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte.

        Raises:
            InvalidArgument: the method or its parameters are not passed on (fields `method`, `params`).
            GatewayError: what the node's error means.
        """
        items = ALLOWED.parse(method, params)
        return await ALLOWED.pass_on(self._pool, method, items, deadline=view.deadline)


def check_one_of(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check that an object, which must be there, has one of some values in a member."""
    chosen = value.get(options["member"]) if isinstance(value, dict) else None
    if chosen not in options["one_of"]:
        raise refuse(f"{where}.{options['member']}", f"one of {', '.join(options['one_of'])} is needed")


ALLOWED = AllowList(Path(__file__).with_name("passthrough.toml"), {"one_of": check_one_of})
"""What is passed on to Solana nodes."""
