"""Public keys and signatures as callers write them: Base58 of 32 and 64 bytes, decoded by solders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

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


# Sources: the SPL token programs' state layouts, Metaplex token metadata (borsh, little endian). Lengths come from
# the chain, so every read checks that it stays within the account.

_MINT_SIZE = 82
_ACCOUNT_SIZE = 165
_KIND_MINT, _KIND_ACCOUNT = 1, 2
_KEY = 32
_POINTER, _METADATA = 18, 19
_METAPLEX_KEY = 4
_MAX_TEXT_BYTES = 256


class Mint(NamedTuple):
    """A mint: raw supply, decimals, and its extensions by type."""

    supply: int
    decimals: int
    extensions: dict[int, bytes]


class Texts(NamedTuple):
    """What token metadata states; None where it states nothing."""

    name: str | None
    symbol: str | None
    uri: str | None


NO_TEXTS = Texts(None, None, None)


def read_mint(data: bytes) -> Mint | None:
    """Return the mint in an account of a token program, None where it holds none."""
    is_plain = len(data) == _MINT_SIZE
    is_extended = len(data) > _ACCOUNT_SIZE and data[_ACCOUNT_SIZE] == _KIND_MINT
    if not (is_plain or is_extended) or data[45] != 1:
        return None
    return Mint(_uint(data, 36, 8), data[44], _extensions(data) if is_extended else {})


def read_holding(data: bytes, mint: bytes, owner: bytes) -> int | None:
    """Return the raw amount in a token account of that mint and owner, None where the account is none."""
    is_plain = len(data) == _ACCOUNT_SIZE
    is_extended = len(data) > _ACCOUNT_SIZE and data[_ACCOUNT_SIZE] == _KIND_ACCOUNT
    if not (is_plain or is_extended) or data[: 2 * _KEY] != mint + owner:
        return None
    return _uint(data, 64, 8)


def own_texts(mint: Mint, key: bytes) -> Texts | None:
    """Return the metadata that a Token-2022 mint carries itself, None where it carries none (or another mint's)."""
    value = mint.extensions.get(_METADATA)
    if value is None or value[_KEY : 2 * _KEY] != key:
        return None
    return _read_texts(value, 2 * _KEY)


def pointed_at(mint: Mint) -> bytes | None:
    """Return the address that a mint's metadata pointer names, None where it names none."""
    value = mint.extensions.get(_POINTER)
    if value is None or len(value) < 2 * _KEY or value[_KEY : 2 * _KEY] == bytes(_KEY):
        return None
    return value[_KEY : 2 * _KEY]


def metaplex_texts(data: bytes, key: bytes) -> Texts | None:
    """Return the texts of a Metaplex metadata account of that mint, None where it is none.

    What follows the texts may be cut short or hold junk in old accounts and is not read.
    """
    if len(data) < 1 + 2 * _KEY or data[0] != _METAPLEX_KEY or data[1 + _KEY : 1 + 2 * _KEY] != key:
        return None
    return _read_texts(data, 1 + 2 * _KEY)


def clean_text(raw: bytes) -> str | None:
    """Return bytes as text: UTF-8 with replacement, without NULs and outer spaces, 256 bytes at most; None if empty."""
    text = raw[: 4 * _MAX_TEXT_BYTES].decode("utf-8", "replace").replace("\0", "").strip()
    return text.encode()[:_MAX_TEXT_BYTES].decode("utf-8", "ignore") or None


def _read_texts(data: bytes, at: int) -> Texts | None:
    found = []
    for _ in range(3):
        if at + 4 > len(data):
            return None
        size = _uint(data, at, 4)
        if at + 4 + size > len(data):
            return None
        found.append(clean_text(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return Texts(*found)


def _extensions(data: bytes) -> dict[int, bytes]:
    """Return the extensions after the base: type and length of two bytes each, then the value; type 0 ends them."""
    found: dict[int, bytes] = {}
    at = _ACCOUNT_SIZE + 1
    while at + 4 <= len(data):
        kind, size = _uint(data, at, 2), _uint(data, at + 2, 2)
        if kind == 0 or at + 4 + size > len(data):
            break
        found.setdefault(kind, data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def _uint(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
