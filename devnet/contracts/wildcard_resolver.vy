# pragma version 0.4.3
# Resolver that answers for every name below the one it is set for (ENSIP-10), on the chain: with one address, if it was given
# one, else with the last 20 bytes of the name's hash in wire form. `addr`, which callers of the Universal Resolver do not use,
# answers something else.

DECOY: constant(address) = 0x1111111111111111111111111111111111111111
told: public(address)


@external
def initialize(told: address):
    self.told = told


@external
@view
def supportsInterface(wanted: bytes4) -> bool:
    return wanted in [0x01ffc9a7, 0x9061b923, 0x3b3b57de]


@external
@view
def addr(node: bytes32) -> address:
    return DECOY


@external
@view
def resolve(name: Bytes[1024], data: Bytes[1024]) -> Bytes[64]:
    assert convert(slice(data, 0, 4), bytes4) == 0x3b3b57de, "only addresses"
    if self.told != empty(address):
        return abi_encode(self.told)
    return abi_encode(convert(convert(keccak256(name), uint256) % 2**160, address))
