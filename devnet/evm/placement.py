"""A contract at an address before a chain's first block."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """A transaction sent while the world is built: who sends it, calldata, value in wei."""

    sender: str
    data: bytes
    value: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """A contract at an address: creation code with its arguments (or finished runtime code), then calls to it.

    `rewrite` changes the runtime code before it is placed. `storage` overwrites slots after all calls.
    """

    address: str
    creation: bytes = b""
    runtime: bytes = b""
    calls: tuple[Call, ...] = ()
    rewrite: Callable[[bytes], bytes] | None = None
    storage: dict[int, bytes] = field(default_factory=dict)
