"""One transaction of a chain's first blocks."""

from dataclasses import dataclass

_GAS = hex(300_000)


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction: a name to find it by, its sender and what it does. `to` is None for a deployment.

    `kind` is the EIP-2718 type; `succeeds` is what its receipt has to say.
    """

    name: str
    sender: str
    to: str | None
    data: bytes = b""
    value: int = 0
    kind: int = 2
    gas: str = _GAS
    succeeds: bool = True
