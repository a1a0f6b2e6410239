# pragma version 0.4.3
# Stand-in for Ethena's sUSDe: a vault (EIP-4626) over a token; whatever lies in it beyond the deposits is yield.

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

interface Asset:
    def balanceOf(account: address) -> uint256: view
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

event Deposit:
    sender: indexed(address)
    owner: indexed(address)
    assets: uint256
    shares: uint256

name: public(constant(String[32])) = "Staked USDe"
symbol: public(constant(String[8])) = "sUSDe"
decimals: public(constant(uint8)) = 18
asset: public(address)


@external
def initialize(asset: address):
    assert self.asset == empty(address), "already initialized"
    self.asset = asset


@external
def deposit(assets: uint256, receiver: address) -> uint256:
    shares: uint256 = self._shares(assets)
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    log Deposit(sender=msg.sender, owner=receiver, assets=assets, shares=shares)
    extcall Asset(self.asset).transferFrom(msg.sender, self, assets)
    return shares


@external
@view
def totalAssets() -> uint256:
    return self._assets()


@external
@view
def convertToShares(assets: uint256) -> uint256:
    return self._shares(assets)


@external
@view
def convertToAssets(shares: uint256) -> uint256:
    return shares * (self._assets() + 1) // (ledger.totalSupply + 1)


@internal
@view
def _shares(assets: uint256) -> uint256:
    return assets * (ledger.totalSupply + 1) // (self._assets() + 1)


@internal
@view
def _assets() -> uint256:
    return staticcall Asset(self.asset).balanceOf(self)
