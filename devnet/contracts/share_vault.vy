# pragma version 0.4.3
# Stand-in for an EIP-4626 vault of vault-d (a vault V1 of lend-c): shares of 18 decimals with virtual ones beside them, as
# the original's, and interest on what was deposited, linear by time between two changes, which stands for its markets.

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
    def decimals() -> uint8: view
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

YEAR: constant(uint256) = 31_536_000

decimals: public(constant(uint8)) = 18
name: public(String[64])
symbol: public(String[32])
asset: public(address)
rate: public(uint256)  # of interest a year, 10**18 for all of it
virtual_shares: uint256
deposited: uint256
since: uint256


@external
def initialize(name: String[64], symbol: String[32], asset: address, rate: uint256):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    self.asset = asset
    self.rate = rate
    self.virtual_shares = 10 ** (18 - convert(staticcall Coin(asset).decimals(), uint256))
    self.since = block.timestamp


@external
def set_rate(rate: uint256):
    self._accrue()
    self.rate = rate


@external
def lose(assets: uint256):
    """What a bad debt takes from all shares."""
    self._accrue()
    self.deposited -= assets


@external
@view
def totalAssets() -> uint256:
    return self._assets()


@external
@view
def convertToAssets(shares: uint256) -> uint256:
    return self._worth(shares)


@external
@view
def convertToShares(assets: uint256) -> uint256:
    return assets * (ledger.totalSupply + self.virtual_shares) // (self._assets() + 1)


@external
@view
def previewRedeem(shares: uint256) -> uint256:
    return self._worth(shares)


@external
def deposit(assets: uint256, receiver: address) -> uint256:
    self._accrue()
    shares: uint256 = assets * (ledger.totalSupply + self.virtual_shares) // (self.deposited + 1)
    extcall Coin(self.asset).transferFrom(msg.sender, self, assets, default_return_value=True)
    self.deposited += assets
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    log Deposit(sender=msg.sender, owner=receiver, assets=assets, shares=shares)
    return shares


@external
def redeem(shares: uint256, receiver: address, owner: address) -> uint256:
    if owner != msg.sender:
        ledger._spend(owner, msg.sender, shares)
    self._accrue()
    assets: uint256 = self._worth(shares)
    ledger.balanceOf[owner] -= shares
    ledger.totalSupply -= shares
    self.deposited -= assets
    extcall Coin(self.asset).transfer(receiver, assets, default_return_value=True)
    log ledger.Transfer(sender=owner, receiver=empty(address), value=shares)
    log Withdraw(sender=msg.sender, receiver=receiver, owner=owner, assets=assets, shares=shares)
    return assets


@internal
@view
def _assets() -> uint256:
    return self.deposited + self.deposited * self.rate * (block.timestamp - self.since) // (YEAR * 10**18)


@internal
@view
def _worth(shares: uint256) -> uint256:
    return shares * (self._assets() + 1) // (ledger.totalSupply + self.virtual_shares)


@internal
def _accrue():
    self.deposited = self._assets()
    self.since = block.timestamp
