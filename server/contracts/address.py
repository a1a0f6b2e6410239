"""EVM addresses: read, written with the checksum of EIP-55."""

from __future__ import annotations

from functools import lru_cache

from server.contracts.keccak import keccak
from server.errors import InvalidArgument

_DIGITS = 40
# Of every ASCII letter the bit that is set where it is lower case.
_CASES = int.from_bytes(b"\x20" * _DIGITS, "big")

# Writing one address takes 2.2 us, a look-up 0.1 us; 65,536 entries are about 17 MB.
_MEMO_SIZE = 65_536


@lru_cache(maxsize=_MEMO_SIZE)
def checksum_address(text: str) -> str:
    """Return `text` with EIP-55 casing.

    All lower and all upper case are accepted as they carry no checksum; in mixed case the checksum must be right.

    Raises:
        ValueError: not `0x` and 40 hex digits, or mixed case that is not the address's checksum.
    """
    digits = text[2:]
    if len(digits) != _DIGITS or not text.startswith("0x") or not _is_hex(digits):
        raise ValueError("an EVM address is 0x and 40 hex digits")
    lower = digits.lower().encode("ascii")
    letters = int.from_bytes(lower, "big")
    marks = int.from_bytes(keccak(lower).hex()[:_DIGITS].encode("ascii"), "big")
    # EIP-55: a letter is upper case where the hash of the lower-case text has a hex digit of 8 or more. All 40 are done
    # at once: letters have bit 6, decimal digits do not; of the hash's digits `8` and `9` have bit 3, `a` to `f` bit 6.
    raised = (marks << 2 | marks >> 1) & (letters >> 1) & _CASES
    canonical = (letters ^ raised).to_bytes(_DIGITS, "big").decode("ascii")
    if digits != canonical and not digits.islower() and not digits.isupper():
        raise ValueError("the EIP-55 checksum of the address is wrong: check its digits, or write it in lower case")
    return "0x" + canonical


def _is_hex(digits: str) -> bool:
    try:
        # Blanks between bytes are skipped: then there are fewer.
        return len(bytes.fromhex(digits)) * 2 == len(digits)
    except ValueError:
        return False


# Yellow Paper, appendix E (1 to 8); EIP-152 (9), EIP-4844 (10), EIP-2537 (11 to 17), EIP-7951 (256).
PRECOMPILES = frozenset(number.to_bytes(20, "big") for number in (*range(1, 18), 256))
"""Addresses that answer calls although no code stands there, as bytes."""


def parse_address(text: str, field: str) -> str:
    """Return the address with EIP-55 casing.

    Raises:
        InvalidArgument: not an EVM address, or its checksum is wrong; names `field`.
    """
    try:
        return checksum_address(text)
    except ValueError as error:
        raise InvalidArgument(f"{field}: {error}", field=field) from None


@lru_cache(4096)
def address_bytes(address: str) -> bytes:
    """Return the 20 bytes of an address that `parse_address` returned. The contracts of protocols are a few hundred."""
    return bytes.fromhex(address[2:])
