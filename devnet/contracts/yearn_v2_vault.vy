# pragma version 0.4.3
# Stand-in for a vault of Yearn V2, earning a fixed rate: it has `token` and `pricePerShare`, and nothing of EIP-4626.

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

name: public(String[64])
symbol: public(String[64])
decimals: public(uint256)
apiVersion: public(String[28])


@external
def initialize(name: String[64], symbol: String[64], decimals: uint256, version: String[28], token: address, rate: uint256):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    self.decimals = decimals
    self.apiVersion = version
    growing._start(token, rate)


@external
@view
def token() -> address:
    return growing.coin


@external
@view
def totalAssets() -> uint256:
    return growing._assets()


@external
@view
def pricePerShare() -> uint256:
    return growing._worth(10 ** self.decimals, ledger.totalSupply)


@external
def deposit(amount: uint256, recipient: address) -> uint256:
    shares: uint256 = growing._shares(amount, ledger.totalSupply)
    growing._take(amount)
    ledger.balanceOf[recipient] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=recipient, value=shares)
    return shares


@external
def withdraw(shares: uint256, recipient: address) -> uint256:
    assets: uint256 = growing._worth(shares, ledger.totalSupply)
    ledger.balanceOf[msg.sender] -= shares
    ledger.totalSupply -= shares
    growing._give(assets, recipient)
    log ledger.Transfer(sender=msg.sender, receiver=empty(address), value=shares)
    return assets
