"""What callers name on Cosmos chains: accounts, validators, denoms, hashes. Checked before any node is asked."""

from __future__ import annotations

import re

from server.chains.cosmos.bech32 import decode_bech32
from server.errors import InvalidArgument

_LENGTHS = (20, 32)
"""Bytes of an address: of a key, or of a module, contract or interchain account."""

_OPERATOR = "valoper"
_IBC = "ibc/"
_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})", re.IGNORECASE | re.ASCII)
# Source: cosmos-sdk types/coin.go, the default pattern of a denom.
_DENOM = re.compile(r"[a-zA-Z][a-zA-Z0-9/:._-]{2,127}", re.ASCII)
_IBC_DENOM = re.compile(r"ibc/[0-9a-fA-F]{64}", re.ASCII)


def parse_account(text: str, prefix: str, field: str) -> str:
    """Return an account address in lower case; InvalidArgument unless prefix, checksum and length are right."""
    return _parse(text, prefix, field)


def parse_operator(text: str, prefix: str, field: str) -> str:
    """Return a validator's operator address in lower case; InvalidArgument as for accounts."""
    return _parse(text, prefix + _OPERATOR, field)


def parse_denom(text: str, field: str) -> str:
    """Return a denom as the bank module knows it, with `ibc/` hashes in upper case; InvalidArgument for none.

    Denoms are case-sensitive otherwise.
    """
    if text[:4].lower() == _IBC:
        denom = _IBC + text[4:].upper()
        if not _IBC_DENOM.fullmatch(denom):
            raise InvalidArgument(f"{field}: after `ibc/` come 64 hex digits", field=field)
        return denom
    if not _DENOM.fullmatch(text):
        raise InvalidArgument(
            f"{field}: a denom has 3 to 128 letters, digits and / : . _ - and begins with a letter", field=field
        )
    return text


def parse_hash(text: str, what: str) -> str:
    """Return a hash as 64 upper-case hex digits; InvalidArgument for anything else. `0x` before it is allowed."""
    match = _HASH.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"hash: a {what} hash is 64 hex digits", field="hash")
    return match[1].upper()


def _parse(text: str, prefix: str, field: str) -> str:
    try:
        found, data = decode_bech32(text)
    except ValueError as error:
        raise InvalidArgument(f"{field}: not a Bech32 address, {error}", field=field) from None
    if found != prefix:
        raise InvalidArgument(f"{field}: an address of this chain begins with `{prefix}1`", field=field)
    if len(data) not in _LENGTHS:
        raise InvalidArgument(f"{field}: an address holds 20 or 32 bytes, this one {len(data)}", field=field)
    return text.lower()
