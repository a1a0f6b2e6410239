# pragma version 0.4.3
# Stand-in for the second factory of Curve's lending vaults: markets by number, which revert beyond their end; no names.

interface Vault:
    def controller() -> address: view
    def amm() -> address: view
    def borrowed_token() -> address: view
    def collateral_token() -> address: view

struct Market:
    vault: address
    controller: address
    amm: address
    collateral_token: address
    borrowed_token: address
    price_oracle: address
    monetary_policy: address

MOST: constant(uint256) = 100

admin: public(address)
listed: DynArray[address, MOST]


@external
def initialize(admin: address):
    assert self.admin == empty(address), "already initialized"
    self.admin = admin


@external
def add(vault: address):
    assert msg.sender == self.admin, "caller is not the admin"
    self.listed.append(vault)


@external
@view
def market_count() -> uint256:
    return len(self.listed)


@external
@view
def markets(number: uint256) -> Market:
    vault: Vault = Vault(self.listed[number])
    return Market(
        vault=vault.address,
        controller=staticcall vault.controller(),
        amm=staticcall vault.amm(),
        collateral_token=staticcall vault.collateral_token(),
        borrowed_token=staticcall vault.borrowed_token(),
        price_oracle=empty(address),
        monetary_policy=empty(address),
    )


@external
@view
def coins(number: uint256) -> address[2]:
    vault: Vault = Vault(self.listed[number])
    return [staticcall vault.borrowed_token(), staticcall vault.collateral_token()]


@external
@view
def vaults_index(vault: address) -> uint256:
    for number: uint256 in range(len(self.listed), bound=MOST):
        if self.listed[number] == vault:
            return number
    raise "no such vault"
