"""The gateway of the names whose records lie off the chain: answers what OFFCHAIN_RESOLVER asks for, and signs it.

Over HTTP it is asked as EIP-3668 specifies, by GET with sender and data in the path or by POST with both in the body.
"""

import time

from aiohttp import web
from ecdsa import SECP256k1, VerifyingKey  # type: ignore[import-untyped]
from ecdsa.util import sigdecode_string, sigencode_string_canonize  # type: ignore[import-untyped]
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from devnet import known_names
from devnet.evm.calls import encode_call
from devnet.evm.names import node_of

_HOLDS = 7 * 86_400  # seconds that a signed answer holds: local chains may run ahead of the time
_RESOLVE = encode_call("resolve(bytes,bytes)", [b"", b""])[:4]
_ADDR = encode_call("addr(bytes32)", [bytes(32)])[:4]
_NOBODY = "0x" + "00" * 20


def add_routes(app: web.Application) -> None:
    """Serve the gateway below `/names`."""
    app.router.add_get("/names/{sender}/{data}.json", _get)
    app.router.add_post("/names", _post)


def answer(sender: str, request: bytes) -> bytes:
    """Return what the gateway answers to a resolver's request; a name without a record has the zero address.

    Raises ValueError for anything but the address of a name.
    """
    if request[:4] != _RESOLVE:
        raise ValueError("only resolve(bytes,bytes) is answered")
    wire, question = decode(["bytes", "bytes"], request[4:])
    name = _read_name(wire)
    if question != _ADDR + node_of(name):
        raise ValueError("only addr(bytes32) of the name itself is answered")
    result = encode(["address"], [known_names.OFFCHAIN_ADDRESSES.get(name, _NOBODY)])
    return signed(sender, request, result, int(time.time()) + _HOLDS)


def signed(sender: str, request: bytes, result: bytes, expires: int) -> bytes:
    """Return `(bytes result, uint64 expires, bytes signature)` for a request; `expires` is in unix seconds."""
    claim = encode(["address", "uint64", "bytes32", "bytes32"], [sender, expires, keccak(request), keccak(result)])
    return encode(["bytes", "uint64", "bytes"], [result, expires, _sign(keccak(claim))])


async def _get(request: web.Request) -> web.Response:
    return _respond(request.match_info["sender"], request.match_info["data"])


async def _post(request: web.Request) -> web.Response:
    asked = await request.json()
    return _respond(str(asked["sender"]), str(asked["data"]))


def _respond(sender: str, data: str) -> web.Response:
    try:
        return web.json_response({"data": "0x" + answer(sender, bytes.fromhex(data.removeprefix("0x"))).hex()})
    except Exception as error:  # what a client sent cannot be read
        return web.json_response({"message": str(error)}, status=400)


def _read_name(wire: bytes) -> str:
    labels, at = [], 0
    while wire[at]:
        labels.append(wire[at + 1 : at + 1 + wire[at]].decode())
        at += 1 + wire[at]
    return ".".join(labels)


def _sign(digest: bytes) -> bytes:
    """Return r, s and v, the latter stating which of the two possible keys it was."""
    signature: bytes = known_names.SIGNING_KEY.sign_digest_deterministic(digest, sigencode=sigencode_string_canonize)
    candidates = VerifyingKey.from_public_key_recovery_with_digest(
        signature, digest, SECP256k1, sigdecode=sigdecode_string
    )
    own = known_names.SIGNING_KEY.verifying_key.to_string()
    v = next(27 + place for place, key in enumerate(candidates) if key.to_string() == own)
    return signature + bytes([v])
