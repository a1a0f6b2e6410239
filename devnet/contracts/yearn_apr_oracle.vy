# pragma version 0.4.3
# Stand-in for Yearn's oracle of rates: its governance says them. Without an oracle of its own a strategy's rate reverts,
# and the rate by which profits are unlocked is 0 where none are.

expected: HashMap[address, uint256]
unlocking: HashMap[address, uint256]
governance: public(address)


@external
def initialize(governance: address):
    assert self.governance == empty(address), "already initialized"
    self.governance = governance


@external
def set(vault: address, expected: uint256, unlocking: uint256):
    # Rates per year, times 10**18.
    assert msg.sender == self.governance, "caller is not the governance"
    self.expected[vault] = expected
    self.unlocking[vault] = unlocking


@external
@view
def getStrategyApr(strategy: address, change: int256) -> uint256:
    assert self.expected[strategy] != 0, "no oracle"
    return self.expected[strategy]


@external
@view
def getCurrentApr(vault: address) -> uint256:
    return self.unlocking[vault]
