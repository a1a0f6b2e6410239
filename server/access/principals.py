"""Who a call is charged to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil

DEMO = "demo"
"""Name of the demo's quota."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A quota: `rate` units a second, `burst` of them at once. A rate of 0 means unlimited: nothing is counted."""

    name: str
    rate: float
    burst: int
    unlimited: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what every call asks."""
        object.__setattr__(self, "unlimited", self.rate <= 0)

    @property
    def weighs_costs(self) -> bool:
        """Whether an operation's cost counts; the demo counts items alone, one per second (contract section 8)."""
        return self.name != DEMO

    @property
    def window_seconds(self) -> int:
        """The time in which a used-up burst is whole again, in whole seconds, at least 1; 0 when unlimited."""
        return 0 if self.unlimited else max(1, ceil(self.burst / self.rate))

    @property
    def limit(self) -> int:
        """Units in the window; 0 when unlimited."""
        return 0 if self.unlimited else self.burst


UNLIMITED = Policy("unlimited", 0, 0)


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller with its quota. `id` is `key:<number>`, `demo:<client address>` or `local`."""

    id: str
    policy: Policy

    def encode(self) -> str:
        """Return the principal as the opaque text that the transcoder sends along."""
        return f"{self.policy.name}/{self.policy.rate!r}/{self.policy.burst}/{self.id}"

    @property
    def label(self) -> str:
        """What logs may name: the key's number, never a client's address."""
        return "demo" if self.id.startswith("demo:") else self.id


LOCAL = Principal("local", UNLIMITED)


@lru_cache(maxsize=4096)
def decode(text: str) -> Principal | None:
    """Return the principal that `Principal.encode` wrote, None for any other text."""
    parts = text.split("/", 3)
    if len(parts) != 4 or not parts[3]:
        return None
    try:
        return Principal(parts[3], Policy(parts[0], float(parts[1]), int(parts[2])))
    except ValueError:
        return None
