# pragma version 0.4.3
# Stand-in for the first factory of Curve's lending vaults: lists by number, which answer zero beyond their end.

interface Vault:
    def controller() -> address: view
    def amm() -> address: view
    def borrowed_token() -> address: view
    def collateral_token() -> address: view

admin: public(address)
market_count: public(uint256)
vaults: public(HashMap[uint256, address])
names: public(HashMap[uint256, String[64]])
controllers: public(HashMap[uint256, address])
amms: public(HashMap[uint256, address])
borrowed_tokens: public(HashMap[uint256, address])
collateral_tokens: public(HashMap[uint256, address])
gauge_for_vault: public(HashMap[address, address])


@external
def initialize(admin: address):
    assert self.admin == empty(address), "already initialized"
    self.admin = admin


@external
def add(vault: address, name: String[64]):
    assert msg.sender == self.admin, "caller is not the admin"
    number: uint256 = self.market_count
    self.vaults[number] = vault
    self.names[number] = name
    self.controllers[number] = staticcall Vault(vault).controller()
    self.amms[number] = staticcall Vault(vault).amm()
    self.borrowed_tokens[number] = staticcall Vault(vault).borrowed_token()
    self.collateral_tokens[number] = staticcall Vault(vault).collateral_token()
    self.market_count = number + 1
