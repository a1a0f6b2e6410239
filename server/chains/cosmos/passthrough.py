"""Calls of callers' own choice to the CometBFT RPC, passed on if they are reads within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.chains.passthrough import AllowList, check_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

_MOST_ROWS = 100


def check_page(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check the size of a page, which may be missing."""
    if value is not None:
        check_count(value, where, {"most": _MOST_ROWS})


ALLOWED = AllowList(Path(__file__).with_name("passthrough.toml"), {"page": check_page})


class PassThrough:
    """Passes callers' own calls on to the nodes of one chain."""

    def __init__(self, comet: Pool) -> None:
        self._comet = comet

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte.

        Raises:
            InvalidArgument: the method or its parameters are not passed on (fields `method`, `params`).
            GatewayError: what the node's error means.
        """
        items = ALLOWED.parse(method, params)
        return await ALLOWED.pass_on(self._comet, method, items, deadline=view.deadline)
