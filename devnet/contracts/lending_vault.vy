# pragma version 0.4.3
# Stand-in for a vault of Curve's lending markets (EIP-4626) of either generation: its owner says who borrows and what
# interest is due, and what is not lent lies in the vault itself instead of in a controller.

import ledger
initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

interface Coin:
    def balanceOf(account: address) -> uint256: view
    def decimals() -> uint8: view
    def symbol() -> String[32]: view
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

event Deposit:
    sender: indexed(address)
    owner: indexed(address)
    assets: uint256
    shares: uint256

event Withdraw:
    sender: indexed(address)
    receiver: indexed(address)
    owner: indexed(address)
    assets: uint256
    shares: uint256

DEAD_SHARES: constant(uint256) = 1000

decimals: public(constant(uint8)) = 18
name: public(String[64])
symbol: public(String[34])
borrowed_token: public(address)
collateral_token: public(address)
controller: public(address)
amm: public(address)
debt: public(uint256)
fees: public(uint256)
precision: uint256


@external
def initialize(owner: address, borrowed: address, collateral: address, controller: address, amm: address):
    ledger._open(owner)
    self.borrowed_token = borrowed
    self.collateral_token = collateral
    self.controller = controller
    self.amm = amm
    self.precision = 10 ** (18 - convert(staticcall Coin(borrowed).decimals(), uint256))
    told: String[32] = staticcall Coin(borrowed).symbol()
    self.name = concat("Curve Vault for ", told)
    self.symbol = concat("cv", told)


@external
def lend(borrower: address, amount: uint256):
    assert msg.sender == ledger.minter, "caller is not the owner"
    self.debt += amount
    extcall Coin(self.borrowed_token).transfer(borrower, amount, default_return_value=True)


@external
def accrue(interest: uint256, fees: uint256):
    # What borrowers owe in addition, and what of that is the protocol's (0 in the first generation).
    assert msg.sender == ledger.minter, "caller is not the owner"
    self.debt += interest
    self.fees += fees


@external
@view
def asset() -> address:
    return self.borrowed_token


@external
@view
def totalAssets() -> uint256:
    return self._assets()


@external
@view
def pricePerShare() -> uint256:
    if ledger.totalSupply == 0:
        return 10**18 // DEAD_SHARES
    return 10**18 * (self._assets() * self.precision + 1) // (ledger.totalSupply + DEAD_SHARES)


@external
@view
def convertToAssets(shares: uint256) -> uint256:
    return self._worth(shares)


@external
@view
def convertToShares(assets: uint256) -> uint256:
    return self._shares(assets)


@external
@view
def previewRedeem(shares: uint256) -> uint256:
    return self._worth(shares)


@external
@view
def maxRedeem(owner: address) -> uint256:
    free: uint256 = staticcall Coin(self.borrowed_token).balanceOf(self)
    return min(self._shares(free), ledger.balanceOf[owner])


@external
def deposit(assets: uint256, receiver: address = msg.sender) -> uint256:
    shares: uint256 = self._shares(assets)
    extcall Coin(self.borrowed_token).transferFrom(msg.sender, self, assets, default_return_value=True)
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    log Deposit(sender=msg.sender, owner=receiver, assets=assets, shares=shares)
    return shares


@external
def redeem(shares: uint256, receiver: address = msg.sender, owner: address = msg.sender) -> uint256:
    if owner != msg.sender:
        ledger._spend(owner, msg.sender, shares)
    assets: uint256 = self._worth(shares)
    ledger.balanceOf[owner] -= shares
    ledger.totalSupply -= shares
    extcall Coin(self.borrowed_token).transfer(receiver, assets, default_return_value=True)
    log ledger.Transfer(sender=owner, receiver=empty(address), value=shares)
    log Withdraw(sender=msg.sender, receiver=receiver, owner=owner, assets=assets, shares=shares)
    return assets


@internal
@view
def _assets() -> uint256:
    return staticcall Coin(self.borrowed_token).balanceOf(self) + self.debt - self.fees


@internal
@view
def _worth(shares: uint256) -> uint256:
    return shares * (self._assets() * self.precision + 1) // ((ledger.totalSupply + DEAD_SHARES) * self.precision)


@internal
@view
def _shares(assets: uint256) -> uint256:
    return (ledger.totalSupply + DEAD_SHARES) * assets * self.precision // (self._assets() * self.precision + 1)
