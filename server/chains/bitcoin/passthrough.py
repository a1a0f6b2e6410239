"""Calls of callers' own choice to Bitcoin nodes, passed on if they are reads within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.chains.bitcoin.answers import explain_missing_height
from server.chains.passthrough import AllowList, refuse
from server.errors import HeightMissing

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
            NotFound: a height that the chain has not reached, with the newest one.
            GatewayError: what the node's error means.
        """
        items = ALLOWED.parse(method, params)
        try:
            return await ALLOWED.pass_on(self._pool, method, items, deadline=view.deadline)
        except HeightMissing as error:
            raise await explain_missing_height(self._pool, None, view, error) from None


def check_verbosity(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check how much of a block is wanted: a number of at most `most`, or the boolean of older versions."""
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, int) or not 0 <= value <= options["most"]:
        raise refuse(where, f"a number up to {options['most']}, true or false is needed")


ALLOWED = AllowList(Path(__file__).with_name("passthrough.toml"), {"verbosity": check_verbosity})
"""What is passed on to Bitcoin nodes."""
