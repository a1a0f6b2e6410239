# pragma version 0.4.3
# Stand-in for the contracts by which layer-2 chains tell what posting a transaction to layer 1 costs: so much per byte.

wei_per_byte: public(uint256)


@external
def initialize(wei_per_byte: uint256):
    self.wei_per_byte = wei_per_byte


@external
@view
def getL1Fee(data: Bytes[8192]) -> uint256:
    return len(data) * self.wei_per_byte
