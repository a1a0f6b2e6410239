"""The read view of the call being served."""

from __future__ import annotations

from server.chains.view import ReadView
from server.rpc.stages.state import current


def open_view(block: int | None = None) -> ReadView:
    """Return a view at `block` (None: the latest) that lives no longer than the call."""
    state = current()
    return ReadView(block=block, deadline=state.deadline, cache=state.cache)
