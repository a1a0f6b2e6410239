# pragma version 0.4.3
# Resolver whose records lie with a gateway (EIP-3668), for its name and all below it (ENSIP-10). Answers are signed: the callback
# takes them only with the signature of `signer` over this contract, the time until which they hold, request and result.
# An empty result leads off the chain once more. The gateway listens on `port` (storage slot 0) of the loopback interface, which is
# known when the node runs.

port: public(uint256)
signer: public(address)

SELF_CALLBACK: constant(bytes4) = method_id("resolveWithProof(bytes,bytes)", output_type=bytes4)


@external
def initialize(signer: address):
    self.signer = signer


@external
@view
def supportsInterface(wanted: bytes4) -> bool:
    return wanted in [0x01ffc9a7, 0x9061b923]


@external
@view
def resolve(name: Bytes[1024], data: Bytes[1024]) -> Bytes[1024]:
    self._look_up(abi_encode(name, data, method_id=method_id("resolve(bytes,bytes)")))
    return b""


@external
@view
def resolveWithProof(response: Bytes[2048], request: Bytes[2180]) -> Bytes[1024]:
    result: Bytes[1024] = b""
    expires: uint64 = 0
    signature: Bytes[65] = b""
    result, expires, signature = abi_decode(response, (Bytes[1024], uint64, Bytes[65]))
    assert block.timestamp <= convert(expires, uint256), "the answer no longer holds"
    digest: bytes32 = keccak256(
        abi_encode(self, expires, keccak256(request), keccak256(result))
    )
    r: uint256 = convert(slice(signature, 0, 32), uint256)
    s: uint256 = convert(slice(signature, 32, 32), uint256)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    assert ecrecover(digest, v, r, s) == self.signer, "the answer is not signed by the names' owner"
    if len(result) == 0:
        self._look_up(request)
    return result


@internal
@view
def _look_up(request: Bytes[2180]):
    gateway: String[96] = concat("http://127.0.0.1:", uint2str(self.port))
    urls: DynArray[String[128], 2] = [concat(gateway, "/names/{sender}/{data}.json"), concat(gateway, "/names")]
    raw_revert(abi_encode(self, urls, request, SELF_CALLBACK, request, method_id=0x556f1830))
