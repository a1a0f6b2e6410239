"""Public keys and signatures as callers write them: Base58 of 32 and 64 bytes, decoded by solders."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from solders.pubkey import Pubkey
from solders.signature import Signature

from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

Decoded = TypeVar("Decoded")

TOKEN_PROGRAM = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022_PROGRAM = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
METADATA_PROGRAM = Pubkey.from_string("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")

# The longest Base58 writings of 32 and 64 bytes; anything longer is not even decoded.
_KEY_LETTERS = 44
_SIGNATURE_LETTERS = 88


def parse_key(text: str, field: str) -> Pubkey:
    """Return a public key; InvalidArgument (that field) for what is none."""
    key = _decode(Pubkey.from_string, text, _KEY_LETTERS)
    if key is None:
        raise InvalidArgument(f"{field}: a Solana address is needed, Base58 of 32 bytes", field=field)
    return key


def parse_signature(text: str, field: str) -> Signature:
    """Return a transaction's signature; InvalidArgument (that field) for what is none."""
    signature = _decode(Signature.from_string, text, _SIGNATURE_LETTERS)
    if signature is None:
        raise InvalidArgument(
            f"{field}: a Solana transaction is named by its first signature, Base58 of 64 bytes", field=field
        )
    return signature


def metadata_address(mint: Pubkey) -> Pubkey:
    """Return the address of a mint's Metaplex metadata (seeds: the word, the program, the mint)."""
    return Pubkey.find_program_address([b"metadata", bytes(METADATA_PROGRAM), bytes(mint)], METADATA_PROGRAM)[0]


def _decode(read: Callable[[str], Decoded], text: str, most: int) -> Decoded | None:
    if len(text) > most or not text.isascii():
        return None
    try:
        return read(text)
    except ValueError:
        return None
    except BaseException as error:
        # A panic of the native module is no Exception; what an interrupt or an exit is must pass.
        if type(error).__name__ != "PanicException":
            raise
        return None
