# pragma version 0.4.3
# Stand-in for 1inch's OffchainOracle: rates between tokens out of prices that it is told. The native coin is the zero address.
# Tokens that are known as wrappers only have a rate where wrappers are asked for.

struct Price:
    native: uint256  # of one whole token, in wei
    decimals: uint256
    is_wrapper: bool

price: public(HashMap[address, Price])
owner: public(address)
_oracles: DynArray[address, 8]
_types: DynArray[uint8, 8]


@external
def initialize(owner: address):
    assert self.owner == empty(address), "already initialized"
    self.owner = owner
    self.price[empty(address)] = Price(native=10**18, decimals=18, is_wrapper=False)


@external
def set_price(token: address, native: uint256, decimals: uint256, is_wrapper: bool):
    assert msg.sender == self.owner, "caller is not the owner"
    self.price[token] = Price(native=native, decimals=decimals, is_wrapper=is_wrapper)


@external
def add_oracle(oracle: address, kind: uint8):
    assert msg.sender == self.owner, "caller is not the owner"
    self._oracles.append(oracle)
    self._types.append(kind)


@external
@view
def getRate(srcToken: address, dstToken: address, useWrappers: bool) -> uint256:
    assert srcToken != dstToken, "Tokens should not be the same"
    return self._rate(srcToken, dstToken, useWrappers)


@external
@view
def getRateToEth(srcToken: address, useSrcWrappers: bool) -> uint256:
    return self._rate(srcToken, empty(address), useSrcWrappers)


@external
@view
def oracles() -> (DynArray[address, 8], DynArray[uint8, 8]):
    return self._oracles, self._types


@internal
@view
def _rate(source: address, target: address, wrappers: bool) -> uint256:
    # Scaled by 10^(18 - decimals of the source + decimals of the target).
    src: Price = self.price[source]
    dst: Price = self.price[target]
    if src.native == 0 or dst.native == 0 or ((src.is_wrapper or dst.is_wrapper) and not wrappers):
        return 0
    return src.native * 10**18 // dst.native * 10**dst.decimals // 10**src.decimals
