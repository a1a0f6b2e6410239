"""What an endpoint's own answers taught about what it can do: forgotten after ten minutes, never a ban.

Kept per method, because nodes differ by it: state may be pruned where logs are complete, traces may be switched off.
What an endpoint is known to lack only moves it behind the others for such calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

REMEMBERED_SECONDS = 600.0
"""How long a refusal is remembered."""

Lack = Literal["method", "block"]
"""What a refusal says is missing: the method as a whole, or the data of the block that was asked for."""


@dataclass(slots=True)
class _Method:
    missing_until: float = 0.0
    refused: int = -1
    refused_until: float = 0.0
    served: int | None = None


class Learnt:
    """The memory of one endpoint."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._methods: dict[str, _Method] = {}

    def serve(self, method: str, block: int | None, *, is_old: bool = True) -> None:
        """Take note that the endpoint answered a call, about this block where it is known.

        Only an old block says anything about how far back the endpoint reads.
        """
        known = self._methods.get(method)
        if block is None:
            if known is not None:
                known.missing_until = 0.0
            return
        if known is None:
            known = self._methods[method] = _Method()
        known.missing_until = 0.0
        if is_old and (known.served is None or block < known.served):
            known.served = block
        if block <= known.refused:
            # A refusal that another machine behind the same address does not share.
            known.refused = block - 1

    def refuse(self, method: str, lack: Lack, block: int | None) -> None:
        """Take note that the endpoint said it lacks the method, or what this block and older ones need."""
        if lack == "block" and block is None:
            return
        known = self._methods.setdefault(method, _Method())
        until = self._clock() + REMEMBERED_SECONDS
        if lack == "method":
            known.missing_until = until
        elif block is not None:
            known.refused = block if until - REMEMBERED_SECONDS >= known.refused_until else max(known.refused, block)
            known.refused_until = until
            if known.served is not None and known.served <= block:
                known.served = None

    def lacks(self, method: str, block: int | None) -> bool:
        """Return whether the endpoint is known to be unable to answer such a call."""
        known = self._methods.get(method)
        if known is None:
            return False
        if known.missing_until > self._clock():
            return True
        return block is not None and block <= known.refused and known.refused_until > self._clock()

    def oldest(self, method: str) -> int | None:
        """Return the oldest of the old blocks that the endpoint answered such calls about and has not refused since."""
        known = self._methods.get(method)
        return None if known is None else known.served
