# pragma version 0.4.3
# Stand-in for the registry of Yearn V2: the vaults of a token, by their number.

interface Vault:
    def token() -> address: view

vaults: public(HashMap[address, HashMap[uint256, address]])
numVaults: public(HashMap[address, uint256])
governance: public(address)


@external
def initialize(governance: address):
    assert self.governance == empty(address), "already initialized"
    self.governance = governance


@external
def endorseVault(vault: address):
    assert msg.sender == self.governance, "caller is not the governance"
    token: address = staticcall Vault(vault).token()
    self.vaults[token][self.numVaults[token]] = vault
    self.numVaults[token] += 1
