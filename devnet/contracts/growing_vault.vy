# pragma version 0.4.3
# Stand-in for vaults with the interface of EIP-4626, earning a fixed rate: those of Yearn V3 (`apiVersion`, which has
# `pricePerShare` besides) and those of Beefy of the kind `erc4626`. Profits of the real ones are unlocked over days.

import ledger
import growing
initializes: ledger
initializes: growing

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

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

name: public(String[64])
symbol: public(String[64])
decimals: public(uint8)
apiVersion: public(String[28])


@external
def initialize(name: String[64], symbol: String[64], decimals: uint8, version: String[28], asset: address, rate: uint256):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    self.decimals = decimals
    self.apiVersion = version
    growing._start(asset, rate)


@external
@view
def asset() -> address:
    return growing.coin


@external
@view
def totalAssets() -> uint256:
    return growing._assets()


@external
@view
def pricePerShare() -> uint256:
    return growing._worth(10 ** convert(self.decimals, uint256), ledger.totalSupply)


@external
@view
def convertToAssets(shares: uint256) -> uint256:
    return growing._worth(shares, ledger.totalSupply)


@external
@view
def convertToShares(assets: uint256) -> uint256:
    return growing._shares(assets, ledger.totalSupply)


@external
def deposit(assets: uint256, receiver: address) -> uint256:
    shares: uint256 = growing._shares(assets, ledger.totalSupply)
    growing._take(assets)
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    log Deposit(sender=msg.sender, owner=receiver, assets=assets, shares=shares)
    return shares


@external
def redeem(shares: uint256, receiver: address, owner: address) -> uint256:
    if owner != msg.sender:
        ledger._spend(owner, msg.sender, shares)
    assets: uint256 = growing._worth(shares, ledger.totalSupply)
    ledger.balanceOf[owner] -= shares
    ledger.totalSupply -= shares
    growing._give(assets, receiver)
    log ledger.Transfer(sender=owner, receiver=empty(address), value=shares)
    log Withdraw(sender=msg.sender, receiver=receiver, owner=owner, assets=assets, shares=shares)
    return assets
