"""What a second tier offers: values that several processes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class SharedTier(Protocol):
    """A store outside of the process. It never raises: what fails is a miss, or a value not kept."""

    async def get(self, key: bytes) -> tuple[bytes, float] | None:
        """Return a value and the seconds that it may still be used; None where there is none or nobody can tell."""
        ...

    def put(self, key: bytes, value: bytes, seconds: float) -> None:
        """Keep a value for so long (infinity: as long as the tier likes), soon and without anybody waiting for it."""
        ...

    def forget(self, keys: Sequence[bytes]) -> None:
        """Drop values, soon and without anybody waiting for it."""
        ...

    async def close(self) -> None:
        """End: what is not written yet is given up."""
        ...
