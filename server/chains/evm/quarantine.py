"""Addresses whose code burnt the gas of a call: for a while they are read one by one, away from everybody's reads."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.chains.evm.multicall import Call

QUARANTINE_SECONDS = 600.0
"""How long an address is kept apart after it burnt the gas."""

_MAX_ADDRESSES = 1024


class Quarantine:
    """The addresses kept apart on one chain, the latest 1024 of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def add(self, address: bytes) -> None:
        """Keep the address apart from now on, for ten minutes."""
        self._until[address] = self._clock() + QUARANTINE_SECONDS
        self._until.move_to_end(address)
        if len(self._until) > _MAX_ADDRESSES:
            self._until.popitem(last=False)

    def holds(self, calls: Sequence[Call]) -> bool:
        """Return whether any of the calls goes to an address that is kept apart."""
        if not self._until:
            return False
        now = self._clock()
        return any(self._until.get(call.target, 0.0) > now for call in calls)
