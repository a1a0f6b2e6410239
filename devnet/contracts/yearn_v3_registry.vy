# pragma version 0.4.3
# Stand-in for the registry of Yearn V3: which vaults it has endorsed.

isEndorsed: public(HashMap[address, bool])
governance: public(address)


@external
def initialize(governance: address):
    assert self.governance == empty(address), "already initialized"
    self.governance = governance


@external
def endorseMultiStrategyVault(vault: address):
    assert msg.sender == self.governance, "caller is not the governance"
    self.isEndorsed[vault] = True
