# pragma version 0.4.3
# Stand-in for a vault of lend-c's generation V2 (EIP-4626): its assets lie in the vault itself, interest is what somebody
# gives it, and there are no fees. Shares have 18 decimals, with as many virtual ones as that are more than the asset has.

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
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

decimals: public(constant(uint8)) = 18
name: public(String[64])
symbol: public(String[32])
asset: public(address)
virtualShares: public(uint256)


@deploy
def __init__(name: String[64], symbol: String[32], asset: address):
    self.name = name
    self.symbol = symbol
    self.asset = asset
    self.virtualShares = 10 ** (18 - convert(staticcall Coin(asset).decimals(), uint256))


@external
@view
def totalAssets() -> uint256:
    return self._assets()


@external
@view
def convertToAssets(shares: uint256) -> uint256:
    return self._worth(shares)


@external
def deposit(assets: uint256, receiver: address) -> uint256:
    shares: uint256 = assets * (ledger.totalSupply + self.virtualShares) // (self._assets() + 1)
    extcall Coin(self.asset).transferFrom(msg.sender, self, assets, default_return_value=True)
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    return shares


@external
def redeem(shares: uint256, receiver: address, owner: address) -> uint256:
    if owner != msg.sender:
        ledger._spend(owner, msg.sender, shares)
    assets: uint256 = self._worth(shares)
    ledger.balanceOf[owner] -= shares
    ledger.totalSupply -= shares
    extcall Coin(self.asset).transfer(receiver, assets, default_return_value=True)
    log ledger.Transfer(sender=owner, receiver=empty(address), value=shares)
    return assets


@internal
@view
def _assets() -> uint256:
    return staticcall Coin(self.asset).balanceOf(self)


@internal
@view
def _worth(shares: uint256) -> uint256:
    return shares * (self._assets() + 1) // (ledger.totalSupply + self.virtualShares)
