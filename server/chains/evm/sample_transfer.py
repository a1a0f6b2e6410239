"""A plain transfer as bytes, to ask what posting one to layer 1 costs (EIP-1559, RLP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_hash.auto import keccak

if TYPE_CHECKING:
    from collections.abc import Sequence

_KIND = b"\x02"
_GAS = 21_000


def sample_transfer(chain_id: int, *, signed: bool) -> bytes:
    """Return a transfer of usual figures; addresses and signature are digests, which pack no better than real ones."""
    fields = [chain_id, 1_000, 10**9, 10**10, _GAS, keccak(b"receiver")[:20], 123_456_789 * 10**9, b"", []]
    if signed:
        fields += [1, keccak(b"r"), keccak(b"s")]
    return _KIND + _encode(fields)


def _encode(item: int | bytes | Sequence[object]) -> bytes:
    if isinstance(item, int):
        return _encode(item.to_bytes((item.bit_length() + 7) // 8))
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < 0x80 else _length(len(item), 0x80) + item
    content = b"".join(_encode(part) for part in item)  # type: ignore[arg-type]  # items are of the same kinds
    return _length(len(content), 0xC0) + content


def _length(size: int, offset: int) -> bytes:
    if size < 56:
        return bytes([offset + size])
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([offset + 55 + len(digits)]) + digits
