"""The capability to pass a caller's own call on to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from server.chains.view import ReadView


class PassesCalls(Protocol):
    """Can pass a caller's own call on to a node."""

    async def pass_call(self, method: str, params: bytes | None, view: ReadView) -> bytes:
        """Return the JSON of the node's result, byte for byte; `params` is the JSON that the caller wrote.

        InvalidArgument (fields `method`, `params`) for what is not passed on.
        """
        ...
