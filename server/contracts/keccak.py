"""Keccak-256, which Ethereum uses: SHA-3 as it was submitted, with other padding than the standard's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_hash.auto import keccak as _by_pycryptodome

try:
    from sha3 import keccak_256
except ModuleNotFoundError:
    # Where safe-pysha3 has no wheels (pyproject.toml).
    keccak_256 = None

if TYPE_CHECKING:
    from collections.abc import Callable


def _by_pysha3(data: bytes | bytearray) -> bytes:
    digest: bytes = keccak_256(data).digest()
    return digest


keccak: Callable[[bytes | bytearray], bytes] = _by_pycryptodome if keccak_256 is None else _by_pysha3
"""Returns the 32 bytes of the hash of the data: in 0.8 us for 32 bytes, by pycryptodome in 4.8 us."""
