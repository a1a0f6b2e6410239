"""The Universal Resolver: how it is asked, what it returns and why it fails.

It is the one entry point of ENS, an upgradeable proxy whose address stays. It finds the resolver (wildcards of ENSIP-10
included), asks it, and passes off-chain look-ups on. Asked with the local batch gateway (ENSIP-21), it leaves the
requests of a look-up to us; otherwise a service of somebody else's would send them.

Source: ensdomains/docs, resolvers/universal.mdx.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eth_abi.abi import encode

from server.checksum import checksum_address
from server.sources.names.normalisation import MAX_CHARACTERS, dns_encode, namehash
from server.sources.names.words import follow, read_address, read_bytes, read_number

UNIVERSAL_RESOLVER = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"
LOCAL_BATCH_GATEWAY = "x-batch-gateway:true"

_RESOLVE = bytes.fromhex("a1472844")  # resolveWithGateways(bytes,bytes,string[])
_REVERSE = bytes.fromhex("b7d6ca64")  # reverseWithGateways(bytes,uint256,string[])
_ADDR = bytes.fromhex("3b3b57de")  # addr(bytes32)
_COIN_TYPE_ETHER = 60  # SLIP-44
_ERRORS = Path(__file__).with_name("resolver_errors.toml")


@dataclass(frozen=True, slots=True)
class ResolverError:
    """An error of the Universal Resolver: whether the record is `absent` or somebody `unreachable`, and why."""

    signature: str
    selector: bytes
    means: str
    says: str


@cache
def load_errors() -> dict[bytes, ResolverError]:
    """Return the known errors by selector."""
    rows = tomllib.loads(_ERRORS.read_text(encoding="utf-8"))["error"]
    errors = [ResolverError(**row | {"selector": bytes.fromhex(row["selector"][2:])}) for row in rows]
    return {error.selector: error for error in errors}


def address_question(name: str) -> bytes:
    """Return the calldata that asks for the Ethereum address of a normal name."""
    inner = _ADDR + namehash(name)
    return _RESOLVE + encode(["bytes", "bytes", "string[]"], [dns_encode(name), inner, [LOCAL_BATCH_GATEWAY]])


def name_question(address: bytes) -> bytes:
    """Return the calldata that asks for the primary name of an address on Ethereum."""
    return _REVERSE + encode(["bytes", "uint256", "string[]"], [address, _COIN_TYPE_ETHER, [LOCAL_BATCH_GATEWAY]])


def read_resolved(data: bytes) -> str | None:
    """Return the checksummed address in what `address_question` is answered with; None where none is set.

    The answer is `(bytes result, address resolver)`, the result being whatever the name's own resolver returned.

    Raises ValueError when the Universal Resolver answered something else.
    """
    at = follow(data, 0, 0)
    result = read_bytes(data, at, len(data))
    read_address(data, 32)
    try:
        address = read_address(result, 0)
    except ValueError:
        return None
    return checksum_address("0x" + address.hex()) if any(address) else None


def read_primary(data: bytes) -> str | None:
    """Return the name, normal or not, in what `name_question` is answered with; None where none is set.

    The answer is `(string primary, address resolver, address reverseResolver)`; the Universal Resolver has checked that
    the name points back. Raises ValueError when it answered something else.
    """
    at = follow(data, 0, 0)
    read_address(data, 32)
    if read_number(data, at) > 4 * MAX_CHARACTERS:
        return None
    try:
        return read_bytes(data, at, 4 * MAX_CHARACTERS).decode() or None
    except UnicodeDecodeError:
        return None
